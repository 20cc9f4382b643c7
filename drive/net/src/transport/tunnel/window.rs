//! Congestion control with a floor.
//!
//! A game's datagrams have a rate of their own, which no congestion control changes: where they are held back they are worth
//! nothing. After losses QUIC's window shrinks to two packets per round trip, fewer than many games send. So the window never
//! shrinks below what an ordinary game needs; what goes beyond, such as a forwarded TCP port, still makes way for others.

use std::any::Any;
use std::sync::Arc;
use std::time::Instant;

use quinn::congestion::{Controller, ControllerFactory, ControllerMetrics, CubicConfig};
use quinn_proto::RttEstimator;

/// Bytes per round trip: 27 packets, or 110 packets per second at a round trip of 240 ms.
const WINDOW_MIN: u64 = 32 * 1024;

/// Builds controllers: Cubic with a floor.
#[derive(Debug)]
pub(super) struct WindowFloor;

impl ControllerFactory for WindowFloor {
    fn build(self: Arc<Self>, now: Instant, current_mtu: u16) -> Box<dyn Controller> {
        Box::new(FlooredController(Arc::new(CubicConfig::default()).build(now, current_mtu)))
    }
}

struct FlooredController(Box<dyn Controller>);

impl Controller for FlooredController {
    fn on_sent(&mut self, now: Instant, bytes: u64, last_packet_number: u64) {
        self.0.on_sent(now, bytes, last_packet_number);
    }

    fn on_ack(&mut self, now: Instant, sent: Instant, bytes: u64, app_limited: bool, rtt: &RttEstimator) {
        self.0.on_ack(now, sent, bytes, app_limited, rtt);
    }

    fn on_end_acks(&mut self, now: Instant, in_flight: u64, app_limited: bool, largest: Option<u64>) {
        self.0.on_end_acks(now, in_flight, app_limited, largest);
    }

    fn on_congestion_event(&mut self, now: Instant, sent: Instant, is_persistent: bool, lost_bytes: u64) {
        self.0.on_congestion_event(now, sent, is_persistent, lost_bytes);
    }

    fn on_mtu_update(&mut self, new_mtu: u16) {
        self.0.on_mtu_update(new_mtu);
    }

    fn window(&self) -> u64 {
        self.0.window().max(WINDOW_MIN)
    }

    fn metrics(&self) -> ControllerMetrics {
        self.0.metrics()
    }

    fn clone_box(&self) -> Box<dyn Controller> {
        Box::new(Self(self.0.clone_box()))
    }

    fn initial_window(&self) -> u64 {
        self.0.initial_window().max(WINDOW_MIN)
    }

    fn into_any(self: Box<Self>) -> Box<dyn Any> {
        self
    }
}
