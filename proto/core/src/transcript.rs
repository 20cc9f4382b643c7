//! Transcripts: the calls of every machine in a session and the bytes that each transmitted, for exact
//! replay.
//!
//! A machine learns nothing except through its calls, so [`replay`] can feed the same calls to fresh machines
//! and compare every byte they transmit.
//!
//! Layout: `"EVKT"`, version, then blocks with checksums (`blocks.rs`), the last of which is an end mark. The
//! blocks hold the configuration (length, bytes), the seed, then records. A record is a tag followed by
//! - for a node: its number and its own configuration;
//! - for a call: the node, its `now`, and the arguments;
//! - for a transmission, which belongs to the call before it: destination, channel and bytes.
//!
//! Variable-length parts have a 32-bit length in front.

mod blocks;

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

use crate::endpoint::{Channel, Endpoint};
use crate::peer::{PeerChange, PeerId};
use crate::time::LocalTime;
use crate::wire::{Malformed, Reader, Wire};
use blocks::Blocks;

const MAGIC: &[u8; 4] = b"EVKT";
const VERSION: u8 = 3;

const COMMAND: u8 = 1;
const MESSAGE: u8 = 2;
const JOINED: u8 = 3;
const LEFT: u8 = 4;
const TIMEOUT: u8 = 5;
const TRANSMIT: u8 = 6;
const NODE: u8 = 7;

/// Writes a transcript. Call [`Recorder::take`] now and then and [`Recorder::finish`] at the end, and append
/// the bytes to wherever they are stored.
#[derive(Clone, Debug)]
pub struct Recorder {
    /// The records of the next block.
    bytes: Vec<u8>,
    /// The number of the next block.
    block: u32,
}

fn emit_slice(slice: &[u8], bytes: &mut Vec<u8>) {
    let len = u32::try_from(slice.len()).expect("each part of a transcript is below 4 GiB");
    len.emit(bytes);
    bytes.extend_from_slice(slice);
}

fn parse_slice<'a>(reader: &mut Reader<'a>) -> Result<&'a [u8], Malformed> {
    let len = reader.read::<u32>()?;
    reader.take(len as usize)
}

impl Recorder {
    /// Begins a transcript.
    #[must_use]
    pub fn new(config: &[u8], seed: u64) -> Self {
        let mut bytes = Vec::new();
        emit_slice(config, &mut bytes);
        seed.emit(&mut bytes);
        Self { bytes, block: 0 }
    }

    /// Records a node with a configuration of its own.
    pub fn node(&mut self, node: u32, config: &[u8]) {
        self.bytes.push(NODE);
        node.emit(&mut self.bytes);
        emit_slice(config, &mut self.bytes);
    }

    fn call(&mut self, tag: u8, node: u32, now: LocalTime) {
        self.bytes.push(tag);
        node.emit(&mut self.bytes);
        now.emit(&mut self.bytes);
    }

    /// Records a command.
    pub fn command<C: Wire>(&mut self, node: u32, now: LocalTime, command: &C) {
        self.call(COMMAND, node, now);
        let mut body = Vec::new();
        command.emit(&mut body);
        emit_slice(&body, &mut self.bytes);
    }

    /// Records an arriving message.
    pub fn message(&mut self, node: u32, now: LocalTime, from: PeerId, channel: Channel, message: &[u8]) {
        self.call(MESSAGE, node, now);
        from.0.emit(&mut self.bytes);
        channel.emit(&mut self.bytes);
        emit_slice(message, &mut self.bytes);
    }

    /// Records a peer that joined or left.
    pub fn peer(&mut self, node: u32, now: LocalTime, change: PeerChange) {
        match change {
            PeerChange::Joined { peer, datagram_max } => {
                self.call(JOINED, node, now);
                peer.0.emit(&mut self.bytes);
                (datagram_max as u64).emit(&mut self.bytes);
            }
            PeerChange::Left { peer } => {
                self.call(LEFT, node, now);
                peer.0.emit(&mut self.bytes);
            }
        }
    }

