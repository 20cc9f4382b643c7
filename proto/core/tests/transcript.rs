//! Transcripts: recording and reading back, exact replay, and damage that is rejected or replayed up to that
//! point but never goes unnoticed.

use evenkeel_core::transcript::{Call, Record, Recorder, ReplayError, Transcript, replay};
use evenkeel_core::{
    Channel, Endpoint, LocalTime, Malformed, PeerChange, PeerId, Reader, Rejected, Span, Wire,
};

/// Sums up its inputs and answers each command, message and timeout with the sum.
#[derive(Default)]
struct Adder {
    sum: u64,
    /// Added to every answer, to make one machine differ from another.
    bias: u64,
    answer: Option<PeerId>,
    wake: Option<LocalTime>,
}

/// A number to add.
#[derive(Clone, PartialEq, Debug)]
struct Plus(u64);

impl Wire for Plus {
    fn emit(&self, bytes: &mut Vec<u8>) {
        self.0.emit(bytes);
    }
    fn parse(reader: &mut Reader<'_>) -> Result<Self, Malformed> {
        Ok(Self(reader.read()?))
    }
}

impl Endpoint for Adder {
    type Command = Plus;
    type Event = ();

    fn handle_command(&mut self, now: LocalTime, command: Plus) {
        self.sum += command.0;
        self.answer = Some(PeerId(1));
        self.wake = Some(now + Span::from_secs(1));
    }

    fn handle_message(
        &mut self,
        _: LocalTime,
        from: PeerId,
        _: Channel,
        bytes: &[u8],
    ) -> Result<(), Rejected> {
        let mut reader = Reader::new(bytes);
        let number = reader.read::<u64>()?;
        reader.finish()?;
        (self.sum, self.answer) = (self.sum.wrapping_add(number), Some(from));
        Ok(())
    }

    fn handle_peer(&mut self, _: LocalTime, change: PeerChange) {
        self.sum += u64::from(change.peer().0);
    }

    fn handle_timeout(&mut self, now: LocalTime) {
        if self.wake.is_some_and(|wake| wake <= now) {
            (self.wake, self.answer) = (None, Some(PeerId(2)));
        }
    }

    fn poll_transmit(&mut self, _: LocalTime, bytes: &mut Vec<u8>) -> Option<(PeerId, Channel)> {
        bytes.clear();
        (self.sum + self.bias).emit(bytes);
        self.answer.take().map(|to| (to, Channel::Reliable))
    }

    fn poll_event(&mut self) -> Option<()> {
        None
    }

    fn poll_timeout(&self) -> Option<LocalTime> {
        self.wake
    }
}

fn at(millis: i64) -> LocalTime {
    LocalTime::default() + Span::from_millis(millis)
}

fn answer(sum: u64) -> Vec<u8> {
    sum.to_le_bytes().to_vec()
}

/// Records a session of one machine with every kind of record. The machine rejects the last message.
fn session() -> Vec<u8> {
    let mut recorder = Recorder::new(b"as configured", 77);
    recorder.peer(5, at(0), PeerChange::Joined { peer: PeerId(3), datagram_max: 1200 });
    recorder.command(5, at(10), &Plus(4));
    recorder.transmit(PeerId(1), Channel::Reliable, &answer(7));
    let mut bytes = recorder.take();
    recorder.message(5, at(20), PeerId(3), Channel::Datagram, &answer(10));
    recorder.transmit(PeerId(3), Channel::Reliable, &answer(17));
    recorder.message(5, at(30), PeerId(3), Channel::Datagram, b"accepted");
    recorder.transmit(PeerId(3), Channel::Reliable, &answer(17 + u64::from_le_bytes(*b"accepted")));
    recorder.message(5, at(31), PeerId(3), Channel::Datagram, b"too short");
    recorder.timeout(5, at(1_010));
    recorder.transmit(PeerId(2), Channel::Reliable, &answer(17 + u64::from_le_bytes(*b"accepted")));
    recorder.peer(5, at(2_000), PeerChange::Left { peer: PeerId(3) });
    bytes.extend(recorder.take());
    bytes
}

fn records(bytes: &[u8]) -> Result<Vec<Record<'_, Plus>>, Malformed> {
    let mut transcript = Transcript::open(bytes)?;
    let mut records = Vec::new();
    while let Some(record) = transcript.next_record()? {
        records.push(record);
    }
    Ok(records)
}

fn replayed(bytes: &[u8], bias: u64) -> Result<(u64, u64), ReplayError> {
    let damaged = |reason| ReplayError::Damaged { calls: 0, reason };
    let transcript = Transcript::open(bytes).map_err(damaged)?;
    let done = replay(transcript, |_, _| Ok(Adder { bias, ..Adder::default() }))?;
    Ok((done.calls, done.transmits))
}

