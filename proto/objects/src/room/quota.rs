//! What one player may ask of a room, and what was refused.

use evenkeel_core::LocalTime;

/// What a player may do. Beyond, datagrams count as lost, and calls and objects are refused.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Quotas {
    /// Objects that a player has created and that still exist, whoever owns them now. What the server's game
    /// [gives](super::ObjectRoom::give) to somebody counts no more.
    pub objects: usize,
    /// New objects per second; as many as `objects` at once.
    pub births_per_second: f64,
    /// Changes of fields per second, and twice as many at once.
    pub changes_per_second: f64,
    /// Messages, and objects passed on or destroyed, per second: each counted once for each player who is told, and twice as many
    /// at once.
    pub deliveries_per_second: f64,
    /// Bytes of messages per second, counted alike.
    pub delivered_bytes_per_second: f64,
}

impl Default for Quotas {
    fn default() -> Self {
        Self {
            objects: 256,
            births_per_second: 32.0,
            changes_per_second: 4_000.0,
            deliveries_per_second: 4_000.0,
            delivered_bytes_per_second: 1_000_000.0,
        }
    }
}

/// What was refused to a player. Nobody else notices.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Refusals {
    /// Fields and objects that are not the player's to change.
    pub foreign: u64,
    /// Objects under names that are taken or not the player's to give.
    pub names: u64,
    /// Objects beyond a quota, and objects passed on too often.
    pub objects: u64,
    /// Packets of changes beyond a quota.
    pub changes: u64,
    /// Messages beyond a quota, to a receiver for whom too many of the player's wait, or to an object's scope that is not the
    /// player's.
    pub calls: u64,
    /// Times that a player's place, from which it looks, moved faster than it may.
    pub leaps: u64,
}

impl Refusals {
    /// All of them.
    #[must_use]
    pub const fn total(&self) -> u64 {
        self.foreign + self.names + self.objects + self.changes + self.calls + self.leaps
    }
}

/// What remains of a quota.
#[derive(Clone, Copy, Debug, Default)]
struct Bucket {
    used: f64,
    at: LocalTime,
}

impl Bucket {
    /// Takes tokens if that many are left of `burst`.
    fn take(&mut self, now: LocalTime, amount: f64, per_second: f64, burst: f64) -> bool {
        let seconds = (now - self.at).as_secs_f64().max(0.0);
        self.at = now;
        self.used = (self.used - seconds * per_second).max(0.0);
        let is_within = self.used + amount <= burst;
        if is_within {
            self.used += amount;
        }
        is_within
    }

    /// Takes tokens, whether they are left or not.
    fn spend(&mut self, now: LocalTime, amount: f64, per_second: f64) {
        self.take(now, amount, per_second, f64::INFINITY);
    }
}

/// What a player has used of its quotas.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Usage {
    births: Bucket,
    changes: Bucket,
    deliveries: Bucket,
    bytes: Bucket,
}

impl Usage {
    pub(crate) fn birth(&mut self, now: LocalTime, quotas: &Quotas) -> bool {
        self.births.take(now, 1.0, quotas.births_per_second, quotas.objects as f64)
    }

    pub(crate) fn changes(&mut self, now: LocalTime, count: usize, quotas: &Quotas) -> bool {
        let (per_second, burst) = (quotas.changes_per_second, 2.0 * quotas.changes_per_second);
        // A packet of more than that would be sent again and again: it takes all there is.
        self.changes.take(now, (count as f64).min(burst), per_second, burst)
    }

    /// Charges news of an object that cannot be refused.
    pub(crate) fn news(&mut self, now: LocalTime, receivers: usize, quotas: &Quotas) {
        self.deliveries.spend(now, receivers as f64, quotas.deliveries_per_second);
    }

    pub(crate) fn delivery(&mut self, now: LocalTime, receivers: usize, len: usize, quotas: &Quotas) -> bool {
        let (calls, bytes) = (quotas.deliveries_per_second, quotas.delivered_bytes_per_second);
        let receivers = receivers.max(1) as f64;
        self.deliveries.take(now, receivers, calls, 2.0 * calls)
            && self.bytes.take(now, receivers * (len + 32) as f64, bytes, 2.0 * bytes)
    }
}
