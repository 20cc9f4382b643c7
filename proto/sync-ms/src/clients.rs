//! What the SMS knows about each player.

use core::ops::AddAssign;

use evenkeel_core::{PeerId, SessionTime, Span};

use crate::claim::Path;
use crate::command::KnownPath;
use crate::delay::{DelayMargin, MarginEstimate, RisingDelay};
use crate::message::ActionFrame;
use crate::order::{ClientView, Tag};
use crate::parts::PartBuffer;
use crate::quantile::RecentSpans;
use crate::seq_window::SeqWindow;
use crate::update_log::UpdateLog;

/// Actions of one player that wait. Beyond, its first are served at once.
const WAITING_MAX: usize = 256;
/// Their bytes. Beyond, the first are served at once.
const WAITING_BYTES_MAX: usize = 1 << 20;
/// Lags that are remembered.
const LAGS: usize = 1_024;
/// Lags before they are relied on.
const LAGS_MIN: usize = 32;
/// The part of the lags above the usual longest one.
const LAGS_ABOVE: f64 = 0.01;

/// Whether a player is waited for.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Standing {
    /// It is waited for.
    #[default]
    Guaranteed,
    /// It has been silent for longer than its actions take, or does not answer. Its own actions wait for their turn.
    Silent,
    /// Others would have to wait for it for longer than the cap. Its own actions are served at once.
    BeyondCap,
}

/// Reliable updates in a row that take longer than usual until that is what is usual.
const SLOW_MIN: u32 = 3;

/// What is counted of a player.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct ClientCounts {
    /// Actions that were served.
    pub actions: u64,
    /// Those that came too late for their place in the order.
    pub late: u64,
    /// Those that were served before some that are earlier in fair order, as far as the tags tell.
    pub ahead: u64,
    /// Those that were served after some that are later in fair order.
    pub behind: u64,
    /// Those whose tags claimed more than is possible.
    pub clamped: u64,
    /// Those that were served at once because too many of the player waited.
    pub crowded_out: u64,
    /// How long they waited for others, in all.
    pub waited: Span,
    /// Updates that were sent to it.
    pub updates: u64,
    /// Updates that did not fit its datagrams, or its reliable channel.
    pub unsent: u64,
}

impl AddAssign for ClientCounts {
    fn add_assign(&mut self, other: Self) {
        let Self { actions, late, ahead, behind, clamped, crowded_out, waited, updates, unsent } = other;
        self.actions += actions;
        self.late += late;
        self.ahead += ahead;
        self.behind += behind;
        self.clamped += clamped;
        self.crowded_out += crowded_out;
        self.waited += waited;
        self.updates += updates;
        self.unsent += unsent;
    }
}

/// What the SMS knows about a player.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct ClientReport {
    /// The player.
    pub peer: PeerId,
    /// Whether it is waited for.
    pub standing: Standing,
    /// What is counted.
    pub counts: ClientCounts,
    /// The usual delay of updates to it, by the session's clock. It is certain only up to the round trip.
    pub down: Option<Span>,
    /// The usual delay of its actions.
    pub up: Option<Span>,
    /// The least round trip, and the jitter above it.
    pub round_trip: Option<(Span, Span)>,
    /// How long after its virtual sending an action arrives at the latest, but for rare ones.
    pub lag: Span,
    /// How long after its stamp the last update is shown; zero for at once.
    pub hold: Span,
}

/// What promises are held to.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PromiseRules {
    /// How many later packets repeat an action.
    pub(crate) repeats: u32,
    /// The longest silence.
    pub(crate) heartbeat: Span,
    /// The most that a client promises ahead.
    pub(crate) foresight: Span,
}

/// No action from this number on will come before this place.
#[derive(Clone, Copy, Debug)]
struct Promise {
    next: u32,
    at: SessionTime,
}

/// Where an action belongs.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Placed {
    /// Its place in the order that the policy asks for.
    pub(crate) at: SessionTime,
    /// Its place in the fair order.
    pub(crate) virtual_at: SessionTime,
    /// How long the update that it reacts to was held back.
    pub(crate) held: Span,
}

/// A player.
#[derive(Clone, Debug)]
pub(crate) struct ClientState {
    pub(crate) log: UpdateLog,
    pub(crate) path: Path,
    pub(crate) parts: PartBuffer,
    pub(crate) received: SeqWindow,
    pub(crate) known: KnownPath,
    pub(crate) standing: Standing,
    pub(crate) counts: ClientCounts,
    pub(crate) ping_at: SessionTime,
    /// How long after its stamp the last update is shown.
    pub(crate) hold: Span,
    /// Its actions in the queue.
    pub(crate) waiting: usize,
    /// Their bytes.
    pub(crate) waiting_bytes: usize,
    promise: Option<Promise>,
    /// Since when promises do not count because actions before them are missing.
    incomplete_since: Option<SessionTime>,
    /// When its last packet arrived.
    heard_at: Option<SessionTime>,
    /// The first update whose delay it could tell.
    heard_from: Option<u32>,
    /// Reliable updates in a row that took longer than usual.
    slow: u32,
    lags: RecentSpans,
    lag: Span,
    down: MarginEstimate,
    up: MarginEstimate,
    gap: MarginEstimate,
    last_sent: Option<(u32, SessionTime)>,
    /// The place of its newest action: later ones are not before it.
    last_placed: Option<(u32, SessionTime)>,
    /// The delay of updates that is made up for.
    made_up_for: RisingDelay,
}

