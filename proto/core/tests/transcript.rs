//! Transcripts: recording and reading back, exact replay, and damage that is rejected or replayed up to that
//! point but never goes unnoticed.

use evenkeel_core::transcript::{Call, Record, Recorder, ReplayError, Transcript, TranscriptError, replay};
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
    bytes.extend(recorder.finish());
    bytes
}

fn records(bytes: &[u8]) -> Result<Vec<Record<'_, Plus>>, TranscriptError> {
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
    let reason = TranscriptError::Record { at: 5, reason: Malformed::Truncated };
    assert_eq!(rejected, Err(ReplayError::Damaged { calls: 0, reason }));
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
fn a_transcript_cut_anywhere_is_known_not_to_be_complete() {
    let bytes = session();
    let replayed = |bytes| {
        let transcript =
            Transcript::open(bytes).map_err(|reason| ReplayError::Damaged { calls: 0, reason })?;
        replay(transcript, |_, _| Ok(Adder::default()))
    };
    assert!(replayed(&bytes).expect("it is whole").is_complete);
    for len in 0..bytes.len() {
        match replayed(&bytes[..len]) {
            // A cut between two blocks leaves a shorter transcript without its end mark.
            Ok(done) => assert!(!done.is_complete, "cut at {len}"),
            Err(ReplayError::Damaged { reason: TranscriptError::CutOff { at }, calls }) => {
                assert!(at <= len as u64 && calls <= 7, "cut at {len}: {at}, {calls} calls");
            }
            Err(ReplayError::Damaged { reason, .. }) => {
                assert_eq!((reason, len < 5), (TranscriptError::Foreign, true), "cut at {len}");
            }
            Err(error) => panic!("cut at {len}: {error}"),
        }
    }
}

#[test]
fn every_flipped_bit_is_found_and_what_precedes_its_block_is_replayed() {
    let bytes = session();
    let mut calls_max = 0;
    for bit in 0..8 * bytes.len() {
        let mut damaged = bytes.clone();
        damaged[bit / 8] ^= 1 << (bit % 8);
        match replayed(&damaged, 0) {
            Err(ReplayError::Damaged {
                calls,
                reason: TranscriptError::Checksum { at } | TranscriptError::CutOff { at },
            }) => {
                assert!(at <= bit as u64 / 8, "bit {bit}: {at}");
                calls_max = calls.max(calls_max);
            }
            Err(ReplayError::Damaged { .. }) if bit < 8 * 5 => {}
            other => panic!("bit {bit}: {other:?}"),
        }
    }
    assert_eq!(calls_max, 7, "damage of the end mark costs nothing else");
}

#[test]
fn foreign_bytes_and_other_versions_are_rejected() {
    let bytes = session();
    assert_eq!(Transcript::open(b"EVKX\x01").err(), Some(TranscriptError::Foreign));
    let mut older = bytes;
    older[4] = 2;
    assert_eq!(Transcript::open(&older).err(), Some(TranscriptError::Version { found: 2, supported: 3 }));
}

#[test]
fn what_is_no_record_is_named_with_its_block() {
    let mut recorder = Recorder::new(b"", 0);
    recorder.message(0, at(0), PeerId(1), Channel::Datagram, b"");
    let whole = recorder.take();
    // A record of a command whose body is too short for one.
    recorder.command(0, at(1), &Strange);
    let bytes = [whole.clone(), recorder.finish()].concat();
    let reason = TranscriptError::Record { at: whole.len() as u64, reason: Malformed::Truncated };
    assert_eq!(records(&bytes).err(), Some(reason));
}

/// A command of another machine.
struct Strange;

impl Wire for Strange {
    fn emit(&self, bytes: &mut Vec<u8>) {
        bytes.push(1);
    }
    fn parse(_: &mut Reader<'_>) -> Result<Self, Malformed> {
        Err(Malformed::Field)
    }
}
