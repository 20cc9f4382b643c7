//! A price, not a quota: the budget is saved up, and a message is sent when it is worth more than the price.
//!
//! So bursts in a turn are paid for by savings from straights. The price rises while the bucket is less than half full and
//! falls while it is fuller, except when the worst off get all that they can use. The surplus then stays unspent, because it
//! could only go to receivers that are better off already.

/// Capacity of a bucket per entity, in budgets of a trigger: the extra messages that a turn takes over a straight.
const BUCKET_TRIGGERS: f64 = 30.0;
/// The smallest capacity of a bucket, so that a small budget can be spent.
const CAPACITY_MIN: f64 = 4.0;

/// How far the logarithm of the price rises for an empty bucket, and falls for a full one.
const SWING: f64 = 1.4;
/// How far it moves permanently after a trigger with an empty bucket.
const PACE: f64 = 0.016;
/// At the n-th trigger it moves by 1/n of this instead, if that is more.
const HASTE: f64 = 1.0;
/// The share of triggers with a refusal of one of the worst off below which the price does not fall.
const REFUSED_MIN: f64 = 0.05;
/// The number of triggers over which refusals are averaged.
const REFUSALS: f64 = 30.0;

/// The number of messages that can be saved up.
pub(super) fn capacity(budget: f64, entities: usize) -> f64 {
    (BUCKET_TRIGGERS * budget * entities as f64).max(CAPACITY_MIN)
}

/// Messages that may be sent. Each trigger adds some, up to a capacity.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Bucket {
    tokens: f64,
    capacity: f64,
}

impl Bucket {
    /// Adds the budget of a trigger.
    pub(super) fn pay_in(&mut self, budget: f64, entities: usize) {
        let first = self.capacity == 0.0;
        self.capacity = capacity(budget, entities);
        let tokens = if first { 0.5 * self.capacity } else { self.tokens + budget };
        self.tokens = tokens.min(self.capacity);
    }

    pub(super) fn has_one(&self) -> bool {
        self.tokens >= 1.0
    }

    pub(super) fn take_one(&mut self) {
        self.tokens -= 1.0;
    }

    /// What is missing to a half full bucket, as a fraction of half the capacity: 1 when empty, -1 when full.
    pub(super) fn lack(&self) -> f64 {
        let half = 0.5 * self.capacity;
        if half > 0.0 { ((half - self.tokens) / half).clamp(-1.0, 1.0) } else { 0.0 }
    }
}

/// The worth that a message needs to be sent, in units x seconds of error saved.
#[derive(Clone, Copy, Debug)]
pub(super) struct Price {
    /// Its logarithm with a half full bucket.
    log: f64,
    /// The share of recent triggers in which one of the worst off was refused.
    refused: f64,
    triggers: u64,
}

impl Default for Price {
    fn default() -> Self {
        Self { log: 0.0, refused: 1.0, triggers: 0 }
    }
}

impl Price {
    /// Sets a first price, before the first trigger.
    pub(super) fn guess(&mut self, price: f64) {
        if self.triggers == 0 {
            self.log = libm::log(price);
        }
    }

    /// The price with this bucket.
    pub(super) fn with(&self, bucket: &Bucket) -> f64 {
        libm::exp(self.log + SWING * bucket.lack())
    }

    /// Adapts after a trigger, at which one of the worst off was refused or not.
    pub(super) fn adapt(&mut self, bucket: &Bucket, refused: bool, entities: usize) {
        self.triggers += 1;
        let entities = entities.max(1) as f64;
        self.refused += (f64::from(u8::from(refused)) - self.refused) / (REFUSALS * entities);
        // The first guess may be far off, so the price moves faster at first.
        let pace = (PACE / entities).max((HASTE / self.triggers as f64).min(0.5));
        let step = pace * bucket.lack();
        if step > 0.0 || self.refused >= REFUSED_MIN {
            self.log += step;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spend(bucket: &mut Bucket, most: usize) -> usize {
        (0..most).take_while(|_| bucket.has_one().then(|| bucket.take_one()).is_some()).count()
    }

    #[test]
    fn a_bucket_begins_half_full_and_never_overflows() {
        let mut bucket = Bucket::default();
        bucket.pay_in(1.0, 1);
        assert_eq!(bucket.lack(), 0.0);
        (0..1_000).for_each(|_| bucket.pay_in(1.0, 1));
        assert_eq!(bucket.lack(), -1.0);
        assert_eq!(spend(&mut bucket, 1_000) as f64, BUCKET_TRIGGERS);
        assert!(!bucket.has_one() && bucket.lack() > 0.9);
    }

    #[test]
    fn the_smallest_budget_is_eventually_spent() {
        let mut bucket = Bucket::default();
        let mut sent = 0;
        for _ in 0..10_000 {
            bucket.pay_in(0.01, 1);
            sent += spend(&mut bucket, 10);
        }
        assert!((100..=102).contains(&sent), "{sent}");
    }

    #[test]
    fn the_price_rises_when_the_bucket_is_empty_and_falls_when_it_is_full() {
        let (mut price, mut bucket) = (Price::default(), Bucket::default());
        bucket.pay_in(1.0, 1);
        let half = price.with(&bucket);
        spend(&mut bucket, 1_000);
        assert!(price.with(&bucket) > half);
        (0..50).for_each(|_| price.adapt(&bucket, true, 1));
        (0..1_000).for_each(|_| bucket.pay_in(1.0, 1));
        let risen = price.with(&bucket);
        (0..500).for_each(|_| price.adapt(&bucket, true, 1));
        assert!(price.with(&bucket) < risen);
    }

    #[test]
    fn a_surplus_stays_unspent_when_none_of_the_worst_off_is_refused() {
        let (mut price, mut bucket) = (Price::default(), Bucket::default());
        (0..1_000).for_each(|_| bucket.pay_in(1.0, 1));
        (0..200).for_each(|_| price.adapt(&bucket, false, 1));
        let before = price.with(&bucket);
        (0..200).for_each(|_| price.adapt(&bucket, false, 1));
        assert_eq!(price.with(&bucket), before);
        (0..200).for_each(|_| price.adapt(&bucket, true, 1));
        assert!(price.with(&bucket) < before);
    }
}
