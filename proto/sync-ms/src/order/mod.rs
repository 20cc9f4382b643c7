//! In which order actions are served, and how long the first one waits for others that could precede it.
//!
//! Every policy is a [`WaitPolicy`]: it names the tag by which actions are sorted, and says until when the head of the queue
//! waits. The SMS asks again whenever something arrives. A game can bring one of its own with [`Order::own`].

mod max_wait;
mod reaction;
mod select_wait;
mod toss_wait;

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use evenkeel_core::{Draws, Malformed, PeerId, Reader, SessionTime, Span, Varint, Wire};

pub use max_wait::MaxWait;
pub use reaction::Reaction;
pub use select_wait::SelectWait;
pub use toss_wait::{Toss, TossWait};

/// By which tag actions are sorted.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Tag {
    /// The time of sending. It is fair if everybody sees updates at once and clocks agree.
    Sent,
    /// The virtual sending time. It is fair whenever updates are shown.
    Virtual,
}

/// The action at the head of the queue.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Head {
    /// The player.
    pub from: PeerId,
    /// Its tag: the time of sending, or the virtual one.
    pub at: SessionTime,
    /// A random number between 0 and 1, drawn once for the action.
    pub toss: f64,
}

/// What a policy may know about a player.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ClientView {
    /// The player.
    pub peer: PeerId,
    /// The estimated delay of its actions.
    pub up: Option<Span>,
    /// When its last known action was sent.
    pub last_sent: Option<SessionTime>,
    /// A low estimate of the time between its actions.
    pub gap: Option<Span>,
    /// No action of it with an earlier tag will come.
    pub promise: Option<SessionTime>,
    /// How long after its virtual sending an action of it arrives at the latest, but for rare ones.
    pub lag: Span,
}

/// A policy of waiting.
pub trait WaitPolicy: fmt::Debug + Send + Sync {
    /// By which tag actions are sorted.
    fn tag(&self) -> Tag;

    /// Until when the head waits, as things stand. `clients` are all players that are waited for, by their ids.
    fn until(&self, head: &Head, clients: &[ClientView]) -> SessionTime;

    /// Whether actions carry a random number.
    fn tosses(&self) -> bool {
        false
    }
}

/// A policy by its name.
#[derive(Clone, Debug, Default)]
pub enum Order {
    /// Actions are served as they arrive.
    None,
    /// The paper's MaxWait.
    MaxWait,
    /// The paper's SelectWait.
    SelectWait,
    /// The paper's TossWait.
    TossWait(TossWait),
    /// By reactions.
    #[default]
    Reaction,
    /// A policy of the application.
    Own(&'static str, Arc<dyn WaitPolicy>),
}

impl Order {
    /// A policy of the application, by its name.
    #[must_use]
    pub fn own(name: &'static str, policy: impl WaitPolicy + 'static) -> Self {
        Self::Own(name, Arc::new(policy))
    }

    /// The policy; `None` if actions are served as they arrive.
    #[must_use]
    pub fn policy(&self) -> Option<Arc<dyn WaitPolicy>> {
        match self {
            Self::None => None,
            Self::MaxWait => Some(Arc::new(MaxWait)),
            Self::SelectWait => Some(Arc::new(SelectWait)),
            Self::TossWait(tosses) => Some(Arc::new(tosses.clone())),
            Self::Reaction => Some(Arc::new(Reaction)),
            Self::Own(_, policy) => Some(Arc::clone(policy)),
        }
    }
}

impl PartialEq for Order {
    fn eq(&self, other: &Self) -> bool {
        self.to_string() == other.to_string()
    }
}

impl fmt::Display for Order {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::None => f.write_str("none"),
            Self::MaxWait => f.write_str("max-wait"),
            Self::SelectWait => f.write_str("select-wait"),
            Self::TossWait(tosses) => write!(f, "toss-wait={tosses}"),
            Self::Reaction => f.write_str("reaction"),
            Self::Own(name, _) => f.write_str(name),
        }
    }
}

/// A text that names no order.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error(
    "\"{0}\" is no order: give reaction, max-wait, select-wait, none, or toss-wait with percentiles and their probabilities \
     in percent that add up to 100, like toss-wait=100:50,50:30,10:20"
)]
pub struct UnknownOrder(pub String);

impl FromStr for Order {
    type Err = UnknownOrder;

    fn from_str(text: &str) -> Result<Self, UnknownOrder> {
        let unknown = || UnknownOrder(text.to_owned());
        match text.split_once('=') {
            Some(("toss-wait", tosses)) => tosses.parse().map(Self::TossWait).map_err(|()| unknown()),
            None if text == "none" => Ok(Self::None),
            None if text == "max-wait" => Ok(Self::MaxWait),
            None if text == "select-wait" => Ok(Self::SelectWait),
            None if text == "reaction" => Ok(Self::Reaction),
            _ => Err(unknown()),
        }
    }
}

/// Orders travel by their names, in recordings only. A policy of the application becomes the default.
impl Wire for Order {
    fn emit(&self, out: &mut Vec<u8>) {
        let name = self.to_string();
        Varint(name.len() as u64).emit(out);
        out.extend_from_slice(name.as_bytes());
    }

    fn parse(reader: &mut Reader<'_>) -> Result<Self, Malformed> {
        let len = usize::try_from(reader.read::<Varint>()?.0).map_err(|_| Malformed::Field)?;
        let name = core::str::from_utf8(reader.take(len)?).map_err(|_| Malformed::Field)?;
        Ok(name.parse().unwrap_or_default())
    }
}

/// Draws the random number of an action.
pub(crate) fn toss(policy: &dyn WaitPolicy, draws: &mut Draws) -> f64 {
    if policy.tosses() { draws.unit() } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn orders_have_names() {
        for name in ["none", "max-wait", "select-wait", "reaction", "toss-wait=100:50,50:30,10:20"] {
            assert_eq!(name.parse::<Order>().map(|order| order.to_string()), Ok(name.to_owned()));
        }
        for wrong in
            ["", "fifo", "toss-wait", "toss-wait=100:50", "toss-wait=100:x", "toss-wait=-1:100", "max-wait=3"]
        {
            assert!(wrong.parse::<Order>().is_err(), "{wrong}");
        }
    }
}
