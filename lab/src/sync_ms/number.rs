//! The payloads of an experiment: each message is its number, and by it meets its fate.

use evenkeel_sync_ms::message::{Frame, SyncMessage};

const ACTION: u64 = 1 << 32;
const UPDATE: u64 = 2 << 32;

/// The payload of the message with this number.
pub(crate) fn payload(number: usize) -> Vec<u8> {
    (number as u32).to_le_bytes().to_vec()
}

/// The number of the message with this payload.
pub(crate) fn numbered(payload: &[u8]) -> Option<usize> {
    Some(u32::from_le_bytes(payload.try_into().ok()?) as usize)
}

/// The label of a datagram: the new action or update in it. Others, also those that only repeat actions, are fated by their
/// sending time.
pub(crate) fn label(bytes: &[u8]) -> Option<u64> {
    let message = SyncMessage::parse(bytes).ok()?;
    let (stamp, mut label) = (message.header().stamp, None);
    for frame in message {
        let this = match frame {
            Frame::Action(action) if action.sent != stamp => None,
            Frame::Action(action) => numbered(action.payload).map(|number| ACTION | number as u64),
            Frame::Update(update) => numbered(update.payload).map(|number| UPDATE | number as u64),
            _ => None,
        };
        label = label.max(this);
    }
    label
}
