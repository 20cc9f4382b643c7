//! NEO's peers in the simulator: what cheaters get, and what holds for honest peers whatever goes wrong.

mod cheats;
mod eater;
mod games;
mod honest;
mod table;
