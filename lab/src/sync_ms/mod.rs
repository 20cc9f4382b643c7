//! Sync-MS in the lab: the paper's experiment and our own, run by the real modules in simulated worlds.

mod figures;
mod frozen;
mod grid;
mod knowledge;
mod lying;
mod node;
mod number;
mod plan;
mod run;
mod service;
mod setting;
pub(crate) mod study;
mod truth;

pub(crate) use figures::PlayerFigures;
pub(crate) use grid::{Grid, GridPlan, ServiceRuns, grid_jobs};
pub(crate) use lying::{Answers, SmcLie};
pub(crate) use service::{Service, Wait};
pub(crate) use setting::{PathLaw, PlayerRole, SyncPlayer, SyncSetting};
