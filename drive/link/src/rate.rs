//! A link of limited rate with a tail-drop queue.
//!
//! This is the only fault that depends on traffic. Packets are served in the order of sending, and a packet
//! that finds the queue full is dropped.

use evenkeel_core::Span;

use crate::error::LinkFaultError;
use crate::time::TrueTime;

/// The rate of a link and the size of its queue.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct RateLimit {
    /// Bytes per second; positive and finite.
    pub bytes_per_s: f64,
    /// Limit on the unsent bytes when a packet joins the queue, that packet included; may be infinite. A
    /// packet that finds the link idle always passes, so with zero nothing can wait.
    pub queue_max_bytes: f64,
}

impl RateLimit {
    /// Checks the options.
    ///
    /// # Errors
    /// [`LinkFaultError`] names the first invalid field.
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

/// The queue in front of a link, represented by the time when its last byte is on the wire.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Backlog {
    idle_at: TrueTime,
}

impl Backlog {
    pub(crate) const EMPTY: Self = Self { idle_at: TrueTime::MIN };

    /// Queues a packet and returns when its last byte is on the wire, or `None` if the queue is full.
    pub(crate) fn offer(&mut self, limit: &RateLimit, now: TrueTime, bytes: usize) -> Option<TrueTime> {
        if self.idle_at > now {
            let unsent = (self.idle_at - now).as_secs_f64() * limit.bytes_per_s;
            if unsent + bytes as f64 > limit.queue_max_bytes {
                return None;
            }
        }
        Some(self.append(limit, now, bytes))
    }

    /// Queues a packet even if the queue is full, because the sender of a stream waits instead of dropping.
    pub(crate) fn append(&mut self, limit: &RateLimit, now: TrueTime, bytes: usize) -> TrueTime {
        self.idle_at = self.idle_at.max(now) + limit.service(bytes);
        self.idle_at
    }
}
