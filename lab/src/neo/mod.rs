//! NEO in the lab: games of Eater among real machines in simulated worlds, and duels with cheats.

mod duel;
mod duelist;
mod node;
mod protocol;
mod run;
mod setting;
pub(crate) mod study;
mod tally;

pub(crate) use duel::{Duel, DuelFigures, run_duel};
pub(crate) use duelist::Role;
pub(crate) use protocol::MoveProtocol;
pub(crate) use run::{NeoFigures, TracedUpdate, run_setting, run_traced};
pub(crate) use setting::{NeoSetting, exponential};
