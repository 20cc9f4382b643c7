//! What the host, the API and the sampling task share.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, Weak};
use std::{io, iter};

use evenkeel_core::{LocalTime, PeerId};
use evenkeel_net::token::{Claims, IssuerKey, Name, unix_seconds};
use evenkeel_net::{Crank, CrankHandle, NodeId};
use evenkeel_serve::RELAY;

use crate::choice::{PolicyChoice, budget};
use crate::delay::LinkDelay;
use crate::host::ArenaBotMachine;
use crate::host::{ArenaServer, RoomMachine};
use crate::live::LiveFigures;

/// The arena's room.
pub(crate) const ROOM: &str = "arena";
/// The lifetime of the arena's tokens.
const TOKEN_SECONDS: u64 = 7 * 24 * 3600;
/// The number of people's names to remember. Beyond it, all are forgotten and may be given out again.
const PEOPLE_MAX: usize = 4_096;
/// The first person's name; the names of the others begin with it.
const PERSON: &str = "you";

/// State shared by the host, the API and the sampling task.
pub(crate) struct HostState {
    key: IssuerKey,
    /// The bots' names; a bot's index is its number in `crank`.
    pub(crate) bots: Vec<String>,
    pub(crate) crank: CrankHandle<ArenaBotMachine>,
    /// Emulated delays by player name. A player without an entry has none.
    delays: Mutex<BTreeMap<String, LinkDelay>>,
    pub(crate) live: Mutex<LiveFigures>,
    /// The names given to people.
    people: Mutex<BTreeSet<String>>,
    /// The relay, once it runs.
    server: OnceLock<Weak<ArenaServer>>,
}

/// Locks a mutex, poisoned or not: nothing is left half done under these locks.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The name of the arena's room.
pub(crate) fn room_name() -> Name {
    Name::new(ROOM).expect("the room's name is valid")
}

impl HostState {
    pub(crate) fn new(
        key: IssuerKey,
        bots: &[String],
        delays: Vec<LinkDelay>,
        choice: PolicyChoice,
    ) -> io::Result<Self> {
        Ok(Self {
            key,
            bots: bots.to_vec(),
            crank: Crank::new().start()?,
            delays: Mutex::new(bots.iter().cloned().zip(delays).collect()),
            live: Mutex::new(LiveFigures::new(choice, budget())),
            people: Mutex::default(),
            server: OnceLock::new(),
        })
    }

    /// Makes a running relay known.
    pub(crate) fn attach(&self, server: &Arc<ArenaServer>) {
        let _ = self.server.set(Arc::downgrade(server));
    }

    pub(crate) fn server(&self) -> Option<Arc<ArenaServer>> {
        self.server.get()?.upgrade()
    }

    /// The URL that players connect to.
    pub(crate) fn url(&self, server: &ArenaServer) -> String {
        let address = server.addresses().first().map_or_else(String::new, ToString::to_string);
        format!("https://{address}/{ROOM}")
    }

    /// The certificate's hash. It identifies this run of the relay: a page that knows another hash must join again.
    pub(crate) fn certificate_hash(&self) -> Option<String> {
        self.server()?.hashes().first().map(ToString::to_string)
    }

    pub(crate) fn token(&self, player: &str) -> String {
        let player = Name::new(player).expect("names of the arena's players are valid");
        self.key.sign(&Claims::issue(room_name(), player, unix_seconds(), TOKEN_SECONDS))
    }

    /// The name of a person who joins: the previous one if it was a person's, otherwise a free one.
    pub(crate) fn person(&self, previous: Option<String>) -> String {
        let is_person =
            |name: &String| name.starts_with(PERSON) && name.len() < 12 && Name::new(name).is_ok();
        let mut people = lock(&self.people);
        let free = |people: &BTreeSet<String>| {
            let numbered = (2..).map(|number: u32| format!("{PERSON}-{number}"));
            iter::once(PERSON.to_owned()).chain(numbered).find(|name| !people.contains(name))
        };
        let name = previous.filter(is_person).or_else(|| free(&people)).expect("numbers do not run out");
        if people.len() >= PEOPLE_MAX {
            people.clear();
        }
        people.insert(name.clone());
        name
    }

    /// Runs `read` on the room's machine; `None` if there is no room.
    pub(crate) async fn with_room<T: Send + 'static>(
        &self,
        read: impl FnOnce(&mut RoomMachine, LocalTime) -> T + Send + 'static,
    ) -> Option<T> {
        let server = self.server()?;
        let room = server.node(&room_name())?;
        server.crank(room).with(room, read).await.ok()
    }

    /// The emulated delay of a player.
    pub(crate) fn delay(&self, player: &str) -> LinkDelay {
        lock(&self.delays).get(player).copied().unwrap_or(LinkDelay::NONE)
    }

    /// Sets the emulated delay of a player; returns whether the link accepted it.
    pub(crate) fn set_delay(&self, player: &str, number: u32, delay: LinkDelay) -> bool {
        lock(&self.delays).insert(player.to_owned(), delay);
        let faults = || delay.faults();
        match self.bots.iter().position(|bot| bot == player) {
            Some(bot) => self.crank.emulate(NodeId(bot as u32), RELAY, faults(), faults()).is_ok(),
            None => self.server().is_some_and(|server| {
                let room = server.node(&room_name());
                room.is_some_and(|room| {
                    server.crank(room).emulate(room, PeerId(number), faults(), faults()).is_ok()
                })
            }),
        }
    }

    /// Restores the delay of a person who has come back. Bots restore theirs on each connection by themselves.
    pub(crate) fn restore_delay(&self, player: &str, number: u32) {
        let delay = self.delay(player);
        if delay != LinkDelay::NONE && !self.bots.iter().any(|bot| bot == player) {
            self.set_delay(player, number, delay);
        }
    }
}
