//! The services that are compared: the paper's combinations of algorithms, our order, and what a clairvoyant could do.

use evenkeel_sync_ms::{Order, SyncConfig};

use super::knowledge::Knowledge;
use super::plan::ActionPlan;
use super::run::SyncCase;
use super::setting::SyncSetting;

/// How long an action waits at the server.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum Wait {
    /// Not at all.
    None,
    Max,
    Select,
    /// TossWait with the paper's first, second or third toss vector.
    Toss(u8),
}

/// A service.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum Service {
    /// Sync-in alone.
    In(Wait),
    /// Sync-out and Sync-in, by estimated delays.
    Both(Wait),
    /// The same with exact delays for Sync-out.
    ExactOut(Wait),
    /// The same with exact delays for both, and the exact time of each player's next action.
    Exact(Wait),
    /// By reactions.
    Reaction,
    /// The fair order, by an order that knows when everything arrives.
    Clairvoyant,
}

impl Service {
    /// No service at all.
    pub(crate) const NOTHING: Self = Self::In(Wait::None);

    /// Its name, as in the paper's figures.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::In(Wait::None) => "NsoNsi",
            Self::In(Wait::Max) => "NsoWsi",
            Self::In(_) => "Sync-in only",
            Self::Both(Wait::None) | Self::ExactOut(Wait::None) => "WsoNsi",
            Self::Both(Wait::Max) => "MaxWait",
            Self::Both(Wait::Select) => "SelectWait",
            Self::ExactOut(Wait::Max) => "MaxWait/Estimate",
            Self::ExactOut(Wait::Select) => "SelectWait/Estimate",
            Self::Exact(Wait::Max) => "MaxWait/Exact",
            Self::Exact(_) => "SelectWait/Exact",
            Self::Both(Wait::Toss(1)) | Self::ExactOut(Wait::Toss(1)) => "TossWait1",
            Self::Both(Wait::Toss(2)) | Self::ExactOut(Wait::Toss(2)) => "TossWait2",
            Self::Both(Wait::Toss(_)) | Self::ExactOut(Wait::Toss(_)) => "TossWait3",
            Self::Reaction => "Reaction",
            Self::Clairvoyant => "clairvoyant",
        }
    }

    /// Returns the case to run.
    pub(crate) fn case<'a>(self, setting: &SyncSetting, seed: u64, knowledge: &'a Knowledge) -> SyncCase<'a> {
        let order = match self {
            Self::In(wait) | Self::Both(wait) | Self::ExactOut(wait) => wait.order(),
            Self::Exact(wait) => knowledge.exact(&ActionPlan::new(setting, seed), wait == Wait::Select),
            Self::Reaction => Order::Reaction,
            Self::Clairvoyant => knowledge.clairvoyant(),
        };
        let sync_out = matches!(self, Self::Both(_) | Self::ExactOut(_) | Self::Exact(_));
        let is_exact = matches!(self, Self::ExactOut(_) | Self::Exact(_));
        let config = match self {
            Self::Reaction => SyncConfig { order, sync_out, ..SyncConfig::default() },
            // The paper's modules repeat nothing.
            _ => SyncConfig { order, sync_out, repeats: 0, ..SyncConfig::default() },
        };
        SyncCase { config, exact_out: is_exact.then_some(knowledge) }
    }
}

impl Wait {
    fn order(self) -> Order {
        match self {
            Self::None => Order::None,
            Self::Max => Order::MaxWait,
            Self::Select => Order::SelectWait,
            Self::Toss(vector) => {
                let tosses = match vector {
                    1 => "toss-wait=100:50,50:30,10:20",
                    2 => "toss-wait=100:30,50:70",
                    _ => "toss-wait=100:20,30:30,10:50",
                };
                tosses.parse().expect("the paper's toss vectors are well-formed")
            }
        }
    }
}
