//! A link that takes time to put bytes on the wire.
//!
//! This is the one fault that depends on traffic: who sends more waits longer. Packets are served in the
//! order in which they were sent, and those that find the queue full are dropped at its tail.

use evenkeel_core::Span;

use crate::error::LinkFaultError;
use crate::time::TrueTime;

/// How fast a link takes bytes, and how many may wait.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct RateLimit {
    /// Bytes per second; positive and finite.
    pub bytes_per_s: f64,
    /// The most that may be unsent when a packet joins the queue, itself included; infinite for an endless
    /// queue. A packet that finds the link idle always passes, so a queue of zero means that nothing can
    /// wait.
    pub queue_max_bytes: f64,
}

impl RateLimit {
    /// Checks that the options make sense.
    ///
    /// # Errors
    /// [`LinkFaultError`] names the first field that does not.
    pub fn validate(&self) -> Result<(), LinkFaultError> {
        if !(self.bytes_per_s.is_finite() && self.bytes_per_s > 0.0) {
            return Err(LinkFaultError::Number { field: "rate.bytes_per_s", value: self.bytes_per_s });
        }
        if self.queue_max_bytes.is_nan() || self.queue_max_bytes < 0.0 {
            return Err(LinkFaultError::Number {
                field: "rate.queue_max_bytes",
                value: self.queue_max_bytes,
            });
        }
        Ok(())
    }

    fn service(&self, bytes: usize) -> Span {
        Span::from_secs_f64(bytes as f64 / self.bytes_per_s)
    }
}

/// What waits in front of a link: all it takes to know is when the last byte will be on the wire.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Backlog {
    idle_at: TrueTime,
}

impl Backlog {
    pub(crate) const EMPTY: Self = Self { idle_at: TrueTime::MIN };

    /// Queues a packet: when its last byte is on the wire, or `None` if it finds the queue full.
    pub(crate) fn offer(&mut self, limit: &RateLimit, now: TrueTime, bytes: usize) -> Option<TrueTime> {
        if self.idle_at > now {
            let unsent = (self.idle_at - now).as_secs_f64() * limit.bytes_per_s;
            if unsent + bytes as f64 > limit.queue_max_bytes {
                return None;
            }
        }
        Some(self.append(limit, now, bytes))
    }

    /// Queues a packet whatever waits already: a stream's sender waits rather than loses.
    pub(crate) fn append(&mut self, limit: &RateLimit, now: TrueTime, bytes: usize) -> TrueTime {
        self.idle_at = self.idle_at.max(now) + limit.service(bytes);
        self.idle_at
    }
}
