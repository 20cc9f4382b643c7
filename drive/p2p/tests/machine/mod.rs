//! A machine that talks to all its peers: a datagram every 20 ms, which they send back, and a reliable message when they join.

use std::collections::{BTreeMap, VecDeque};

use evenkeel_core::{Channel, Endpoint, LocalTime, PeerChange, PeerId, Rejected, Span};

const EVERY: Span = Span::from_millis(20);
/// Who has not been heard for so long is not heard.
const SILENT: Span = Span::from_millis(500);
const PING: u8 = 0;
const PONG: u8 = 1;
const WELCOME: u8 = 2;

#[derive(Default)]
struct Heard {
    datagram: Option<LocalTime>,
    is_welcome: bool,
}

/// The machine.
#[derive(Default)]
pub(crate) struct Chatter {
    peers: BTreeMap<PeerId, Heard>,
    outbox: VecDeque<(PeerId, Channel, Vec<u8>)>,
    next: Option<LocalTime>,
    now: LocalTime,
    /// Whether it sends what cannot be, too.
    pub(crate) is_rude: bool,
    /// Times that a peer joined.
    pub(crate) joins: u32,
    /// The shortest time until a datagram came back.
    pub(crate) shortest_round_trip: Option<Span>,
}

impl Chatter {
    /// Who has been heard on both channels, the datagrams lately.
    pub(crate) fn heard(&self) -> Vec<PeerId> {
        let is_heard =
            |heard: &Heard| heard.is_welcome && heard.datagram.is_some_and(|at| self.now - at < SILENT);
        self.peers.iter().filter(|(_, heard)| is_heard(heard)).map(|(peer, _)| *peer).collect()
    }
}

impl Endpoint for Chatter {
    type Command = ();
    type Event = ();

    fn handle_command(&mut self, _: LocalTime, (): ()) {}

    fn handle_message(
        &mut self,
        now: LocalTime,
        from: PeerId,
        channel: Channel,
        bytes: &[u8],
    ) -> Result<(), Rejected> {
        self.now = now;
        let heard = self.peers.get_mut(&from).ok_or(Rejected::UnknownPeer)?;
        let (tag, body) = bytes.split_first().ok_or(Rejected::OutOfRange)?;
        match (*tag, channel) {
            (WELCOME, Channel::Reliable) => heard.is_welcome = true,
            (PING, Channel::Datagram) => {
                heard.datagram = Some(now);
                self.outbox.push_back((from, Channel::Datagram, [&[PONG], body].concat()));
            }
            (PONG, Channel::Datagram) => {
                let nanos = i64::from_le_bytes(body.try_into().map_err(|_| Rejected::OutOfRange)?);
                let round_trip = now - LocalTime::from_nanos(nanos);
                self.shortest_round_trip =
                    Some(self.shortest_round_trip.map_or(round_trip, |shortest| shortest.min(round_trip)));
            }
            _ => return Err(Rejected::Unexpected),
        }
        Ok(())
    }

    fn handle_peer(&mut self, now: LocalTime, change: PeerChange) {
        self.now = now;
        self.peers.remove(&change.peer());
        if let PeerChange::Joined { peer, .. } = change {
            self.joins += 1;
            self.peers.insert(peer, Heard::default());
            self.outbox.push_back((peer, Channel::Reliable, vec![WELCOME]));
            self.next.get_or_insert(now);
        }
    }

    fn handle_timeout(&mut self, now: LocalTime) {
        self.now = now;
        if self.next.is_some_and(|next| next <= now) {
            let ping = [&[PING][..], &now.as_nanos().to_le_bytes()].concat();
            self.outbox.extend(self.peers.keys().map(|peer| (*peer, Channel::Datagram, ping.clone())));
            if self.is_rude {
                self.outbox.extend(
                    self.peers.keys().flat_map(|peer| (0..4).map(|_| (*peer, Channel::Datagram, vec![PONG]))),
                );
            }
            self.next = Some(now + EVERY);
        }
    }

    fn poll_transmit(&mut self, _: LocalTime, bytes: &mut Vec<u8>) -> Option<(PeerId, Channel)> {
        let (to, channel, message) = self.outbox.pop_front()?;
        *bytes = message;
        Some((to, channel))
    }

    fn poll_event(&mut self) -> Option<()> {
        None
    }

    fn poll_timeout(&self) -> Option<LocalTime> {
        self.next
    }
}
