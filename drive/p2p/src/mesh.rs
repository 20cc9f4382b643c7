//! A full mesh: one connection to every other member of a session.
//!
//! A newcomer connects to the peer in its ticket, learns of the others by the greetings, and connects to each. If a connection
//! breaks, the peer with the lower key tries again at once, the other one a little later, ever more rarely until they give
//! up. Who closes on purpose is not called back. A killed peer that is started again connects like a newcomer.

use std::collections::BTreeSet;
use std::fmt;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::{Duration, Instant};

use evenkeel_core::PeerId;
use evenkeel_net::crank::{PeerCounters, REJECTED_KINDS};
use evenkeel_net::transport::{CloseCode, CloseReason, Closed, Connection};
use tokio::time::sleep;

use crate::address::PeerAddress;
use crate::directory::{self, Directory, HELLO_BYTES_MAX, Link, MEMBERS_MAX, Member};
use crate::identity::PeerKey;
use crate::node::{Caller, ConnectError, PeerNode};
use crate::ticket::{SessionId, Ticket};

/// How much later the higher key tries.
const RETRY_LATER: Duration = Duration::from_secs(2);
/// How often the counters of a connection are looked at, and how many messages of its peer may be malformed, or say what
/// cannot be, before it is refused. Those of honest peers never are.
const REVIEW_EVERY: Duration = Duration::from_secs(1);
const REJECTED_MAX: u64 = 100;

/// What the mesh belongs to.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct MeshConfig {
    /// The session.
    pub session: SessionId,
    /// What other peers are told about this one, for example a name; of at most 64 bytes.
    pub hello: Vec<u8>,
}

/// Attaches a new connection to the machine: `crank.attach(..)`, after whatever the machine must be told before. Returns the
/// attachment's counters, or `None` if the connection is not wanted.
type Attach = Box<dyn Fn(PeerKey, &[u8], Connection) -> Option<Arc<PeerCounters>> + Send + Sync>;

/// A session's connections. Clones share them.
#[derive(Clone)]
pub struct Mesh(Arc<MeshInner>);

struct MeshInner {
    node: PeerNode,
    config: MeshConfig,
    attach: Attach,
    state: Mutex<MeshState>,
}

#[derive(Default)]
struct MeshState {
    directory: Directory,
    banned: BTreeSet<PeerKey>,
    /// UDP bytes of connections that have ended, sent and received.
    wire_bytes: (u64, u64),
    is_closed: bool,
}

/// How a member is connected.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LinkStatus {
    /// QUIC's estimate of the round-trip time.
    pub round_trip: Duration,
    /// The address of a direct connection; `None` through a relay.
    pub direct: Option<SocketAddr>,
}

/// A member as this peer sees it.
#[derive(Clone, Debug)]
pub struct PeerStatus {
    /// Its key.
    pub key: PeerKey,
    /// Its number.
    pub peer: PeerId,
    /// What it said about itself.
    pub hello: Vec<u8>,
    /// Its connection, if there is one.
    pub link: Option<LinkStatus>,
    /// The counters of its connection.
    pub counters: Option<Arc<PeerCounters>>,
}

impl Mesh {
    /// Accepts members of the session from now on. Must be called on a tokio runtime.
    pub fn start(
        node: PeerNode,
        mut config: MeshConfig,
        attach: impl Fn(PeerKey, &[u8], Connection) -> Option<Arc<PeerCounters>> + Send + Sync + 'static,
    ) -> Self {
        config.hello.truncate(HELLO_BYTES_MAX);
        let state = Mutex::default();
        let mesh = Self(Arc::new(MeshInner { node: node.clone(), config, attach: Box::new(attach), state }));
        let weak = Arc::downgrade(&mesh.0);
        tokio::spawn(async move {
            while let Some(caller) = node.accept().await {
                let Some(mesh) = weak.upgrade() else { break };
                tokio::spawn(Self(mesh).admit(caller));
            }
        });
        mesh
    }

    /// Returns what others need to join through this peer.
    #[must_use]
    pub fn ticket(&self) -> Ticket {
        Ticket { session: self.0.config.session, host: self.0.node.address() }
    }

    /// Connects to this member and then, in the background, to all that it knows.
    ///
    /// # Errors
    /// [`ConnectError`], worded for people.
    pub async fn join(&self, host: &PeerAddress) -> Result<(), ConnectError> {
        self.dial_once(host).await
    }

    /// Closes the connection to a member and refuses it from now on.
    pub fn ban(&self, key: PeerKey) {
        let removed = {
            let mut state = self.state();
            // Keys are free, so a limit keeps no one out who wants in; it only bounds memory.
            if state.banned.len() < 16 * MEMBERS_MAX {
                state.banned.insert(key);
            }
            state.directory.remove(&key)
        };
        if let Some(link) = removed.and_then(|member| member.link) {
            link.connection.close(CloseCode::Removed);
        }
    }

