//! Sending vectors: now, or when the policy's plan says so.

use std::cmp::Reverse;

use evenkeel_core::SessionTime;
use evenkeel_session::Outbox;

use super::Sender;
use crate::ledger::{Dispatch, Life, Slot};
use crate::message::{EncodedVector, VectorFrame, emit_vector};
use crate::motion::{DrSeq, DrVector};

/// A vector that is held until its sending time. Void if the account holds another one by then.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) struct HeldVector {
    pub(super) dispatch: Dispatch,
    slot: Slot,
    account: u64,
}

impl Sender {
    /// Sends a vector. `last` caches the vector that was sent before.
    pub(super) fn transmit(
        &mut self,
        slot: Slot,
        seq: DrSeq,
        last: &mut Option<EncodedVector>,
        now: SessionTime,
        outbox: &mut Outbox,
    ) {
        let (life, receiver) = self.ledger.names(slot);
        let is_it = |last: &EncodedVector| {
            let VectorFrame { entity, first, seq: known, .. } = *last.frame();
            (Life { entity, first }, known) == (life, seq)
        };
        if !last.as_ref().is_some_and(is_it) {
            *last = self.ledger.frame(life, seq, now).map(|frame| EncodedVector::new(&frame));
        }
        let Some(encoded) = last else { return };
        let frame = encoded.frame();
        let kind = self.ledger.account(slot).kind_as_sent(seq, frame.vector.kind);
        self.confirm(receiver, now, outbox);
        let nonce = if kind == frame.vector.kind {
            outbox.datagram(receiver, |stamp, bytes| encoded.emit(stamp, bytes))
        } else {
            let frame = VectorFrame { vector: DrVector { kind, ..frame.vector }, ..*frame };
            outbox.datagram(receiver, |stamp, bytes| emit_vector(&frame, stamp, bytes))
        };
        let Some(nonce) = nonce else { return }; // The outbox cannot send it.
        self.ledger.dispatch(slot, Dispatch { seq, sent: now }, nonce);
        self.ledger.count_sent(slot);
    }

    /// Holds a vector until its sending time, in place of whatever the account held before.
    pub(super) fn hold(&mut self, slot: Slot, dispatch: Dispatch) {
        self.ledger.account_mut(slot).hold(Some(dispatch));
        self.has_held = true;
        if dispatch.sent == SessionTime::MAX {
            return; // Held until the next trigger, whenever that is.
        }
        self.held.push(Reverse(HeldVector { dispatch, slot, account: self.ledger.id(slot) }));
        // Void vectors stay in the heap until their time. Rebuild it when they are most of it.
        if self.held.len() > 64 + 4 * self.ledger.pair_count {
            let ledger = &self.ledger;
            self.held.retain(|Reverse(held)| ledger.is_held(held.slot, held.account, held.dispatch));
        }
    }

    pub(super) fn send_held(&mut self, now: SessionTime, outbox: &mut Outbox) {
        while let Some(&Reverse(held)) = self.held.peek()
            && held.dispatch.sent <= now
        {
            self.held.pop();
            if self.ledger.is_held(held.slot, held.account, held.dispatch) {
                self.ledger.account_mut(held.slot).hold(None);
                self.transmit(held.slot, held.dispatch.seq, &mut None, now, outbox);
            }
        }
    }
}
