//! The contract check finds machines that break the contract, and leaves those alone that keep it.

use std::panic::{AssertUnwindSafe, catch_unwind};

use evenkeel_core::contract::check;
use evenkeel_core::{Channel, Endpoint, LocalTime, Malformed, PeerChange, PeerId, Rejected, Span};

/// What is wrong with a machine.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Fault {
    None,
    /// A timeout that was handled stays due.
    Spins,
    /// It never runs out of things to send.
    Chatters,
    /// What it rejects changes what it says afterwards.
    RemembersRejected,
    /// What it rejects changes when it wants to be woken.
    WakesForRejected,
    /// What it says depends on where in memory it is, which no call told it.
    Erratic,
}

/// Says how many messages it has taken whenever it is told of a peer or a timeout, once to each.
struct Counter {
    fault: Fault,
    taken: u64,
    say_to: Vec<PeerId>,
    wake: Option<LocalTime>,
    secret: u64,
}

impl Counter {
    fn new(fault: Fault, secret: u64) -> Self {
        Self { fault, taken: 0, say_to: Vec::new(), wake: None, secret }
    }
}

impl Endpoint for Counter {
    type Command = PeerId;
    type Event = ();

    fn handle_command(&mut self, now: LocalTime, command: PeerId) {
        self.say_to.push(command);
        self.wake.get_or_insert(now + Span::from_millis(50));
    }

    fn handle_message(&mut self, _: LocalTime, _: PeerId, _: Channel, bytes: &[u8]) -> Result<(), Rejected> {
        if bytes.len() != 8 {
            match self.fault {
                Fault::RemembersRejected => self.taken += 1,
                Fault::WakesForRejected => self.wake = Some(LocalTime::MAX),
                _ => {}
            }
            return Err(Rejected::Malformed(Malformed::Truncated));
        }
        self.taken += 1;
        Ok(())
    }

    fn handle_peer(&mut self, _: LocalTime, change: PeerChange) {
        self.say_to.push(change.peer());
    }

    fn handle_timeout(&mut self, now: LocalTime) {
        if self.fault != Fault::Spins && self.wake.is_some_and(|wake| wake <= now) {
            self.wake = None;
        }
    }

    fn poll_transmit(&mut self, _: LocalTime, bytes: &mut Vec<u8>) -> Option<(PeerId, Channel)> {
        let to = self.say_to.pop().or_else(|| (self.fault == Fault::Chatters).then_some(PeerId(0)))?;
        let said = if self.fault == Fault::Erratic { self.secret } else { self.taken };
        bytes.clear();
        bytes.extend_from_slice(&said.to_le_bytes());
        Some((to, Channel::Datagram))
    }

    fn poll_event(&mut self) -> Option<()> {
        None
    }

    fn poll_timeout(&self) -> Option<LocalTime> {
        self.wake
    }
}

/// What the check says of machines with this fault.
fn verdict(fault: Fault) -> Result<(), String> {
    let made = core::cell::Cell::new(0);
    let build = |_| {
        made.set(made.get() + 1);
        Counter::new(fault, made.get())
    };
    let run = || check(1, 1_000, 3, build, |_, draws| PeerId(draws.below(3) as u32));
    catch_unwind(AssertUnwindSafe(run)).map_err(|panic| {
        panic.downcast::<String>().map_or_else(|_| "a panic without words".to_owned(), |text| *text)
    })
}

#[test]
fn a_machine_that_keeps_the_contract_passes() {
    assert_eq!(verdict(Fault::None), Ok(()));
}

#[track_caller]
fn caught(fault: Fault, complaint: &str) {
    let complained = verdict(fault).expect_err("the fault is found");
    assert!(complained.contains(complaint), "{fault:?}: {complained}");
}

#[test]
fn a_machine_that_wants_a_timeout_again_that_it_was_told_of_is_caught() {
    caught(Fault::Spins, "wants it again");
}

#[test]
fn a_machine_that_never_stops_transmitting_is_caught() {
    caught(Fault::Chatters, "never stops transmitting");
}

#[test]
fn a_machine_that_changes_its_state_when_it_rejects_is_caught() {
    caught(Fault::RemembersRejected, "transmit different bytes");
    caught(Fault::WakesForRejected, "wake at different times");
}

#[test]
fn a_machine_that_depends_on_more_than_its_calls_is_caught() {
    caught(Fault::Erratic, "transmit different bytes");
}
