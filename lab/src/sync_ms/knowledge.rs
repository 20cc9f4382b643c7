//! Exact knowledge of a run, from an earlier run with the same messages and delays: what "exact" means in the paper, and
//! what a clairvoyant would know.
//!
//! In the first run nothing is held back at either end. Delays depend on the message, not on when it is sent, so they are
//! the same in every later run of that setting and seed.

use std::sync::Arc;

use evenkeel_core::{PeerId, SessionTime, Span};
use evenkeel_link::TrueTime;
use evenkeel_sync_ms::Order;
use evenkeel_sync_ms::order::{ClientView, Head, Tag, WaitPolicy};

use super::plan::ActionPlan;
use super::truth::SyncTruth;

/// The delays of a run, and its fair order.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Knowledge {
    /// By player, then by update.
    downs: Vec<Vec<Span>>,
    /// By player, then by action.
    ups: Vec<Vec<Span>>,
    /// Virtual sending times in order, and the latest arrival of any action up to each.
    arrivals: Vec<(TrueTime, TrueTime)>,
}

/// What arrives at an instant must be in the queue before the head is served.
const INSTANT: Span = Span::from_nanos(1);
/// The delay of something that did not arrive.
const UNKNOWN: Span = Span::ZERO;

impl Knowledge {
    /// What a run without the service shows.
    pub(crate) fn of(first: &SyncTruth) -> Self {
        let down = |shown: &Option<TrueTime>, left: &TrueTime| shown.map_or(UNKNOWN, |at| at - *left);
        let players = || first.players.iter();
        let downs = players().map(|player| {
            player.shown.iter().zip(&first.updates).map(|(shown, left)| down(shown, left)).collect()
        });
        let ups = players().map(|player| {
            let up = |arrived: Option<TrueTime>, sent| arrived.map_or(UNKNOWN, |at| at - sent);
            player.actions.iter().map(|action| up(action.arrived, action.sent)).collect()
        });
        let mut arrivals: Vec<(TrueTime, TrueTime)> = players()
            .flat_map(|player| &player.actions)
            .filter_map(|action| Some((action.virtual_at, action.arrived?)))
            .collect();
        arrivals.sort_unstable();
        let mut latest = TrueTime::MIN;
        for (_, arrival) in &mut arrivals {
            latest = latest.max(*arrival);
            *arrival = latest;
        }
        Self { downs: downs.collect(), ups: ups.collect(), arrivals }
    }

    /// The delay of an update to a player.
    pub(crate) fn down(&self, player: usize, update: usize) -> Span {
        self.downs[player].get(update).copied().unwrap_or(UNKNOWN)
    }

    /// The order that knows when actions of this plan were sent and how long they take, if every player sees the first
    /// update at the same time.
    pub(crate) fn exact(&self, plan: &ActionPlan, is_selective: bool) -> Order {
        let first_shown = (0..self.downs.len()).map(|player| self.down(player, 0)).max().unwrap_or(UNKNOWN);
        let start = SessionTime::from_nanos(0) + first_shown;
        let actions = self.ups.iter().enumerate().map(|(player, ups)| {
            let sent = plan.actions(player).iter().map(|after| start + *after);
            sent.zip(ups.iter().copied()).collect()
        });
        let name = if is_selective { "select-wait (exact)" } else { "max-wait (exact)" };
        Order::own(name, ExactWait { actions: Arc::new(actions.collect()), is_selective })
    }

    /// The order of a clairvoyant: it serves an action as soon as all that are earlier in fair order have arrived.
    pub(crate) fn clairvoyant(&self) -> Order {
        Order::own("clairvoyant", ClairvoyantOrder { arrivals: Arc::new(self.arrivals.clone()) })
    }
}

/// MaxWait or SelectWait with the exact delay of each message, and the exact time of each player's next action.
#[derive(Clone, Debug)]
struct ExactWait {
    /// By player, then by action: when it is sent, and how long it takes.
    actions: Arc<Vec<Vec<(SessionTime, Span)>>>,
    is_selective: bool,
}

impl ExactWait {
    /// How long a player's last action up to the head's takes, if that has to be waited for.
    fn wait(&self, head: &Head, client: &ClientView) -> Option<Span> {
        let actions = self.actions.get(player_of(client.peer))?;
        let before = actions.partition_point(|(sent, _)| *sent <= head.at);
        let (sent, up) = *actions.get(before.checked_sub(1)?)?;
        let is_known = client.last_sent.is_some_and(|last| last >= sent);
        (!self.is_selective || !is_known).then_some(up)
    }
}

impl WaitPolicy for ExactWait {
    fn tag(&self) -> Tag {
        Tag::Sent
    }

    fn until(&self, head: &Head, clients: &[ClientView]) -> SessionTime {
        let waits = clients.iter().filter_map(|client| self.wait(head, client));
        waits.max().map_or(head.at, |wait| head.at + wait + INSTANT)
    }
}

#[derive(Clone, Debug)]
struct ClairvoyantOrder {
    arrivals: Arc<Vec<(TrueTime, TrueTime)>>,
}

impl WaitPolicy for ClairvoyantOrder {
    fn tag(&self) -> Tag {
        Tag::Virtual
    }

    fn until(&self, head: &Head, _: &[ClientView]) -> SessionTime {
        let at = TrueTime::from_nanos(head.at.as_nanos());
        let before = self.arrivals.partition_point(|(virtual_at, _)| *virtual_at < at);
        let latest = before.checked_sub(1).map(|last| self.arrivals[last].1);
        latest.map_or(SessionTime::MIN, |latest| SessionTime::from_nanos(latest.as_nanos()) + INSTANT)
    }
}

/// The index of a player: the server is the first node.
fn player_of(peer: PeerId) -> usize {
    peer.0 as usize - 1
}
