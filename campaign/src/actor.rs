//! A process that runs a machine: it can be stopped, cut off from the network, replaced, and made to lie.

use std::collections::VecDeque;

use evenkeel_core::{
    Channel, Draws, Endpoint, LocalTime, PeerChange, PeerId, Rejected, SessionTime, earlier,
};

/// Datagrams that the operating system keeps for a stopped process. Further ones are lost.
const SOCKET_MAX: usize = 128;

/// A machine with a session clock.
pub(crate) trait ClockedEndpoint: Endpoint {
    /// The session time at a reading of the local clock.
    fn session(&self, now: LocalTime) -> Option<SessionTime>;
}

/// Changes a message on its way out, as a modified client would.
pub(crate) type Lie = fn(&mut Vec<u8>, Channel, &mut Draws);

/// What the world asks of a process.
pub(crate) enum Order<M: Endpoint> {
    /// The application's command. A stopped application gives none.
    Command(M::Command),
    /// Stops the process until this much later by its clock.
    Stop(LocalTime),
    /// Cuts it off from the network.
    Cut(LocalTime),
    /// Ends stop and cut.
    Resume,
    /// Replaces the machine by a fresh one.
    Restart(Box<M>),
}

/// An event, and the session time at which the machine reported it.
pub(crate) struct Stamped<T> {
    pub(crate) session: Option<SessionTime>,
    pub(crate) event: T,
}

enum Arrival {
    Message(PeerId, Channel, Vec<u8>),
    Peer(PeerChange),
}

pub(crate) struct Actor<M> {
    machine: M,
    now: LocalTime,
    stopped_until: Option<LocalTime>,
    cut_until: Option<LocalTime>,
    inbox: VecDeque<Arrival>,
    /// Reliable messages that wait for the end of a cut.
    outbox: VecDeque<(PeerId, Vec<u8>)>,
    lie: Option<(Lie, Draws)>,
}

impl<M: ClockedEndpoint> Actor<M> {
    pub(crate) fn new(machine: M, lie: Option<(Lie, Draws)>) -> Self {
        Self {
            machine,
            now: LocalTime::MIN,
            stopped_until: None,
            cut_until: None,
            inbox: VecDeque::new(),
            outbox: VecDeque::new(),
            lie,
        }
    }

    pub(crate) fn machine(&self) -> &M {
        &self.machine
    }

    pub(crate) const fn is_stopped(&self) -> bool {
        self.stopped_until.is_some()
    }

    fn waits(&self) -> bool {
        self.stopped_until.is_some() || self.cut_until.is_some()
    }

    /// Handles what has waited: who joined and left once the process runs, and messages once it is not cut off any more, either.
    fn catch_up(&mut self, now: LocalTime) {
        self.stopped_until = self.stopped_until.filter(|until| *until > now);
        self.cut_until = self.cut_until.filter(|until| *until > now);
        if self.stopped_until.is_some() {
            return;
        }
        let is_cut = self.cut_until.is_some();
        for arrival in core::mem::take(&mut self.inbox) {
            match arrival {
                Arrival::Message(..) if is_cut => self.inbox.push_back(arrival),
                Arrival::Message(from, channel, bytes) => {
                    // Counted as rejected by the machine itself.
                    let _ = self.machine.handle_message(now, from, channel, &bytes);
                }
                Arrival::Peer(change) => self.change_peer(now, change),
            }
        }
    }

    /// What a connection has left behind is lost with it.
    fn change_peer(&mut self, now: LocalTime, change: PeerChange) {
        let peer = change.peer();
        self.outbox.retain(|(to, _)| *to != peer);
        self.inbox.retain(|kept| !matches!(kept, Arrival::Message(from, ..) if *from == peer));
        self.machine.handle_peer(now, change);
    }

    fn keep(&mut self, from: PeerId, channel: Channel, bytes: &[u8]) {
        let is_cut = self.cut_until.is_some() && channel == Channel::Datagram;
        if !is_cut && (channel == Channel::Reliable || self.inbox.len() < SOCKET_MAX) {
            self.inbox.push_back(Arrival::Message(from, channel, bytes.to_vec()));
        }
    }
}

impl<M: ClockedEndpoint> Endpoint for Actor<M> {
    type Command = Order<M>;
    type Event = Stamped<M::Event>;

    fn handle_command(&mut self, now: LocalTime, order: Order<M>) {
        self.now = now;
        match order {
            Order::Command(command) if self.stopped_until.is_none() => {
                self.machine.handle_command(now, command);
            }
            Order::Command(_) => {}
            Order::Stop(until) => self.stopped_until = Some(until),
            Order::Cut(until) => self.cut_until = Some(until),
            Order::Resume => {
                (self.stopped_until, self.cut_until) = (None, None);
                self.catch_up(now);
                self.machine.handle_timeout(now);
            }
            Order::Restart(machine) => {
                self.machine = *machine;
                self.inbox.clear();
                self.outbox.clear();
                (self.stopped_until, self.cut_until) = (None, None);
            }
        }
    }

    fn handle_message(
        &mut self,
        now: LocalTime,
        from: PeerId,
        channel: Channel,
        bytes: &[u8],
    ) -> Result<(), Rejected> {
        self.now = now;
        if self.waits() {
            self.keep(from, channel, bytes);
            return Ok(());
        }
        self.machine.handle_message(now, from, channel, bytes)
    }

    fn handle_peer(&mut self, now: LocalTime, change: PeerChange) {
        self.now = now;
        // A driver that is cut off learns of peers all the same: by its own time limits.
        if self.stopped_until.is_some() {
            self.inbox.push_back(Arrival::Peer(change));
        } else {
            self.change_peer(now, change);
        }
    }

    fn handle_timeout(&mut self, now: LocalTime) {
        self.now = now;
        self.catch_up(now);
        if self.stopped_until.is_none() {
            self.machine.handle_timeout(now);
        }
    }

    fn poll_transmit(&mut self, now: LocalTime, bytes: &mut Vec<u8>) -> Option<(PeerId, Channel)> {
        if self.stopped_until.is_some() {
            return None;
        }
        if self.cut_until.is_none()
            && let Some((to, message)) = self.outbox.pop_front()
        {
            *bytes = message;
            return Some((to, Channel::Reliable));
        }
        loop {
            let (to, channel) = self.machine.poll_transmit(now, bytes)?;
            if let Some((lie, draws)) = &mut self.lie {
                lie(bytes, channel, draws);
            }
            if self.cut_until.is_none() {
                return Some((to, channel));
            }
            if channel == Channel::Reliable {
                self.outbox.push_back((to, core::mem::take(bytes)));
            }
        }
    }

    fn poll_event(&mut self) -> Option<Self::Event> {
        // A stopped process shows nothing.
        if self.stopped_until.is_some() {
            return None;
        }
        let event = self.machine.poll_event()?;
        Some(Stamped { session: self.machine.session(self.now), event })
    }

    fn poll_timeout(&self) -> Option<LocalTime> {
        match self.stopped_until {
            Some(until) => Some(until),
            None => earlier(self.cut_until, self.machine.poll_timeout()),
        }
    }
}
