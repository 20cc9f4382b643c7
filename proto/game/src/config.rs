//! The settings of a room's protocols.

use evenkeel_core::{Malformed, Reader, Span, Wire};
use evenkeel_dr::DrConfig;
use evenkeel_sync_ms::{Order, SyncConfig};

const SYNC: u64 = 0x0073_796e_6300;

/// The settings of the protocols in one room, for the room or for one of its players.
#[derive(Clone, PartialEq, Debug)]
pub struct GameConfig {
    /// Dead reckoning's.
    pub dr: DrConfig,
    /// Sync-MS's.
    pub sync: SyncConfig,
}

impl From<DrConfig> for GameConfig {
    /// The default order of actions beside these settings. People act at no steady pace, so nothing is promised ahead.
    fn from(dr: DrConfig) -> Self {
        // Nonces of one protocol must not reveal the other's.
        let seed = dr.seed.child(SYNC);
        Self { dr, sync: SyncConfig { foresight: Span::ZERO, seed, ..SyncConfig::default() } }
    }
}

/// Settings travel in recordings only. Those of dead reckoning alone are a room's without Sync-MS.
impl Wire for GameConfig {
    fn emit(&self, bytes: &mut Vec<u8>) {
        self.dr.emit(bytes);
        self.sync.emit(bytes);
    }

    fn parse(reader: &mut Reader<'_>) -> Result<Self, Malformed> {
        let mut config = Self::from(reader.read::<DrConfig>()?);
        if reader.is_empty() {
            (config.sync.order, config.sync.sync_out) = (Order::None, false);
        } else {
            config.sync = reader.read()?;
        }
        Ok(config)
    }
}