    /// Records a timeout.
    pub fn timeout(&mut self, node: u32, now: LocalTime) {
        self.call(TIMEOUT, node, now);
    }

    /// Records a message that the node of the last call transmitted.
    pub fn transmit(&mut self, to: PeerId, channel: Channel, message: &[u8]) {
        self.bytes.push(TRANSMIT);
        to.0.emit(&mut self.bytes);
        channel.emit(&mut self.bytes);
        emit_slice(message, &mut self.bytes);
    }

    /// Returns what was written since the last call of this method: a block, or nothing.
    #[must_use]
    pub fn take(&mut self) -> Vec<u8> {
        let records = core::mem::take(&mut self.bytes);
        if records.is_empty() { Vec::new() } else { self.block(&records) }
    }

    /// Returns what was written since [`take`](Self::take), and the end mark.
    #[must_use]
    pub fn finish(mut self) -> Vec<u8> {
        let mut bytes = self.take();
        bytes.extend(self.block(&[]));
        bytes
    }

    fn block(&mut self, records: &[u8]) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(records.len() + 16);
        if self.block == 0 {
            bytes.extend_from_slice(MAGIC);
            bytes.push(VERSION);
        }
        blocks::emit(self.block, records, &mut bytes);
        self.block = self.block.wrapping_add(1);
        bytes
    }
}

/// Returns a transcript of one block with these bytes as configuration, seed and records, for fuzzing.
#[doc(hidden)]
#[must_use]
pub fn seal(records: &[u8]) -> Vec<u8> {
    Recorder { bytes: records.to_vec(), block: 0 }.finish()
}

impl Wire for Channel {
    fn emit(&self, bytes: &mut Vec<u8>) {
        bytes.push(match self {
            Self::Datagram => 0,
            Self::Reliable => 1,
        });
    }

    fn parse(reader: &mut Reader<'_>) -> Result<Self, Malformed> {
        match reader.read::<u8>()? {
            0 => Ok(Self::Datagram),
            1 => Ok(Self::Reliable),
            _ => Err(Malformed::Field),
        }
    }
}

/// One record of a transcript.
#[derive(Clone, PartialEq, Debug)]
pub enum Record<'a, C> {
    /// A node with a configuration of its own.
    Node {
        /// The node's number.
        node: u32,
        /// Its configuration.
        config: &'a [u8],
    },
    /// A call on a node.
    Call {
        /// The node's number.
        node: u32,
        /// The time by the node's clock.
        now: LocalTime,
        /// The call.
        call: Call<'a, C>,
    },
    /// A message that the node of the last call transmitted.
    Transmit {
        /// The destination.
        to: PeerId,
        /// The channel.
        channel: Channel,
        /// The message.
        bytes: &'a [u8],
    },
}

/// A call on a machine.
#[derive(Clone, PartialEq, Debug)]
pub enum Call<'a, C> {
    /// A command of the application.
    Command(C),
    /// An arriving message.
    Message(PeerId, Channel, &'a [u8]),
    /// A peer that joined or left.
    Peer(PeerChange),
    /// A timeout.
    Timeout,
}

/// Reads a transcript: the configuration, the seed and the records.
#[derive(Clone, Debug)]
pub struct Transcript<'a> {
    /// The configuration of the session.
    pub config: &'a [u8],
    /// The seed of the session.
    pub seed: u64,
    blocks: Blocks<'a>,
    /// What is left of the present block, and where that began.
    records: Reader<'a>,
    at: u64,
}

