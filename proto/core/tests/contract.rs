//! The contract check catches machines that break the contract and passes those that keep it.

use std::panic::{AssertUnwindSafe, catch_unwind};

use evenkeel_core::contract::check;
use evenkeel_core::{Channel, Endpoint, LocalTime, Malformed, PeerChange, PeerId, Rejected, Span};

/// A way to break the contract.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Fault {
    None,
    /// A timeout that was handled stays due.
    Spins,
    /// Draining never ends.
    Chatters,
    /// A rejected message changes what the machine transmits.
    RemembersRejected,
    /// A rejected message changes the timeout.
    WakesForRejected,
    /// What the machine transmits depends on more than its calls.
    Erratic,
}

/// Sends the number of accepted messages to each peer that joins, leaves or is named in a command.
struct Counter {
    fault: Fault,
    accepted: u64,
    recipients: Vec<PeerId>,
    wake: Option<LocalTime>,
    secret: u64,
}

impl Counter {
    fn new(fault: Fault, secret: u64) -> Self {
        Self { fault, accepted: 0, recipients: Vec::new(), wake: None, secret }
    }
}

impl Endpoint for Counter {
    type Command = PeerId;
    type Event = ();

    fn handle_command(&mut self, now: LocalTime, command: PeerId) {
        self.recipients.push(command);
        self.wake.get_or_insert(now + Span::from_millis(50));
    }

    fn handle_message(&mut self, _: LocalTime, _: PeerId, _: Channel, bytes: &[u8]) -> Result<(), Rejected> {
        if bytes.len() != 8 {
            match self.fault {
                Fault::RemembersRejected => self.accepted += 1,
                Fault::WakesForRejected => self.wake = Some(LocalTime::MAX),
                _ => {}
            }
            return Err(Rejected::Malformed(Malformed::Truncated));
        }
        self.accepted += 1;
        Ok(())
    }

    fn handle_peer(&mut self, _: LocalTime, change: PeerChange) {
        self.recipients.push(change.peer());
    }

    fn handle_timeout(&mut self, now: LocalTime) {
        if self.fault != Fault::Spins && self.wake.is_some_and(|wake| wake <= now) {
            self.wake = None;
        }
    }

    fn poll_transmit(&mut self, _: LocalTime, bytes: &mut Vec<u8>) -> Option<(PeerId, Channel)> {
        let to = self.recipients.pop().or_else(|| (self.fault == Fault::Chatters).then_some(PeerId(0)))?;
        let number = if self.fault == Fault::Erratic { self.secret } else { self.accepted };
        bytes.clear();
        bytes.extend_from_slice(&number.to_le_bytes());
        Some((to, Channel::Datagram))
    }

    fn poll_event(&mut self) -> Option<()> {
        None
    }

    fn poll_timeout(&self) -> Option<LocalTime> {
        self.wake
    }
}

/// Runs the check on machines with this fault; an error is the message of its panic.
fn verdict(fault: Fault) -> Result<(), String> {
    let made = core::cell::Cell::new(0);
    let build = |_| {
        made.set(made.get() + 1);
        Counter::new(fault, made.get())
    };
    let run = || check(1, 1_000, 3, build, |_, draws| PeerId(draws.below(3) as u32));
    catch_unwind(AssertUnwindSafe(run)).map_err(|panic| {
        panic.downcast::<String>().map_or_else(|_| "a panic without a message".to_owned(), |text| *text)
    })
}

#[test]
fn a_machine_that_keeps_the_contract_passes() {
    assert_eq!(verdict(Fault::None), Ok(()));
}

#[track_caller]
fn caught(fault: Fault, expected: &str) {
    let message = verdict(fault).expect_err("the fault is caught");
    assert!(message.contains(expected), "{fault:?}: {message}");
}

#[test]
fn a_timeout_that_stays_due_after_it_was_handled_is_caught() {
    caught(Fault::Spins, "still wants it");
}

#[test]
fn endless_transmitting_is_caught() {
    caught(Fault::Chatters, "never stops transmitting");
}

#[test]
fn a_rejection_that_changes_the_state_is_caught() {
    caught(Fault::RemembersRejected, "transmit different bytes");
    caught(Fault::WakesForRejected, "want different timeouts");
}

#[test]
fn dependence_on_more_than_the_calls_is_caught() {
    caught(Fault::Erratic, "transmit different bytes");
}
