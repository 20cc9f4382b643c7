//! Objects and messages between a room and its players, over a network that loses, repeats and reorders.

mod absence;
mod abuse;
mod contract;
mod converge;
mod delivery;
mod hostile;
mod net;
mod ownership;
mod scope;
mod values;
mod vectors;