/// What is wrong with a transcript. Places are in bytes from its beginning; everything before them is whole.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TranscriptError {
    /// The bytes do not begin like a transcript.
    #[error("not a recording")]
    Foreign,
    /// It is of another version.
    #[error("a recording of version {found}, not {supported}: replay it with the release that made it")]
    Version {
        /// Its version.
        found: u8,
        /// The version that can be read.
        supported: u8,
    },
    /// It ends within a block: who recorded was killed, the disk was full, or the file was cut.
    #[error("cut off: the block at byte {at} is not complete")]
    CutOff {
        /// Where the block begins.
        at: u64,
    },
    /// A block has changed.
    #[error("damaged: the block at byte {at} fails its checksum")]
    Checksum {
        /// Where the block begins.
        at: u64,
    },
    /// Something follows the end mark.
    #[error("damaged: from byte {at} on there is something after the end")]
    AfterEnd {
        /// Where it begins.
        at: u64,
    },
    /// A block is whole and holds what is no record.
    #[error("the block at byte {at} holds something else than records: {reason}")]
    Record {
        /// Where the block begins.
        at: u64,
        /// What is wrong with it.
        reason: Malformed,
    },
}

impl<'a> Transcript<'a> {
    /// Opens a transcript.
    ///
    /// # Errors
    /// [`TranscriptError`] if the bytes do not begin like a transcript of this version.
    pub fn open(bytes: &'a [u8]) -> Result<Self, TranscriptError> {
        let Some(([magic @ .., version], rest)) = bytes.split_first_chunk::<5>() else {
            return Err(TranscriptError::Foreign);
        };
        match *version {
            _ if magic != MAGIC => return Err(TranscriptError::Foreign),
            VERSION => {}
            found => return Err(TranscriptError::Version { found, supported: VERSION }),
        }
        let at = MAGIC.len() as u64 + 1;
        let mut blocks = Blocks::new(rest, at);
        let mut records = Reader::new(blocks.next()?.ok_or(TranscriptError::CutOff { at })?);
        let malformed = |reason| TranscriptError::Record { at, reason };
        let config = parse_slice(&mut records).map_err(malformed)?;
        let seed = records.read().map_err(malformed)?;
        Ok(Self { config, seed, blocks, records, at })
    }

    /// Whether the end mark has been read, so that nothing is missing.
    #[must_use]
    pub const fn has_ended(&self) -> bool {
        self.blocks.has_ended()
    }

    /// Reads the next record, or `None` at the end.
    ///
    /// # Errors
    /// [`TranscriptError`] if the transcript is cut off or damaged.
    pub fn next_record<C: Wire>(&mut self) -> Result<Option<Record<'a, C>>, TranscriptError> {
        if self.records.is_empty() {
            let at = self.blocks.at();
            let Some(records) = self.blocks.next()? else { return Ok(None) };
            (self.records, self.at) = (Reader::new(records), at);
        }
        self.record().map(Some).map_err(|reason| TranscriptError::Record { at: self.at, reason })
    }

    fn record<C: Wire>(&mut self) -> Result<Record<'a, C>, Malformed> {
        let reader = &mut self.records;
        let tag = reader.read::<u8>()?;
        if tag == TRANSMIT {
            let (to, channel) = (PeerId(reader.read()?), reader.read()?);
            return Ok(Record::Transmit { to, channel, bytes: parse_slice(reader)? });
        }
        if tag == NODE {
            return Ok(Record::Node { node: reader.read()?, config: parse_slice(reader)? });
        }
        let (node, now) = (reader.read()?, reader.read()?);
        let call = match tag {
            COMMAND => {
                let mut body = Reader::new(parse_slice(reader)?);
                let command = body.read()?;
                body.finish()?;
                Call::Command(command)
            }
            MESSAGE => Call::Message(PeerId(reader.read()?), reader.read()?, parse_slice(reader)?),
            JOINED => {
                let peer = PeerId(reader.read()?);
                let datagram_max = usize::try_from(reader.read::<u64>()?).map_err(|_| Malformed::Field)?;
                Call::Peer(PeerChange::Joined { peer, datagram_max })
            }
            LEFT => Call::Peer(PeerChange::Left { peer: PeerId(reader.read()?) }),
            TIMEOUT => Call::Timeout,
            other => return Err(Malformed::UnknownTag(other)),
        };
        Ok(Record::Call { node, now, call })
    }
}

