//! What happened in a run, as the simulator saw it: the fair order by virtual sending times, and who was served when.
//!
//! Nothing here comes from a player's tags. An update `U` left at `s(U)` and was shown to a player at `r(U)`; an action `A`
//! left at `s(A)`. The player reads its input queue right after sending, so `A` reacts to the newest update that was shown
//! when the *previous* action left. Its virtual sending time is `s(A) - (r(U) - s(U))` (section 6.1.1 of the paper).

use evenkeel_core::{SessionTime, Span};
use evenkeel_link::TrueTime;
use evenkeel_sim::{NodeId, Observer};
use evenkeel_sync_ms::{Action, SmcEvent, SmsEvent};

use super::node::{SyncNode, SyncNodeEvent};
use super::number::numbered;

/// An action, as the simulator saw it.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct SeenAction {
    pub(crate) sent: TrueTime,
    /// Its virtual sending time.
    pub(crate) virtual_at: TrueTime,
    /// When it reached the server for the first time.
    pub(crate) arrived: Option<TrueTime>,
    pub(crate) served: Option<TrueTime>,
    /// The virtual sending time by which the server sorted it.
    pub(crate) believed: Option<SessionTime>,
}

/// What a player saw and did.
#[derive(Clone, Debug, Default)]
pub(crate) struct SeenPlayer {
    /// When each update was shown, by its number.
    pub(crate) shown: Vec<Option<TrueTime>>,
    newest: Option<usize>,
    /// What the next action reacts to.
    respected: Option<usize>,
    pub(crate) actions: Vec<SeenAction>,
}

impl SeenPlayer {
    /// When the first update was shown.
    pub(crate) fn first_shown(&self) -> Option<TrueTime> {
        self.shown.iter().flatten().min().copied()
    }

    fn show(&mut self, at: TrueTime, update: usize) {
        if self.shown.len() <= update {
            self.shown.resize(update + 1, None);
        }
        self.shown[update].get_or_insert(at);
        self.newest = self.newest.max(Some(update));
        self.respected = self.respected.or(self.newest);
    }

    /// When the effect of an action that was served before this update left is shown.
    pub(crate) fn effect_shown(&self, update: usize) -> Option<TrueTime> {
        // Updates tell the whole state, so that any later one will do if this one was lost.
        self.shown.get(update..)?.iter().take(EFFECT_UPDATES).flatten().min().copied()
    }
}

/// Updates among which the first that was shown carries an action's effect.
const EFFECT_UPDATES: usize = 8;

/// Everything that was seen.
#[derive(Debug)]
pub(crate) struct SyncTruth {
    server: NodeId,
    /// When each update left.
    pub(crate) updates: Vec<TrueTime>,
    pub(crate) players: Vec<SeenPlayer>,
    /// Player and number of each action, as they were served.
    pub(crate) served: Vec<(usize, usize)>,
}

impl SyncTruth {
    /// Nothing seen yet. The server is the first node, and the players follow.
    pub(crate) fn new(server: NodeId, players: usize) -> Self {
        Self {
            server,
            updates: Vec::new(),
            players: vec![SeenPlayer::default(); players],
            served: Vec::new(),
        }
    }

    /// Notes an update that leaves now. Returns its number.
    pub(crate) fn update(&mut self, at: TrueTime) -> usize {
        self.updates.push(at);
        self.updates.len() - 1
    }

    /// Notes an action that leaves now. Returns its number, or `None` before the player's first update.
    pub(crate) fn act(&mut self, at: TrueTime, player: usize) -> Option<usize> {
        let seen = &mut self.players[player];
        let update = seen.respected?;
        let delay = seen.shown[update]? - self.updates[update];
        seen.respected = seen.newest;
        let action =
            SeenAction { sent: at, virtual_at: at - delay, arrived: None, served: None, believed: None };
        seen.actions.push(action);
        Some(seen.actions.len() - 1)
    }

    fn serve(&mut self, at: TrueTime, action: &Action) {
        let player = action.from.0 as usize - 1;
        let Some(number) = numbered(&action.bytes) else { return };
        let Some(seen) = self.players[player].actions.get_mut(number) else { return };
        assert!(seen.served.is_none(), "action {number} of player {player} was served twice");
        seen.served = Some(at);
        seen.arrived = Some(TrueTime::from_nanos(action.arrived.as_nanos()));
        seen.believed = Some(action.virtual_at);
        self.served.push((player, number));
    }

    /// The time until the effect of an action is shown to its player.
    pub(crate) fn response(&self, player: usize, action: &SeenAction) -> Option<Span> {
        let served = action.served?;
        let update = self.updates.partition_point(|left| *left < served);
        Some(self.players[player].effect_shown(update)? - action.sent)
    }
}

impl Observer<SyncNode> for SyncTruth {
    fn on_event(&mut self, at: TrueTime, node: NodeId, event: SyncNodeEvent) {
        match event {
            SyncNodeEvent::Server(SmsEvent::Action(action)) => self.serve(at, &action),
            SyncNodeEvent::Player(SmcEvent::Update { bytes, .. }) if node != self.server => {
                let player = node.0 as usize - 1;
                if let Some(update) = numbered(&bytes) {
                    self.players[player].show(at, update);
                }
            }
            SyncNodeEvent::Server(_) | SyncNodeEvent::Player(_) => {}
        }
    }
}