#[test]
fn records_are_read_back() {
    let bytes = session();
    let transcript = Transcript::open(&bytes).expect("a valid transcript");
    assert_eq!((transcript.config, transcript.seed), (&b"as configured"[..], 77));
    let records = records(&bytes).expect("a complete transcript");
    assert_eq!(records.len(), 11);
    let joined = PeerChange::Joined { peer: PeerId(3), datagram_max: 1200 };
    assert_eq!(records[0], Record::Call { node: 5, now: at(0), call: Call::Peer(joined) });
    assert_eq!(records[1], Record::Call { node: 5, now: at(10), call: Call::Command(Plus(4)) });
    let sent = answer(7);
    assert_eq!(records[2], Record::Transmit { to: PeerId(1), channel: Channel::Reliable, bytes: &sent });
    let message = Call::Message(PeerId(3), Channel::Datagram, b"too short");
    assert_eq!(records[7], Record::Call { node: 5, now: at(31), call: message });
    assert_eq!(records[8], Record::Call { node: 5, now: at(1_010), call: Call::Timeout });
}

#[test]
fn a_fresh_machine_replays_a_transcript() {
    assert_eq!(replayed(&session(), 0), Ok((7, 4)));
}

#[test]
fn a_node_is_built_from_its_own_configuration() {
    let mut recorder = Recorder::new(b"", 0);
    recorder.node(5, &[3]);
    recorder.command(5, at(0), &Plus(1));
    recorder.transmit(PeerId(1), Channel::Reliable, &answer(4));
    let bytes = recorder.take();
    let biased = |config: &[u8]| {
        let bias = config.first().copied().ok_or(Malformed::Truncated)?;
        Ok(Adder { bias: u64::from(bias), ..Adder::default() })
    };
    let open = || Transcript::open(&bytes).expect("a valid transcript");
    assert!(replay(open(), |_, config| biased(config)).is_ok());
    let rejected = replay(open(), |_, _| biased(&[]));
    assert_eq!(rejected, Err(ReplayError::Damaged { calls: 0, reason: Malformed::Truncated }));
}

#[test]
fn a_different_answer_is_found_at_its_call() {
    assert_eq!(replayed(&session(), 1), Err(ReplayError::Diverged { calls: 2, node: 5 }));
}

#[test]
fn an_answer_that_was_not_recorded_is_found() {
    let mut recorder = Recorder::new(b"", 0);
    recorder.command(0, at(0), &Plus(1));
    recorder.timeout(0, at(1));
    assert_eq!(replayed(&recorder.take(), 0), Err(ReplayError::Diverged { calls: 1, node: 0 }));
}

#[test]
fn a_missing_answer_is_found() {
    let mut recorder = Recorder::new(b"", 0);
    recorder.timeout(0, at(1));
    recorder.transmit(PeerId(1), Channel::Reliable, &answer(0));
    assert_eq!(replayed(&recorder.take(), 0), Err(ReplayError::Diverged { calls: 1, node: 0 }));
    let mut recorder = Recorder::new(b"", 0);
    recorder.transmit(PeerId(1), Channel::Reliable, &answer(0));
    assert_eq!(replayed(&recorder.take(), 0), Err(ReplayError::Diverged { calls: 0, node: 0 }));
}

#[test]
fn a_transcript_truncated_anywhere_is_rejected_or_ends_early() {
    let bytes = session();
    let whole = records(&bytes).expect("a complete transcript");
    for len in 0..bytes.len() {
        let cut = &bytes[..len];
        // A cut between two records leaves a shorter transcript.
        match records(cut) {
            Ok(fewer) => assert!(fewer.len() < whole.len() && whole.starts_with(&fewer), "cut at {len}"),
            Err(reason) => assert_eq!(reason, Malformed::Truncated, "cut at {len}"),
        }
        match replayed(cut, 0) {
            Ok((calls, _)) => assert!(calls < 7, "cut at {len}"),
            Err(ReplayError::Damaged { reason, .. }) => assert_eq!(reason, Malformed::Truncated),
            // A cut between a call and its answer.
            Err(ReplayError::Diverged { node, .. }) => assert_eq!(node, 5),
        }
    }
}

#[test]
fn a_flipped_bit_never_panics() {
    let bytes = session();
    for bit in 0..8 * bytes.len() {
        let mut damaged = bytes.clone();
        damaged[bit / 8] ^= 1 << (bit % 8);
        let _ = replayed(&damaged, 0);
    }
}

#[test]
fn foreign_bytes_and_other_versions_are_rejected() {
    let bytes = session();
    assert_eq!(Transcript::open(b"EVKX\x01").err(), Some(Malformed::Field));
    let mut newer = bytes.clone();
    newer[4] = 200;
    assert_eq!(Transcript::open(&newer).err(), Some(Malformed::Version { found: 200, supported: 2 }));
    let mut strange = bytes;
    let tag = 4 + 1 + 4 + b"as configured".len() + 8;
    strange[tag] = 99;
    assert_eq!(records(&strange).err(), Some(Malformed::UnknownTag(99)));
}