impl ClientState {
    pub(crate) fn new(now: SessionTime) -> Self {
        Self {
            log: UpdateLog::default(),
            path: Path::default(),
            parts: PartBuffer::default(),
            received: SeqWindow::default(),
            known: KnownPath::default(),
            standing: Standing::default(),
            counts: ClientCounts::default(),
            ping_at: now,
            hold: Span::ZERO,
            waiting: 0,
            waiting_bytes: 0,
            promise: None,
            incomplete_since: None,
            heard_at: None,
            heard_from: None,
            slow: 0,
            lags: RecentSpans::new(LAGS),
            lag: Span::ZERO,
            down: MarginEstimate::default(),
            up: MarginEstimate::default(),
            gap: MarginEstimate::default(),
            last_sent: None,
            last_placed: None,
            made_up_for: RisingDelay::default(),
        }
    }

    pub(crate) fn is_guaranteed(&self) -> bool {
        self.standing == Standing::Guaranteed
    }

    /// Whether its actions wait for their turn. Those of a silent player do: it must not be worth while to be silent.
    pub(crate) fn waits(&self) -> bool {
        self.standing != Standing::BeyondCap
    }

    pub(crate) fn report(&self, peer: PeerId) -> ClientReport {
        ClientReport {
            peer,
            standing: self.standing,
            counts: self.counts,
            down: self.down.mean(),
            up: self.up.mean(),
            round_trip: self.path.round_trip(),
            lag: self.lag(),
            hold: self.hold,
        }
    }

    pub(crate) fn view(&self, peer: PeerId, heartbeat: Span) -> ClientView {
        ClientView {
            peer,
            up: self.known.up.or_else(|| self.up.high(DelayMargin::Adaptive)),
            last_sent: self.last_sent.map(|(_, at)| at),
            gap: self.known.gap.or_else(|| self.gap.low(DelayMargin::Adaptive)),
            promise: self.promise.map(|promise| promise.at),
            lag: self.patience(heartbeat),
        }
    }

    /// The estimated delay of updates to it, on the safe side.
    pub(crate) fn down(&self) -> Option<Span> {
        self.known.down.or_else(|| self.down.high(DelayMargin::Widest))
    }

    /// The same, as far as the others wait for it by now: a delay that a client claims is made up for slowly.
    pub(crate) fn made_up_for(&mut self, now: SessionTime, rise: Option<Span>) -> Option<Span> {
        let wanted = self.down()?;
        Some(rise.map_or(wanted, |rise| self.made_up_for.at(now, wanted, rise)))
    }

    /// How long after its virtual sending an action arrives at the latest, but for rare ones.
    pub(crate) fn lag(&self) -> Span {
        if self.lags.len() >= LAGS_MIN {
            return self.lag;
        }
        self.path.longest().unwrap_or(Span::ZERO).max(self.lag)
    }

    /// How far away it is, once that is measured: it decides whether it can be waited for at all, and how long updates may be
    /// held. With Sync-out, updates are held for one way and actions for the other, and how late its actions are depends on
    /// whether it is waited for. While few actions are known, one slow answer proves nothing.
    pub(crate) fn distance(&self, sync_out: bool) -> Option<Span> {
        let (least, _) = self.path.round_trip()?;
        Some(match sync_out {
            true => least.part(2),
            false if self.lags.len() >= LAGS_MIN => self.lag,
            false => least,
        })
    }

    /// How long the others wait for it: a packet that is lost is repeated by the next.
    fn patience(&self, heartbeat: Span) -> Span {
        self.lag() + heartbeat + heartbeat.part(2)
    }

    /// Whether it has sent nothing for longer than others wait for it, or does not answer.
    pub(crate) fn is_silent(&self, now: SessionTime, heartbeat: Span) -> bool {
        if self.path.is_mute(now) {
            return true;
        }
        let patience = self.patience(heartbeat).max(heartbeat.times(3));
        self.heard_at.is_some_and(|at| now - at > patience)
    }

    /// Notes that a packet arrived.
    pub(crate) const fn hear(&mut self, now: SessionTime) {
        self.heard_at = Some(now);
    }

    /// Forgets the silence of a pause in which nobody was asked to be heard.
    pub(crate) const fn resume(&mut self, now: SessionTime) {
        self.hear(now);
        self.path.resume();
    }

    /// Whether too much of it waits.
    pub(crate) const fn is_crowded(&self) -> bool {
        self.waiting > WAITING_MAX || self.waiting_bytes > WAITING_BYTES_MAX
    }

