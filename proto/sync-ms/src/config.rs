//! The settings of both modules.

use evenkeel_core::{Malformed, Reader, Seed, Span, Varint, Wire};

use crate::command::parse_flag;
use crate::order::Order;

/// What happens to an update that arrives after the time at which everybody shows it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Late {
    /// It is shown at once.
    #[default]
    Show,
    /// It is dropped.
    Discard,
}

/// Which update an action reacts to.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Respective {
    /// The newest that was shown when the player's previous action left: a game reads its input queue right after sending
    /// (section 6.1.1 of the paper).
    BeforePreviousAction,
    /// The newest that was shown when the action left.
    #[default]
    Newest,
}

/// The settings of the [`Sms`](crate::Sms) and the [`Smc`](crate::Smc). Each reads what concerns it.
#[derive(Clone, PartialEq, Debug)]
pub struct SyncConfig {
    /// The order in which actions are served.
    pub order: Order,
    /// Whether everybody shows an update at the same time.
    pub sync_out: bool,
    /// What a client does with late updates.
    pub late: Late,
    /// The most that anybody is delayed for the others' sake, each way. A player who is farther away loses the guarantee.
    pub cap: Span,
    /// How much shorter updates are held from one second to the next at most. Without it, the hold follows the estimates, as in
    /// the paper; then updates are shown less evenly, and the order of reactions suffers.
    pub hold_fall: Option<Span>,
    /// How much longer updates are held from one second to the next at most for the sake of one player, so that nobody makes
    /// everybody wait by a sudden claim. Without it, the hold follows the estimates, as in the paper.
    pub hold_rise: Option<Span>,
    /// A client that has sent nothing for this long repeats its last action, or promises that there was none.
    pub heartbeat: Span,
    /// The most that a client promises ahead by the pace of its player's actions. Others wait less for it; an action that breaks
    /// the promise has its place when the promise ends.
    pub foresight: Span,
    /// How many later packets repeat an action, as far as it fits.
    pub repeats: u32,
    /// Which update an action reacts to.
    pub respective: Respective,
    /// The source of nonces and tosses. On a real network it is a secret.
    pub seed: Seed,
}

impl Default for SyncConfig {
    fn default() -> Self {
        Self {
            order: Order::Reaction,
            sync_out: true,
            late: Late::Show,
            cap: Span::from_millis(150),
            hold_fall: None,
            hold_rise: None,
            heartbeat: Span::from_millis(10),
            foresight: Span::from_millis(20),
            repeats: 2,
            respective: Respective::Newest,
            seed: Seed::new(0),
        }
    }
}

/// Stands for no limit of the fall, or of the rise.
const NO_LIMIT: i64 = i64::MIN;

/// Settings travel in recordings only.
impl Wire for SyncConfig {
    fn emit(&self, bytes: &mut Vec<u8>) {
        self.order.emit(bytes);
        bytes.push(u8::from(self.sync_out));
        bytes.push(u8::from(self.late == Late::Discard));
        bytes.push(u8::from(self.respective == Respective::Newest));
        Varint::signed(self.cap.as_nanos()).emit(bytes);
        for limit in [self.hold_fall, self.hold_rise] {
            Varint::signed(limit.map_or(NO_LIMIT, Span::as_nanos)).emit(bytes);
        }
        Varint::signed(self.heartbeat.as_nanos()).emit(bytes);
        Varint::signed(self.foresight.as_nanos()).emit(bytes);
        self.repeats.emit(bytes);
        self.seed.number().emit(bytes);
    }

    fn parse(reader: &mut Reader<'_>) -> Result<Self, Malformed> {
        let order = reader.read()?;
        let [sync_out, discards, newest] = [parse_flag(reader)?, parse_flag(reader)?, parse_flag(reader)?];
        let cap = Span::from_nanos(reader.read::<Varint>()?.to_signed());
        let mut limit = || -> Result<Option<Span>, Malformed> {
            let nanos = reader.read::<Varint>()?.to_signed();
            Ok((nanos != NO_LIMIT).then(|| Span::from_nanos(nanos)))
        };
        let (hold_fall, hold_rise) = (limit()?, limit()?);
        Ok(Self {
            order,
            sync_out,
            late: if discards { Late::Discard } else { Late::Show },
            respective: if newest { Respective::Newest } else { Respective::BeforePreviousAction },
            cap,
            hold_fall,
            hold_rise,
            heartbeat: Span::from_nanos(reader.read::<Varint>()?.to_signed()),
            foresight: Span::from_nanos(reader.read::<Varint>()?.to_signed()),
            repeats: reader.read()?,
            seed: Seed::from_key(reader.read()?),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_survive_a_recording() {
        let own = SyncConfig {
            order: "toss-wait=100:50,50:50".parse().expect("an order"),
            sync_out: false,
            late: Late::Discard,
            cap: Span::from_millis(-1),
            hold_fall: Some(Span::from_millis(10)),
            hold_rise: Some(Span::from_millis(11)),
            respective: Respective::Newest,
            seed: Seed::new(7),
            ..SyncConfig::default()
        };
        for config in [own, SyncConfig::default()] {
            let mut bytes = Vec::new();
            config.emit(&mut bytes);
            let mut reader = Reader::new(&bytes);
            assert_eq!(reader.read().as_ref(), Ok(&config));
            assert!(reader.is_empty());
        }
    }
}