/// How much of a session was replayed.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Replayed {
    /// Number of calls made.
    pub calls: u64,
    /// Number of identical messages transmitted.
    pub transmits: u64,
    /// Whether that is all: the transcript has its end mark.
    pub is_complete: bool,
}

/// Why a replay stopped.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ReplayError {
    /// The transcript cannot be read.
    #[error("{reason}; identical until then: {calls} calls")]
    Damaged {
        /// Number of calls made before.
        calls: u64,
        /// What is wrong with it.
        reason: TranscriptError,
    },
    /// A machine transmitted something other than what was recorded.
    #[error("node {node} diverges from the recording at call {calls}")]
    Diverged {
        /// Number of calls made, the diverging one included.
        calls: u64,
        /// The node that diverged.
        node: u32,
    },
}

/// Feeds the calls of a transcript to fresh machines and compares what they transmit. `build` makes a machine
/// from its number and its configuration, which is empty for a node without one.
///
/// # Errors
/// [`ReplayError`] if the transcript cannot be read or a machine diverges.
pub fn replay<E>(
    mut transcript: Transcript<'_>,
    mut build: impl FnMut(u32, &[u8]) -> Result<E, Malformed>,
) -> Result<Replayed, ReplayError>
where
    E: Endpoint,
    E::Command: Wire,
{
    let mut nodes = BTreeMap::new();
    let mut done = Replayed::default();
    let mut current: Option<(u32, LocalTime)> = None;
    let mut bytes = Vec::new();
    loop {
        let record = transcript
            .next_record::<E::Command>()
            .map_err(|reason| ReplayError::Damaged { calls: done.calls, reason })?;
        let diverged = |done: Replayed, node| Err(ReplayError::Diverged { calls: done.calls, node });
        match record {
            Some(Record::Transmit { to, channel, bytes: expected }) => {
                let Some((node, now)) = current else { return diverged(done, 0) };
                let endpoint: &mut E = nodes.get_mut(&node).expect("the node of the last call exists");
                if endpoint.poll_transmit(now, &mut bytes) != Some((to, channel)) || bytes != expected {
                    return diverged(done, node);
                }
                done.transmits += 1;
            }
            next => {
                if let Some((node, now)) = current {
                    let endpoint: &mut E = nodes.get_mut(&node).expect("the node of the last call exists");
                    if endpoint.poll_transmit(now, &mut bytes).is_some() {
                        return diverged(done, node);
                    }
                    while endpoint.poll_event().is_some() {}
                }
                let at = transcript.at;
                let reason = |reason| TranscriptError::Record { at, reason };
                let damaged = |error| ReplayError::Damaged { calls: done.calls, reason: reason(error) };
                let (node, now, call) = match next {
                    None | Some(Record::Transmit { .. }) => {
                        return Ok(Replayed { is_complete: transcript.has_ended(), ..done });
                    }
                    Some(Record::Node { node, config }) => {
                        nodes.insert(node, build(node, config).map_err(damaged)?);
                        current = None;
                        continue;
                    }
                    Some(Record::Call { node, now, call }) => (node, now, call),
                };
                if let Entry::Vacant(vacant) = nodes.entry(node) {
                    vacant.insert(build(node, &[]).map_err(damaged)?);
                }
                let endpoint = nodes.get_mut(&node).expect("it was inserted above");
                match call {
                    Call::Command(command) => endpoint.handle_command(now, command),
                    // A machine that rejected a message rejects it again; the bytes that follow would reveal
                    // a difference.
                    Call::Message(from, channel, message) => {
                        let _ = endpoint.handle_message(now, from, channel, message);
                    }
                    Call::Peer(change) => endpoint.handle_peer(now, change),
                    Call::Timeout => endpoint.handle_timeout(now),
                }
                done.calls += 1;
                current = Some((node, now));
            }
        }
    }
}