    /// Returns whether that changes anything.
    pub(crate) fn set_standing(&mut self, standing: Standing) -> bool {
        core::mem::replace(&mut self.standing, standing) != standing
    }

    /// Notes how long an update took, as the client claims.
    pub(crate) fn on_heard(&mut self, update: u32, delay: Span) {
        let Some(logged) = self.log.get(update) else { return };
        self.heard_from = Some(self.heard_from.map_or(update, |first| first.min(update)));
        let delay = self.path.possible(delay);
        // One that was lost and sent again says nothing about the path, unless it is the rule.
        let is_slow = logged.reliable && self.down().is_some_and(|usual| delay > usual);
        self.slow = if is_slow { self.slow + 1 } else { 0 };
        if self.slow == 0 || self.slow >= SLOW_MIN {
            self.down.sample(delay);
        }
    }

    /// Notes a promise. It counts once all actions before it have come, or are given up. One that looks farther ahead than
    /// honest clients do counts as if it did not.
    pub(crate) fn on_promise(
        &mut self,
        now: SessionTime,
        next: u32,
        place: SessionTime,
        PromiseRules { repeats, heartbeat, foresight }: PromiseRules,
    ) {
        let place = place.min(now + foresight);
        let is_complete = (next.saturating_sub(repeats)..next).all(|seq| self.received.has(seq));
        if !is_complete {
            let since = *self.incomplete_since.get_or_insert(now);
            if now - since <= heartbeat.times(i64::from(repeats) + 1) {
                return;
            }
        }
        self.incomplete_since = None;
        let is_newer = |old: Promise| old.next <= next && old.at < place;
        if self.promise.is_none_or(is_newer) {
            self.promise = Some(Promise { next, at: place });
        }
    }

    /// The place of a moment that a client claims, if the update is known.
    pub(crate) fn moment(&self, update: u32, elapsed: Span) -> Option<SessionTime> {
        self.log.get(update).map(|logged| logged.stamp + elapsed)
    }

    /// Where an action belongs that has just arrived, by its tags as far as they are possible.
    pub(crate) fn place(&mut self, now: SessionTime, action: &ActionFrame<'_>, tag: Tag) -> Placed {
        let virtual_at = self.virtual_place(now, action);
        let sent = action.sent.map(|sent| now - self.path.possible(now - sent));
        if let Some(sent) = sent {
            self.sample_sent(now, action.seq, sent);
        }
        let at = match tag {
            Tag::Virtual => virtual_at,
            Tag::Sent => sent.unwrap_or(now),
        };
        Placed { at, virtual_at, held: self.held(action) }
    }

    /// How long Sync-out held back the update that an action reacts to.
    fn held(&self, action: &ActionFrame<'_>) -> Span {
        let update = action.reaction.and_then(|moment| self.log.get(moment.update));
        let hold = update.map_or(Span::ZERO, |logged| logged.hold);
        // Without a session time, a client shows updates on arrival.
        self.down.mean().map_or(Span::ZERO, |down| (hold - down).max(Span::ZERO))
    }

    fn virtual_place(&mut self, now: SessionTime, action: &ActionFrame<'_>) -> SessionTime {
        let update = action.reaction.and_then(|moment| self.log.get(moment.update).zip(Some(moment)));
        // Whoever has seen nothing has reacted to nothing: it takes its place in the order of arrival.
        let Some((logged, moment)) = update else { return now };
        let claimed = now - (logged.stamp + moment.elapsed);
        // Without a session time, a client shows updates on arrival, and cannot tell how long they took.
        let is_held = self.heard_from.is_some_and(|first| first <= moment.update);
        let hold = if is_held { logged.hold } else { Span::ZERO };
        let checked = self.path.checked(claimed, hold);
        self.counts.clamped += u64::from(checked != claimed);
        let promised = self.promise.filter(|promise| promise.next <= action.seq).map(|promise| promise.at);
        let before = self.last_placed.filter(|(seq, _)| *seq < action.seq).map(|(_, at)| at);
        // Nothing is later than it is: one that claims to be would make everybody else's actions late.
        let place = (now - checked).max(promised.max(before).unwrap_or(SessionTime::MIN)).min(now);
        if self.last_placed.is_none_or(|(seq, _)| seq < action.seq) {
            self.last_placed = Some((action.seq, place));
        }
        self.lags.push(now - place);
        if self.lags.is_due() {
            let high = self.lags.high(LAGS_ABOVE).unwrap_or(Span::ZERO);
            self.lag = high + (high - self.lags.least().unwrap_or(high)).part(2);
        }
        place
    }

    fn sample_sent(&mut self, now: SessionTime, seq: u32, sent: SessionTime) {
        self.up.sample(now - sent);
        if let Some((last, at)) = self.last_sent {
            if last >= seq {
                return;
            }
            if last + 1 == seq {
                self.gap.sample(sent - at);
            }
        }
        self.last_sent = Some((seq, sent));
    }
}
