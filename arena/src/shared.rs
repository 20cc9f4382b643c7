//! What the arena's host and its page share.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, Weak};
use std::{io, iter};

use evenkeel_core::{LocalTime, PeerId};
use evenkeel_net::token::{Claims, IssuerKey, Name, unix_seconds};
use evenkeel_net::{Crank, CrankHandle, NodeId};
use evenkeel_serve::RELAY;

use super::live::Live;
use super::{ArenaServer, BotMachine, Choice, Distance, ROOM, RoomMachine, budget, name};

/// How long the tokens of the arena are good.
const TOKEN_SECONDS: u64 = 7 * 24 * 3600;
/// So many names of people are remembered. Then names may be given that somebody has who has been away for long.
const PEOPLE_MAX: usize = 4_096;
/// What the names of people begin with.
const PERSON: &str = "you";

/// What page and host share.
pub(super) struct Shared {
    key: IssuerKey,
    /// Their names; their machines have the numbers of their places.
    pub(super) bots: Vec<String>,
    pub(super) crank: CrankHandle<BotMachine>,
    /// By name. Who is not in it is where it really is.
    distances: Mutex<BTreeMap<String, Distance>>,
    pub(super) live: Mutex<Live>,
    /// The names of people who have come.
    people: Mutex<BTreeSet<String>>,
    /// The relay, once it runs.
    server: OnceLock<Weak<ArenaServer>>,
}

/// Nothing is left half done under these locks.
pub(super) fn lock<T>(of: &Mutex<T>) -> MutexGuard<'_, T> {
    of.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Shared {
    pub(super) fn new(
        key: IssuerKey,
        bots: &[String],
        distances: Vec<Distance>,
        choice: Choice,
    ) -> io::Result<Self> {
        Ok(Self {
            key,
            bots: bots.to_vec(),
            crank: Crank::new().start()?,
            distances: Mutex::new(bots.iter().cloned().zip(distances).collect()),
            live: Mutex::new(Live::new(choice.policy(), budget())),
            people: Mutex::default(),
            server: OnceLock::new(),
        })
    }

    /// The relay runs.
    pub(super) fn serve(&self, server: &Arc<ArenaServer>) {
        let _ = self.server.set(Arc::downgrade(server));
    }

    pub(super) fn server(&self) -> Option<Arc<ArenaServer>> {
        self.server.get()?.upgrade()
    }

    /// Where players connect to.
    pub(super) fn url(&self, server: &ArenaServer) -> String {
        let address = server.addresses().first().map_or_else(String::new, ToString::to_string);
        format!("https://{address}/{ROOM}")
    }

    /// What tells this run of the relay from another: a page that knows another one has to be let in anew.
    pub(super) fn certificate(&self) -> Option<String> {
        self.server()?.hashes().first().map(ToString::to_string)
    }

    pub(super) fn token(&self, player: &str) -> String {
        self.key.sign(&Claims::issue(name(ROOM), name(player), unix_seconds(), TOKEN_SECONDS))
    }

    /// What to call a person: as before, if it was one.
    pub(super) fn person(&self, before: Option<String>) -> String {
        let is_person =
            |name: &String| name.starts_with(PERSON) && name.len() < 12 && Name::new(name).is_ok();
        let mut people = lock(&self.people);
        let free = |people: &BTreeSet<String>| {
            let numbered = (2..).map(|number: u32| format!("{PERSON}-{number}"));
            iter::once(PERSON.to_owned()).chain(numbered).find(|name| !people.contains(name))
        };
        let name = before.filter(is_person).or_else(|| free(&people)).expect("names do not run out");
        if people.len() >= PEOPLE_MAX {
            people.clear();
        }
        people.insert(name.clone());
        name
    }

    /// Asks the room's machine; `None` if there is none.
    pub(super) async fn with_room<T: Send + 'static>(
        &self,
        look: impl FnOnce(&mut RoomMachine, LocalTime) -> T + Send + 'static,
    ) -> Option<T> {
        let server = self.server()?;
        server.crank().with(server.node(&name(ROOM))?, look).await.ok()
    }

    /// How far away somebody is put.
    pub(super) fn distance(&self, player: &str) -> Distance {
        lock(&self.distances).get(player).copied().unwrap_or(Distance::NONE)
    }

    /// Puts a player so far away; false if that was not to be done.
    pub(super) fn put(&self, player: &str, number: u32, distance: Distance) -> bool {
        lock(&self.distances).insert(player.to_owned(), distance);
        let faults = || distance.faults();
        match self.bots.iter().position(|bot| bot == player) {
            Some(bot) => self.crank.emulate(NodeId(bot as u32), RELAY, faults(), faults()).is_ok(),
            None => self.server().is_some_and(|server| {
                let room = server.node(&name(ROOM));
                room.is_some_and(|room| {
                    server.crank().emulate(room, PeerId(number), faults(), faults()).is_ok()
                })
            }),
        }
    }

    /// A person who comes back is put where it was. (A bot's way is made anew with each of its connections.)
    pub(super) fn keep_distance(&self, player: &str, number: u32) {
        let distance = self.distance(player);
        if distance != Distance::NONE && !self.bots.iter().any(|bot| bot == player) {
            self.put(player, number, distance);
        }
    }
}