    /// Returns what is known of the other members, by key.
    #[must_use]
    pub fn members(&self) -> Vec<PeerStatus> {
        let state = self.state();
        let members = state.directory.iter().map(|(key, member)| PeerStatus {
            key: *key,
            peer: key.peer_id(),
            hello: member.hello.clone(),
            link: member.link.as_ref().map(|link| link_status(&link.connection)),
            counters: member.link.as_ref().map(|link| link.counters.clone()),
        });
        members.collect()
    }

    /// Returns the bytes of all UDP datagrams sent and received so far.
    #[must_use]
    pub fn wire_bytes(&self) -> (u64, u64) {
        let state = self.state();
        let links = state.directory.values().filter_map(|member| member.link.as_ref());
        links.map(|link| link.connection.wire_bytes()).fold(state.wire_bytes, add)
    }

    /// Stops connecting, and closes the socket. The connections should have been closed with the crank that has them.
    pub async fn close(&self) {
        self.state().is_closed = true;
        self.0.node.close().await;
    }

    fn state(&self) -> MutexGuard<'_, MeshState> {
        self.0.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn admit(self, caller: Caller) {
        let key = caller.key();
        let said = directory::parse_hello(caller.hello(), key);
        let verdict = {
            let state = self.state();
            if caller.session() != self.0.config.session {
                Err(CloseReason::new(
                    CloseCode::NotFound,
                    "this peer is in another session: ask for a new ticket",
                ))
            } else if state.banned.contains(&key) {
                Err(CloseCode::Removed.into())
            } else if !directory::has_room(&state.directory, self.0.node.key(), key) {
                Err(CloseCode::Full.into())
            } else {
                let first = evenkeel_net::random();
                said.map(|said| {
                    (said, directory::emit_greeting(&state.directory, &self.0.config.hello, first))
                })
                .map_err(|_| CloseCode::Protocol.into())
            }
        };
        match verdict {
            Err(reason) => caller.refuse(reason).await,
            Ok(((address, hello), greeting)) => match caller.accept(&greeting).await {
                Ok(connection) => self.install(address, hello, connection),
                Err(closed) => tracing::debug!(%key, %closed, "a caller is gone"),
            },
        }
    }

    /// Connects to a member once, and begins to dial those that it knows.
    async fn dial_once(&self, address: &PeerAddress) -> Result<(), ConnectError> {
        let hello = directory::emit_hello(&self.0.node.address(), &self.0.config.hello);
        let connection = self.0.node.connect(address, self.0.config.session, &hello).await?;
        let Ok((hello, others)) = directory::parse_greeting(connection.greeting()) else {
            connection.close(CloseCode::Protocol);
            return Err(ConnectError::Broken("the other side's greeting is malformed".to_owned()));
        };
        self.install(address.clone(), hello, connection);
        for other in others {
            self.dial(other, Duration::ZERO);
        }
        Ok(())
    }

    /// Remembers an open connection and hands it to the machine.
    fn install(&self, address: PeerAddress, hello: Vec<u8>, connection: Connection) {
        let key = address.key();
        let mut state = self.state();
        let own = self.0.node.key();
        if state.is_closed || state.banned.contains(&key) || !directory::has_room(&state.directory, own, key)
        {
            return connection.close(CloseCode::Removed);
        }
        // In the same order for the machine and the directory: under the lock.
        let Some(counters) = (self.0.attach)(key, &hello, connection.clone()) else {
            return connection.close(CloseCode::ShuttingDown);
        };
        let member = state.directory.entry(key).or_insert_with(|| Member::new(address.clone()));
        member.address = address;
        member.hello = hello;
        let opened = Instant::now();
        member.link = Some(Link { connection: connection.clone(), counters: counters.clone(), opened });
        drop(state);
        tokio::spawn(watch(Arc::downgrade(&self.0), key, connection, counters));
    }

    /// Handles the end of a connection.
    fn handle_closed(&self, key: PeerKey, counters: &Arc<PeerCounters>, wire: (u64, u64), closed: &Closed) {
        let mut state = self.state();
        state.wire_bytes = add(state.wire_bytes, wire);
        let is_closed = state.is_closed;
        let Some(member) = state.directory.get_mut(&key) else { return };
        // A newer connection may have replaced it.
        let Some(ended) = member.link.take_if(|link| Arc::ptr_eq(&link.counters, counters)) else { return };
        member.note_ended(ended.opened.elapsed());
        let gone = [CloseCode::ShuttingDown, CloseCode::Done, CloseCode::Removed, CloseCode::RoomClosed];
        if closed.code().is_some_and(|code| gone.contains(&code)) || is_closed {
            state.directory.remove(&key);
            return;
        }
        let (address, pause) = (member.address.clone(), member.pause());
        tracing::debug!(%key, %closed, "a connection ended");
        let Some(pause) = pause else {
            state.directory.remove(&key);
            return;
        };
        drop(state);
        self.dial(address, pause + self.patience(key));
    }

