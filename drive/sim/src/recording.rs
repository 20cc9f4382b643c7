//! The transcript of a world.
//!
//! Only commands need serialization, and only in recorded worlds. So the function that writes a command is
//! chosen where recording starts, and worlds that are not recorded do not require `Command: Wire`.

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
