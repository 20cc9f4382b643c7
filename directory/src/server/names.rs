//! Which names are taken. A relay takes a name for an identity: whoever comes with a token for it replaces who was there. So
//! a name is given away once, until the token expires.

use std::collections::BTreeMap;

use evenkeel_net::token::Name;

/// Names that are taken, by room. Rooms of one name count as one room, as a token does not say at which relay it is for.
#[derive(Debug, Default)]
pub(crate) struct Names {
    /// The room and the player; when the name becomes free, in Unix seconds.
    taken: BTreeMap<(Name, Name), u64>,
}

/// Why a name cannot be had.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum NameRefused {
    /// Somebody has it for so many seconds more.
    Taken(u64),
    /// Too many names are taken.
    Full,
}

impl Names {
    /// Takes a name until then. Its holder may renew it.
    pub(crate) fn take(
        &mut self,
        room: &Name,
        name: &Name,
        is_holder: bool,
        now: u64,
        until: u64,
        names_max: usize,
    ) -> Result<(), NameRefused> {
        let key = (room.clone(), name.clone());
        if let Some(free_at) = self.taken.get(&key).filter(|free_at| **free_at > now && !is_holder) {
            return Err(NameRefused::Taken(free_at - now));
        }
        if self.taken.len() >= names_max && !self.taken.contains_key(&key) {
            self.taken.retain(|_, free_at| *free_at > now);
            if self.taken.len() >= names_max {
                return Err(NameRefused::Full);
            }
        }
        self.taken.insert(key, until);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn name(text: &str) -> Name {
        Name::new(text).expect("a name")
    }

    #[test]
    fn a_name_is_given_away_once_until_it_expires() {
        let (mut names, room, ada) = (Names::default(), name("arena"), name("ada"));
        let mut take = |player: &Name, is_holder, now| names.take(&room, player, is_holder, now, now + 60, 2);
        assert_eq!(take(&ada, false, 0), Ok(()));
        assert_eq!(take(&ada, false, 20), Err(NameRefused::Taken(40)));
        assert_eq!(take(&ada, true, 20), Ok(()), "its holder may renew it");
        assert_eq!(take(&name("bob"), false, 20), Ok(()));
        assert_eq!(take(&name("eve"), false, 20), Err(NameRefused::Full));
        assert_eq!(take(&name("eve"), false, 81), Ok(()), "expired names make room");
    }
}
