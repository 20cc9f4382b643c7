//! The macro that declares a game's schema.
//!
//! A macro by rules needs no compiler plug-in and no further crate, so the machines stay free of dependencies, and the
//! declaration shows what a derive would hide: who writes a field, and in which order kinds are numbered. Types of other
//! crates join by the trait [`Field`](crate::Field).

/// Declares the objects and messages of a game: their types, and a [`Schema`](crate::Schema) that both sides compare when a
/// player connects.
///
/// ```
/// evenkeel_objects::schema! {
///     /// What travels in the game.
///     pub static GAME = "skirmish";
///     objects {
///         /// A ship.
///         Ship: planar { owner name: String, server health: u8 }
///     }
///     messages {
///         /// Fires at an angle.
///         Fire { angle: f32 }
///     }
/// }
///
/// let description = GAME.description();
/// assert!(description.contains("planar object Ship: owner name: text, server health: u8,"));
/// let words = GAME.mismatch(&description.replace("health: u8", "health: u16")).expect("they differ");
/// assert!(words.contains("the relay has") && words.contains("update the older of the two"));
/// ```
#[macro_export]
macro_rules! schema {
    (
        $(#[$schema_meta:meta])*
        $vis:vis static $schema:ident = $name:literal;
        objects { $(
            $(#[$object_meta:meta])*
            $object:ident: $motion:ident { $( $writer:ident $field:ident: $type:ty ),* $(,)? }
        )* }
        messages { $(
            $(#[$message_meta:meta])*
            $message:ident { $( $part:ident: $part_type:ty ),* $(,)? }
        )* }
    ) => {
        $(#[$schema_meta])*
        $vis static $schema: $crate::Schema = $crate::Schema {
            name: $name,
            objects: &[ $( $crate::ObjectKind {
                name: stringify!($object),
                motion: $crate::schema!(@motion $motion),
                fields: &[ $( $crate::FieldKind {
                    name: stringify!($field),
                    writer: $crate::schema!(@writer $writer),
                    describe: <$type as $crate::Field>::describe,
                    check: $crate::field::check::<$type>,
                    initial: $crate::field::initial::<$type>,
                } ),* ],
            } ),* ],
            messages: &[ $( $crate::MessageKind {
                name: stringify!($message),
                describe: |_text| { $(
                    _text.push_str(concat!(" ", stringify!($part), ": "));
                    <$part_type as $crate::Field>::describe(_text);
                    _text.push(',');
                )* },
                check: |_reader| { $( $crate::field::check::<$part_type>(_reader)?; )* Ok(()) },
            } ),* ],
        };
        $(
            $(#[$object_meta])*
            #[derive(Clone, PartialEq, Debug)]
            $vis struct $object {
                $(
                    #[doc = concat!("Written by the ", stringify!($writer), ".")]
                    pub $field: $type
                ),*
            }
        )*
        $(
            $(#[$message_meta])*
            #[derive(Clone, PartialEq, Debug)]
            $vis struct $message {
                $(
                    #[doc = concat!("Its ", stringify!($part), ".")]
                    pub $part: $part_type
                ),*
            }
        )*
        const _: () = {
            #[allow(dead_code)]
            enum ObjectNumber { $( $object ),* }
            #[allow(dead_code)]
            enum MessageNumber { $( $message ),* }
            $(
                impl $crate::Object for $object {
                    const KIND: u16 = ObjectNumber::$object as u16;

                    fn kind() -> &'static $crate::ObjectKind {
                        &$schema.objects[usize::from(Self::KIND)]
                    }

                    fn values(&self) -> Vec<$crate::Value> {
                        vec![ $( {
                            let mut bytes = Vec::new();
                            $crate::Field::emit(&self.$field, &mut bytes);
                            bytes.into_boxed_slice()
                        } ),* ]
                    }

                    fn from_values(values: &[$crate::Value]) -> Result<Self, $crate::Malformed> {
                        let mut _values = values.iter();
                        Ok(Self { $( $field: {
                            let value = _values.next().ok_or($crate::Malformed::Truncated)?;
                            $crate::Field::parse(&mut $crate::Reader::new(value))?
                        } ),* })
                    }
                }
            )*
            $(
                impl $crate::GameMessage for $message {
                    const KIND: u16 = MessageNumber::$message as u16;

                    fn to_bytes(&self) -> Vec<u8> {
                        let mut _bytes = Vec::new();
                        $( $crate::Field::emit(&self.$part, &mut _bytes); )*
                        _bytes
                    }

                    fn from_bytes(bytes: &[u8]) -> Result<Self, $crate::Malformed> {
                        let mut reader = $crate::Reader::new(bytes);
                        let message = Self { $( $part: $crate::Field::parse(&mut reader)? ),* };
                        reader.finish()?;
                        Ok(message)
                    }
                }
            )*
        };
    };
    (@motion still) => { $crate::ObjectMotion::Still };
    (@motion planar) => { $crate::ObjectMotion::Planar };
    (@motion spatial) => { $crate::ObjectMotion::Spatial };
    (@writer owner) => { $crate::Writer::Owner };
    (@writer server) => { $crate::Writer::Server };
}
