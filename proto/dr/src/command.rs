//! What applications say to dead-reckoning machines and learn from them.

use evenkeel_core::{ClockEvent, Malformed, PeerId, Reader, SessionTime, Varint, Wire};

use crate::config::Budget;
use crate::fairness::{PairWeight, PolicyKind};
use crate::vector::{DrSeq, DrVector, EntityId, MotionState};

/// What the game tells its peer.
#[derive(Clone, PartialEq, Debug)]
pub enum DrCommand {
    /// One of this peer's entities is here and moves like this; said at every tick. The first time introduces it.
    Observe {
        /// Which.
        entity: EntityId,
        /// How it moves.
        state: MotionState,
    },
    /// The same for several at once, so that their vectors share a datagram.
    ObserveAll {
        /// Which, and how they move.
        states: Vec<(EntityId, MotionState)>,
    },
    /// One of this peer's entities is no more.
    End {
        /// Which.
        entity: EntityId,
    },
    /// Another policy decides from now on.
    Switch {
        /// Which.
        policy: PolicyKind,
        /// For the policies that have one.
        budget: Budget,
    },
    /// The error of one of this peer's entities at a receiver counts so much from now on. For a relay's policy the relay
    /// must be told.
    Weigh {
        /// Which entity.
        entity: EntityId,
        /// At whom.
        receiver: PeerId,
        /// How much.
        weight: PairWeight,
    },
}

/// What the game learns from its peer or relay.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum DrEvent {
    /// One of this peer's entities got a new DR vector.
    Generated {
        /// Which entity.
        entity: EntityId,
        /// The vector's number.
        seq: DrSeq,
        /// The vector.
        vector: DrVector,
    },
    /// A DR vector arrived.
    Arrived {
        /// From whom.
        from: PeerId,
        /// Of which entity.
        entity: EntityId,
        /// Its number; a relay numbers anew.
        seq: DrSeq,
        /// When its owner made it.
        generated: SessionTime,
        /// The vector as it is placed; `None` if a newer one had arrived before.
        placed: Option<DrVector>,
        /// Whether it came reliably, to introduce the entity.
        introduction: bool,
    },
    /// Something became of the session's time.
    Clock(ClockEvent),
    /// A peer does not take what must not be lost, and is told nothing more. Whoever drives this machine should let it
    /// go; if it joins again, it starts anew.
    Stalled {
        /// Who.
        peer: PeerId,
    },
    /// An entity is no more.
    Ended {
        /// From whom it came.
        from: PeerId,
        /// Which.
        entity: EntityId,
    },
}

/// What an operator tells the relay.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum RelayCommand {
    /// Another policy decides from now on.
    Switch {
        /// Which.
        policy: PolicyKind,
        /// For the policies that have one.
        budget: Budget,
    },
    /// The error of an entity at a receiver counts so much from now on.
    Weigh {
        /// Which entity.
        entity: EntityId,
        /// At whom.
        receiver: PeerId,
        /// How much.
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
            Self::Switch { policy, budget } => {
                RelayCommand::Switch { policy: *policy, budget: *budget }.emit(bytes);
            }
            Self::Weigh { entity, receiver, weight } => {
                RelayCommand::Weigh { entity: *entity, receiver: *receiver, weight: *weight }.emit(bytes);
            }
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
            tag => match RelayCommand::parse_after(tag, reader)? {
                RelayCommand::Switch { policy, budget } => Self::Switch { policy, budget },
                RelayCommand::Weigh { entity, receiver, weight } => Self::Weigh { entity, receiver, weight },
            },
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

/// A state of motion to the last bit: a transcript must feed the machine what the game did.
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

/// Appends a policy by its name.
pub(crate) fn emit_policy(policy: PolicyKind, bytes: &mut Vec<u8>) {
    let name = policy.to_string();
    (name.len() as u16).emit(bytes);
    bytes.extend_from_slice(name.as_bytes());
}

/// Reads a policy by its name.
pub(crate) fn parse_policy(reader: &mut Reader<'_>) -> Result<PolicyKind, Malformed> {
    let len = reader.read::<u16>()?;
    let name = core::str::from_utf8(reader.take(usize::from(len))?).map_err(|_| Malformed::Field)?;
    name.parse().map_err(|_| Malformed::Field)
}
