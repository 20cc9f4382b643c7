//! The last actions, which later packets repeat: one lost packet costs nothing.

use std::collections::VecDeque;

use evenkeel_core::SessionTime;

use crate::message::{ActionFrame, Frame, Moment, OVERHEAD_MAX, Part};

/// Actions that are repeated at a time, the newest.
const REPEATED_MAX: usize = 16;

/// An action that has been sent.
#[derive(Clone, Debug)]
pub(super) struct Sent {
    pub(super) seq: u32,
    pub(super) reaction: Option<Moment>,
    pub(super) sent: Option<SessionTime>,
    pub(super) bytes: Vec<u8>,
    /// How many more packets repeat it.
    pub(super) repeats: u32,
}

impl Sent {
    /// The frame of a part of it.
    pub(super) const fn frame<'a>(&self, part: Part, payload: &'a [u8]) -> Frame<'a> {
        let Self { seq, reaction, sent, .. } = *self;
        Frame::Action(ActionFrame { seq, reaction, sent, part, payload })
    }

    /// The frame of all of it.
    pub(super) fn whole(&self) -> Frame<'_> {
        self.frame(Part::WHOLE, &self.bytes)
    }
}

/// Actions that packets still repeat, oldest first.
#[derive(Clone, Debug, Default)]
pub(super) struct SentActions {
    actions: VecDeque<Sent>,
}

impl SentActions {
    pub(super) fn push(&mut self, action: Sent) {
        if self.actions.len() == REPEATED_MAX {
            self.actions.pop_front();
        }
        self.actions.push_back(action);
    }

    /// Repeats, newest first, the actions that fit beside the new one, which the packet holds anyway.
    pub(super) fn repeat(&mut self, room: usize, new: Option<u32>, mut emit: impl FnMut(&Sent)) {
        let mut room = room;
        for action in self.actions.iter_mut().rev() {
            let len = action.bytes.len() + OVERHEAD_MAX;
            if Some(action.seq) == new {
                room = room.saturating_sub(len);
                continue;
            }
            if action.repeats == 0 || len > room {
                continue;
            }
            room -= len;
            action.repeats -= 1;
            emit(action);
        }
        while self.actions.front().is_some_and(|action| action.repeats == 0) {
            self.actions.pop_front();
        }
    }
}
