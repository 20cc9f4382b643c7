//! The relay's greeting on the reliable stream, which tells a player its number and the room's tick.

use evenkeel_core::{Malformed, PeerId, Reader, Span, Varint, Wire};
use evenkeel_dr::relay::limits::PLAYERS_MAX;

/// The relay's id for its players.
pub const RELAY: PeerId = PeerId(0);

/// The longest tick of a room.
pub const TICK_MAX: Span = Span::from_secs(1);

const VERSION: u8 = 1;

/// The greeting.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Welcome {
    /// The player's number in its room, part of its [entities' ids](evenkeel_dr::EntityId::of).
    pub player: PeerId,
    /// The room's tick: at most one datagram is sent each way per tick if everything fits.
    pub tick: Span,
}

impl Wire for Welcome {
    fn emit(&self, bytes: &mut Vec<u8>) {
        bytes.push(VERSION);
        Varint(u64::from(self.player.0)).emit(bytes);
        Varint(self.tick.as_nanos().max(0) as u64).emit(bytes);
    }

    fn parse(reader: &mut Reader<'_>) -> Result<Self, Malformed> {
        match reader.read::<u8>()? {
            VERSION => {}
            found => return Err(Malformed::Version { found, supported: VERSION }),
        }
        let player = u32::try_from(reader.read::<Varint>()?.0).map_err(|_| Malformed::Field)?;
        let tick = i64::try_from(reader.read::<Varint>()?.0).map_err(|_| Malformed::Field)?;
        let (player, tick) = (PeerId(player), Span::from_nanos(tick));
        let fits = player != RELAY && player.0 < PLAYERS_MAX && tick <= TICK_MAX;
        if fits { Ok(Self { player, tick }) } else { Err(Malformed::Field) }
    }
}
