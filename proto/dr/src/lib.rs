//! Accurate, fair dead reckoning.
//!
//! Owners export their entities' motion as time-stamped [`DrVector`]s; receivers place them by the session's clock, so
//! that after a vector's arrival exported and placed path are the same to the bit. What distance leaves is the export
//! error before arrival. The sender keeps a [`ledger`] of it for each receiver, and a
//! [fairness policy](fairness::FairnessPolicy) decides who is sent which vector and when.
//!
//! Sources: Aggarwal, Banavar, Mukherjee, Rangarajan, "Fairness in Dead-Reckoning based Distributed Multi-Player
//! Games" (NetGames 2005), and Banavar's thesis (2005), chapters 2 and 3.
//!
//! The way of one DR vector: [`DrPeer::observe`] → [`Threshold::strayed`] → `generate` →
//! (through [`DrRelay`] in the relay topology) → [`FairnessPolicy::plan`]
//! → [`ErrorLedger`](ledger::ErrorLedger) opens a dispatch → wire → [`Placement`] → position; back: feedback → the
//! ledger settles → [`FairnessPolicy::on_settled`].
//!
//! ```
//! use evenkeel_core::{SessionTime, Span, Vec3};
//! use evenkeel_dr::{DrVector, MotionKind, MotionState, export_error};
//!
//! let start = SessionTime::from_nanos(0);
//! let east = MotionState { velocity: Vec3::xy(10.0, 0.0), ..MotionState::default() };
//! let north = MotionState { velocity: Vec3::xy(0.0, 10.0), ..MotionState::default() };
//! let old = DrVector::generate(start, &east, MotionKind::Linear);
//! let new = DrVector::generate(start, &north, MotionKind::Linear);
//! // For half a second a receiver keeps going east while the entity goes north.
//! let error = export_error(&new, &old, start, start + Span::from_millis(500));
//! assert!((error - 0.5 * 200f64.sqrt() * 0.25).abs() < 1e-12);
//! ```

pub mod arrivals;
pub mod command;
pub mod config;
pub mod content;
pub mod divergence;
pub mod fading;
pub mod fairness;
pub mod history;
mod intake;
pub mod ledger;
pub mod limits;
pub mod linear;
pub mod message;
pub mod outbox;
pub mod owner;
pub mod peer;
mod peers;
pub mod placement;
mod prefetch;
pub mod quantize;
mod quota;
pub mod receiver;
pub mod relay;
mod replay;
mod report_cursor;
mod room;
pub mod sender;
mod station;
mod tailor;
pub mod threshold;
pub mod uplink;
pub mod vector;

pub use command::{DrCommand, DrEvent, RelayCommand};
pub use config::{BadBudget, Budget, DrConfig, Topology};
pub use content::Content;
pub use divergence::{Divergence, export_error};
pub use fairness::{FairnessPolicy, PairWeight, PolicyKind};
pub use ledger::Compensation;
pub use limits::Limits;
pub use peer::DrPeer;
pub use placement::Placement;
pub use relay::{DrRelay, Present};
pub use room::Room;
pub use threshold::Threshold;
pub use vector::{DrSeq, DrVector, EntityId, MotionKind, MotionState};
