//! The receivers of a sender, by their places: whatever is kept for each receiver can be a plain array.

use std::collections::BTreeMap;

use evenkeel_core::{PeerId, SessionTime};

use super::account::{Account, Outlook};
use super::evidence::Evidence;
use crate::history::History;
use crate::placement::Placement;

/// What the sender knows of one receiver.
#[derive(Clone, Debug)]
pub(crate) struct Link {
    pub(super) peer: PeerId,
    pub(super) evidence: Evidence,
    /// Every arrival up to here has been reported.
    pub(super) known_until: SessionTime,
    /// Settled error over all lives, those that are over included.
    pub(super) settled: f64,
    /// DR vectors sent, introductions not counted.
    pub(super) sent: u64,
    /// Reports that could not be true: of arrivals before the sending or after now, or without the nonce.
    pub(super) clamped: u64,
}

impl Link {
    /// Who.
    pub(crate) const fn peer(&self) -> PeerId {
        self.peer
    }

    /// Settles an account of this receiver as far as is known.
    pub(super) fn settle(
        &mut self,
        account: &mut Account,
        history: &History,
        now: SessionTime,
        placement: Placement,
    ) {
        let before = account.settled_error();
        account.settle(history, &self.outlook(now, placement));
        self.settled += account.settled_error() - before;
    }

    pub(crate) fn outlook(&self, now: SessionTime, placement: Placement) -> Outlook {
        let (under_way, delay) = (self.evidence.claimed().mean(), self.evidence.delay());
        let lost_after = self.evidence.lost_after();
        Outlook { now, under_way, delay, lost_after, known_until: self.known_until, placement, assumed: None }
    }
}

/// All receivers. A place is used again when its receiver has gone.
#[derive(Clone, Debug, Default)]
pub(super) struct Links {
    rows: Vec<Option<Link>>,
    places: BTreeMap<PeerId, u32>,
    free: Vec<u32>,
}

impl Links {
    pub(super) fn place(&self, peer: PeerId) -> Option<u32> {
        self.places.get(&peer).copied()
    }

    pub(super) fn get(&self, peer: PeerId) -> Option<&Link> {
        self.place(peer).map(|place| self.at(place))
    }

    pub(super) fn at(&self, place: u32) -> &Link {
        self.rows[place as usize].as_ref().expect("an account's receiver is here")
    }

    pub(super) fn at_mut(&mut self, place: u32) -> &mut Link {
        self.rows[place as usize].as_mut().expect("an account's receiver is here")
    }

    /// A receiver comes, if it is not here.
    pub(super) fn join(&mut self, peer: PeerId) {
        if self.places.contains_key(&peer) {
            return;
        }
        let place = self.free.pop().unwrap_or_else(|| {
            self.rows.push(None);
            u32::try_from(self.rows.len() - 1).expect("fewer than 2^32 receivers")
        });
        let evidence = Evidence::default();
        let link = Link { peer, evidence, known_until: SessionTime::MIN, settled: 0.0, sent: 0, clamped: 0 };
        self.rows[place as usize] = Some(link);
        self.places.insert(peer, place);
    }

    /// A receiver goes. Gives its place.
    pub(super) fn leave(&mut self, peer: PeerId) -> Option<u32> {
        let place = self.places.remove(&peer)?;
        self.rows[place as usize] = None;
        self.free.push(place);
        Some(place)
    }

    /// Every place, with who is there.
    pub(super) fn rows(&self) -> &[Option<Link>] {
        &self.rows
    }
}
