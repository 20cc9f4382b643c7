//! Sync-MS (Lin, Guo and Paul, ICNP 2002): state updates that everybody sees at once, and player actions that are served in
//! the order in which people reacted to them.
//!
//! The service is independent of the game: it never looks inside the game's messages. A module beside the game server, the
//! [`Sms`], stamps every update; a module beside each player, the [`Smc`], shows it and tags the player's actions.
//!
//! - *Sync-out*: the SMS picks one delivery time for all, later than the longest delay, and each SMC holds the update until
//!   then.
//! - *Sync-in*: the SMS holds an action until no earlier one can still arrive. Which is earlier, and how long it waits, is the
//!   [`Order`]: the paper's MaxWait, SelectWait and TossWait go by the sending time; Reaction goes by the *virtual sending
//!   time*, when the player would have acted if updates took no time.
//!
//! ```
//! use evenkeel_core::{Endpoint, LocalTime, PeerChange, PeerId};
//! use evenkeel_sync_ms::{Smc, SmcCommand, SmcEvent, Sms, SmsCommand, SmsEvent, SyncConfig};
//!
//! let (server, ada, bo) = (PeerId(0), PeerId(1), PeerId(2));
//! let config = SyncConfig { sync_out: false, ..SyncConfig::default() };
//! let mut sms = Sms::new(&config);
//! let mut players = [Smc::new(&config, server), Smc::new(&config, server)];
//! let at = |millis: i64| LocalTime::from_nanos(millis * 1_000_000);
//! let joined = |peer| PeerChange::Joined { peer, datagram_max: 1_200 };
//! for (peer, player) in [ada, bo].into_iter().zip(&mut players) {
//!     sms.handle_peer(at(0), joined(peer));
//!     player.handle_peer(at(0), joined(server));
//! }
//!
//! // An update leaves at 0 ms. Ada is 50 ms away, Bo 5 ms.
//! sms.handle_command(at(0), SmsCommand::Update { to: None, reliable: false, bytes: b"draw!".to_vec() });
//! let (mut bytes, mut updates) = (Vec::new(), Vec::new());
//! while let Some((to, channel)) = sms.poll_transmit(at(0), &mut bytes) {
//!     updates.push((to, channel, bytes.clone()));
//! }
//! // Carries what a player has to say to the server.
//! let carry = |player: &mut Smc, peer, now, delay, sms: &mut Sms| {
//!     let mut bytes = Vec::new();
//!     while let Some((_, channel)) = player.poll_transmit(at(now), &mut bytes) {
//!         sms.handle_message(at(now + delay), peer, channel, &bytes)?;
//!     }
//!     Ok::<(), evenkeel_core::Rejected>(())
//! };
//! for (player, peer, delay) in [(1, bo, 5), (0, ada, 50)] {
//!     for (_, channel, bytes) in updates.iter().filter(|(to, ..)| *to == peer) {
//!         players[player].handle_message(at(delay), server, *channel, bytes)?;
//!     }
//!     carry(&mut players[player], peer, delay, delay, &mut sms)?;
//! }
//! // Bo fires 100 ms after he saw it and is heard first. Ada fires 80 ms after she saw it.
//! for (player, peer, fires, delay) in [(1, bo, 5 + 100, 5), (0, ada, 50 + 80, 50)] {
//!     let fire = SmcCommand::Act { reliable: false, bytes: b"bang".to_vec() };
//!     players[player].handle_command(at(fires), fire);
//!     carry(&mut players[player], peer, fires, delay, &mut sms)?;
//! }
//! sms.handle_timeout(at(400));
//! // Ada was faster, so she is served first.
//! let mut served = Vec::new();
//! while let Some(event) = sms.poll_event() {
//!     if let SmsEvent::Action(action) = event {
//!         served.push((action.from, action.virtual_at.as_nanos() / 1_000_000));
//!     }
//! }
//! assert_eq!(served, [(ada, 80), (bo, 100)]);
//! # Ok::<(), evenkeel_core::Rejected>(())
//! ```

mod claim;
mod client;
mod clients;
mod command;
mod config;
mod delay;
pub mod fair_order;
pub mod message;
pub mod order;
mod parts;
mod quantile;
mod queue;
mod seq_window;
mod server;
mod update_log;

pub use client::{Smc, SmcCounts};
pub use clients::{ClientCounts, ClientReport, Standing};
pub use command::{Action, KnownPath, SmcCommand, SmcEvent, SmsCommand, SmsEvent};
pub use config::{Late, Respective, SyncConfig};
pub use order::{Order, WaitPolicy};
pub use server::Sms;
