//! Commands that applications give to dead-reckoning machines, and events that they get from them.

use evenkeel_core::{ClockEvent, Malformed, PeerId, Reader, SessionTime, Varint, Wire};

use crate::config::Budget;
use crate::motion::{DrSeq, DrVector, EntityId, MotionState};
use crate::policy::{PairWeight, PolicyKind};

/// A command from a game to its peer.
#[derive(Clone, PartialEq, Debug)]
pub enum DrCommand {
    /// Reports the state of one of this peer's entities, at every tick. The first report introduces it.
    Observe {
        /// The entity.
        entity: EntityId,
        /// Its state.
        state: MotionState,
    },
    /// Reports the states of several entities at once. Their vectors share datagrams, and it is faster.
    ObserveAll {
        /// The entities and their states.
        states: Vec<(EntityId, MotionState)>,
    },
    /// Ends one of this peer's entities.
    End {
        /// The entity.
        entity: EntityId,
    },
    /// A command for the policy of this peer's entities. If a relay runs it, give the command to the relay.
    Policy(RelayCommand),
}

/// An event from a peer or relay to its application.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum DrEvent {
    /// One of this peer's entities got a new DR vector.
    Generated {
        /// The entity.
        entity: EntityId,
        /// The vector's number.
        seq: DrSeq,
        /// The vector.
        vector: DrVector,
    },
    /// A DR vector arrived.
    Arrived {
        /// The peer that sent it.
        from: PeerId,
        /// The entity.
        entity: EntityId,
        /// The vector's number. A relay's numbers are not the owner's.
        seq: DrSeq,
        /// When its owner generated it.
        generated: SessionTime,
        /// The vector as placed; `None` if a newer one had arrived before.
        placed: Option<DrVector>,
        /// Whether it came on the reliable channel, to introduce the entity.
        introduction: bool,
    },
    /// The session clock changed.
    Clock(ClockEvent),
    /// A peer's reliable channel is stalled, and nothing more is sent on it. The driver should drop the peer, which
    /// may join again.
    Stalled {
        /// The peer.
        peer: PeerId,
    },
    /// An entity ended.
    Ended {
        /// The peer that sent it.
        from: PeerId,
        /// The entity.
        entity: EntityId,
    },
}

/// A command from an operator or a game to the machine that runs the policy.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum RelayCommand {
    /// Switches to another policy.
    Switch {
        /// The policy.
        policy: PolicyKind,
        /// Its budget, which some policies ignore.
        budget: Budget,
    },
    /// Weighs the error of an entity at a receiver.
    Weigh {
        /// The entity.
        entity: EntityId,
        /// The receiver.
        receiver: PeerId,
        /// The weight of their error.
        weight: PairWeight,
    },
}

const OBSERVE: u8 = 0;
const END: u8 = 1;
const SWITCH: u8 = 2;
const OBSERVE_ALL: u8 = 3;
const WEIGH: u8 = 4;

impl Wire for DrCommand {
    fn emit(&self, bytes: &mut Vec<u8>) {
        match self {
            Self::Observe { entity, state } => {
                bytes.push(OBSERVE);
                entity.0.emit(bytes);
                emit_state(state, bytes);
            }
            Self::ObserveAll { states } => {
                bytes.push(OBSERVE_ALL);
                Varint(states.len() as u64).emit(bytes);
                for (entity, state) in states {
                    entity.0.emit(bytes);
                    emit_state(state, bytes);
                }
            }
            Self::End { entity } => {
                bytes.push(END);
                entity.0.emit(bytes);
            }
            Self::Policy(command) => command.emit(bytes),
        }
    }

    fn parse(reader: &mut Reader<'_>) -> Result<Self, Malformed> {
        Ok(match reader.read::<u8>()? {
            OBSERVE => Self::Observe { entity: EntityId(reader.read()?), state: parse_state(reader)? },
            OBSERVE_ALL => {
                let count = reader.read::<Varint>()?.0;
                let one = |reader: &mut Reader<'_>| Ok((EntityId(reader.read()?), parse_state(reader)?));
                let states = (0..count).map(|_| one(reader)).collect::<Result<_, Malformed>>()?;
                Self::ObserveAll { states }
            }
            END => Self::End { entity: EntityId(reader.read()?) },
            tag => Self::Policy(RelayCommand::parse_after(tag, reader)?),
        })
    }
}

impl RelayCommand {
    fn parse_after(tag: u8, reader: &mut Reader<'_>) -> Result<Self, Malformed> {
        match tag {
            SWITCH => {
                let budget = reader.read()?;
                Ok(Self::Switch { budget, policy: parse_policy(reader)? })
            }
            WEIGH => {
                let (entity, receiver) = (EntityId(reader.read()?), PeerId(reader.read()?));
                Ok(Self::Weigh { entity, receiver, weight: reader.read()? })
            }
            other => Err(Malformed::UnknownTag(other)),
        }
    }
}

impl Wire for RelayCommand {
    fn emit(&self, bytes: &mut Vec<u8>) {
        match self {
            Self::Switch { policy, budget } => {
                bytes.push(SWITCH);
                budget.emit(bytes);
                emit_policy(*policy, bytes);
            }
            Self::Weigh { entity, receiver, weight } => {
                bytes.push(WEIGH);
                entity.0.emit(bytes);
                receiver.0.emit(bytes);
                weight.emit(bytes);
            }
        }
    }

    fn parse(reader: &mut Reader<'_>) -> Result<Self, Malformed> {
        let tag = reader.read()?;
        Self::parse_after(tag, reader)
    }
}

/// Appends a state of motion without rounding, because a transcript must repeat exactly what the game said.
fn emit_state(state: &MotionState, bytes: &mut Vec<u8>) {
    state.position.emit(bytes);
    state.velocity.emit(bytes);
    state.acceleration.emit(bytes);
    state.turn_rate.emit(bytes);
}

fn parse_state(reader: &mut Reader<'_>) -> Result<MotionState, Malformed> {
    Ok(MotionState {
        position: reader.read()?,
        velocity: reader.read()?,
        acceleration: reader.read()?,
        turn_rate: reader.read()?,
    })
}

/// Appends a policy's name.
pub(crate) fn emit_policy(policy: PolicyKind, bytes: &mut Vec<u8>) {
    let name = policy.to_string();
    (name.len() as u16).emit(bytes);
    bytes.extend_from_slice(name.as_bytes());
}

/// Reads a policy's name.
pub(crate) fn parse_policy(reader: &mut Reader<'_>) -> Result<PolicyKind, Malformed> {
    let len = reader.read::<u16>()?;
    let name = core::str::from_utf8(reader.take(usize::from(len))?).map_err(|_| Malformed::Field)?;
    name.parse().map_err(|_| Malformed::Field)
}
