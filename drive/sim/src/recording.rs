//! The transcript of a world.
//!
//! Only commands need to know how to become bytes, and only in worlds that are recorded. So the way to write
//! one is kept as a function, chosen where recording is turned on; worlds of other machines never ask for it.

use evenkeel_core::transcript::Recorder;
use evenkeel_core::{LocalTime, Wire};

use crate::node::NodeId;

#[derive(Debug)]
pub(crate) struct Recording<C> {
    pub(crate) recorder: Recorder,
    emit_command: fn(&mut Recorder, u32, LocalTime, &C),
}

impl<C> Recording<C> {
    pub(crate) fn new(config: &[u8], seed: u64) -> Self
    where
        C: Wire,
    {
        Self { recorder: Recorder::new(config, seed), emit_command: Recorder::command::<C> }
    }

    pub(crate) fn command(&mut self, node: NodeId, now: LocalTime, command: &C) {
        (self.emit_command)(&mut self.recorder, node.0, now, command);
    }
}