    /// How long to leave the first attempt to the other side.
    fn patience(&self, key: PeerKey) -> Duration {
        if self.0.node.key() < key { Duration::ZERO } else { RETRY_LATER }
    }

    /// Begins to connect to a member in the background, unless it is connected or being dialled.
    fn dial(&self, address: PeerAddress, pause: Duration) {
        let key = address.key();
        let own = self.0.node.key();
        let mut state = self.state();
        let is_unwanted = key == own || state.is_closed || state.banned.contains(&key);
        if is_unwanted || !directory::has_room(&state.directory, own, key) {
            return;
        }
        let member = state.directory.entry(key).or_insert_with(|| Member::new(address));
        if member.link.is_some() || std::mem::replace(&mut member.is_dialled, true) {
            return;
        }
        drop(state);
        tokio::spawn(dial_on(Arc::downgrade(&self.0), key, pause));
    }

    /// Returns whom to dial next; `None` if that is no longer needed.
    fn still_wanted(&self, key: PeerKey) -> Option<PeerAddress> {
        let mut state = self.state();
        let is_closed = state.is_closed;
        let member = state.directory.get_mut(&key)?;
        if is_closed || member.link.is_some() {
            member.is_dialled = false;
            return None;
        }
        Some(member.address.clone())
    }

    /// Counts a failed attempt and returns how long to wait; `None` to give up.
    fn next_pause(&self, key: PeerKey) -> Option<Duration> {
        let mut state = self.state();
        let member = state.directory.get_mut(&key)?;
        member.failures += 1;
        let pause = member.pause();
        if pause.is_none() && member.link.is_none() {
            state.directory.remove(&key);
        }
        pause
    }
}

fn add(one: (u64, u64), other: (u64, u64)) -> (u64, u64) {
    (one.0 + other.0, one.1 + other.1)
}

fn link_status(connection: &Connection) -> LinkStatus {
    let address = connection.remote_address();
    let direct = Some(address).filter(|address| !address.ip().is_unspecified());
    LinkStatus { round_trip: connection.round_trip(), direct }
}

/// Waits for the end of a connection, and refuses its peer if too many of its messages are rejected.
async fn watch(mesh: Weak<MeshInner>, key: PeerKey, connection: Connection, counters: Arc<PeerCounters>) {
    let closed = loop {
        tokio::select! {
            closed = connection.closed() => break closed,
            () = sleep(REVIEW_EVERY) => {}
        }
        if misbehaves(&counters)
            && let Some(mesh) = mesh.upgrade()
        {
            tracing::warn!(%key, "refused: too many of its messages are rejected");
            Mesh(mesh).ban(key);
        }
    };
    let wire = connection.wire_bytes();
    drop(connection);
    if let Some(mesh) = mesh.upgrade() {
        Mesh(mesh).handle_closed(key, &counters, wire, &closed);
    }
}

/// Whether too many of a peer's messages were malformed or out of range. What is unexpected honest peers send, too, when
/// others come and go.
fn misbehaves(counters: &PeerCounters) -> bool {
    let rejected = counters.read().rejected;
    let kinds = REJECTED_KINDS.iter().zip(rejected);
    kinds
        .filter(|(kind, _)| ["malformed", "out of range"].contains(kind))
        .map(|(_, count)| count)
        .sum::<u64>()
        > REJECTED_MAX
}

/// Connects to a member, or gives up.
async fn dial_on(mesh: Weak<MeshInner>, key: PeerKey, mut pause: Duration) {
    loop {
        sleep(pause).await;
        let Some(mesh) = mesh.upgrade().map(Mesh) else { return };
        let Some(address) = mesh.still_wanted(key) else { return };
        match mesh.dial_once(&address).await {
            Ok(()) => pause = Duration::ZERO,
            Err(ConnectError::Refused(reason)) if reason.code == CloseCode::Removed => {
                mesh.state().directory.remove(&key);
                return;
            }
            Err(error) => {
                tracing::debug!(%key, %error, "cannot connect");
                let Some(next) = mesh.next_pause(key) else { return };
                pause = next;
            }
        }
    }
}

impl fmt::Debug for Mesh {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Mesh({:?}, {} members)", self.0.node, self.state().directory.len())
    }
}
