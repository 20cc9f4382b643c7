//! Peers on this machine, over real sockets.

mod machine;

use std::sync::Arc;
use std::time::Duration;

use evenkeel_core::{Seed, Span};
use evenkeel_link::{DelayLaw, Jitter, Link, LinkFaults};
use evenkeel_net::transport::{CloseCode, Connection};
use evenkeel_net::{Attachment, Crank, CrankHandle, Emulation, NodeId};
use evenkeel_p2p::{
    ConnectError, Identity, Mesh, MeshConfig, Network, PeerKey, PeerNode, Relay, SessionId, Ticket,
};
use tokio::time::{sleep, timeout};

use machine::Chatter;

const NODE: NodeId = NodeId(0);

/// A peer with its machine, crank and connections.
struct Player {
    key: PeerKey,
    crank: CrankHandle<Chatter>,
    mesh: Mesh,
}

async fn player(identity: Identity, session: SessionId, faults: Option<LinkFaults>) -> Player {
    let key = identity.key();
    let node = PeerNode::bind(&identity, &Network::loopback()).await.expect("a socket");
    let crank: CrankHandle<Chatter> = Crank::new().start().expect("a thread");
    crank.add(NODE, Chatter::default()).expect("running");
    let attaching = crank.clone();
    let config = MeshConfig { session, hello: key.to_string().into_bytes() };
    let mesh = Mesh::start(node, config, move |other, _, connection| {
        let seed = Seed::new(7).child(u64::from(other.peer_id().0));
        let emulation = faults.clone().map(|faults| Emulation {
            outgoing: Link::new(faults, seed),
            incoming: Link::new(LinkFaults::default(), seed),
        });
        let attachment = Attachment { connection, emulation, allowance: None };
        attaching.attach(NODE, other.peer_id(), attachment).ok()
    });
    Player { key, crank, mesh }
}

impl Player {
    /// Waits until the machine has heard from exactly these peers lately, on both channels.
    async fn hears(&self, others: &[&Self]) {
        let mut wanted: Vec<_> = others.iter().map(|other| other.key.peer_id()).collect();
        wanted.sort_unstable();
        let waiting = async {
            loop {
                let heard = self.crank.with(NODE, |chatter, _| chatter.heard()).await.expect("running");
                if heard == wanted {
                    return;
                }
                sleep(Duration::from_millis(10)).await;
            }
        };
        timeout(Duration::from_secs(30), waiting).await.expect("connected in time");
    }

    async fn leave(self) {
        self.crank.stop(Duration::from_secs(1)).await.expect("running");
        self.mesh.close().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn messages_travel_on_both_channels() {
    let session = SessionId::random();
    let node = async || PeerNode::bind(&Identity::generate(), &Network::loopback()).await.expect("a socket");
    let (ada, bob) = (node().await, node().await);
    let accepting = async {
        let caller = ada.accept().await.expect("a caller");
        assert_eq!((caller.key(), caller.session(), caller.hello()), (bob.key(), session, &b"Bob"[..]));
        caller.accept(b"welcome").await.expect("connected")
    };
    let address = ada.address();
    let (at_ada, at_bob) = tokio::join!(accepting, bob.connect(&address, session, b"Bob"));
    let at_bob: Connection = at_bob.expect("connected");
    assert_eq!(at_bob.greeting(), b"welcome");
    assert!(at_bob.datagram_max() >= 1_100 && at_bob.remote_address().ip().is_loopback());
    let longest = vec![7; at_bob.datagram_max()];
    at_ada.send_datagram(longest.clone().into()).expect("sent");
    assert_eq!(at_bob.read_datagram().await.expect("arrived"), longest);
    let mut reader = at_bob.take_reader().expect("the first call");
    let long = vec![9; 50_000];
    at_ada.send_reliable(long.clone()).expect("sent");
    assert_eq!(reader.next().await.expect("arrived"), long);
    at_ada.close(CloseCode::Removed);
    assert_eq!(at_bob.closed().await.code(), Some(CloseCode::Removed));
}

#[tokio::test(flavor = "multi_thread")]
async fn newcomers_find_everybody_through_one_ticket() {
    let session = SessionId::random();
    let host = player(Identity::generate(), session, None).await;
    let ticket: Ticket = host.mesh.ticket().to_string().parse().expect("a ticket");
    let mut others = Vec::new();
    for _ in 0..4 {
        let other = player(Identity::generate(), session, None).await;
        other.mesh.join(&ticket.host).await.expect("joined");
        others.push(other);
    }
    let all: Vec<&Player> = others.iter().chain([&host]).collect();
    for one in &all {
        let rest: Vec<&Player> = all.iter().filter(|other| other.key != one.key).copied().collect();
        one.hears(&rest).await;
        let members = one.mesh.members();
        assert_eq!(members.len(), 4);
        for member in members {
            let link = member.link.expect("connected");
            assert!(link.direct.is_some_and(|address| address.ip().is_loopback()));
            assert_eq!(member.hello, member.key.to_string().into_bytes());
        }
    }
    // Who leaves on purpose is not called back.
    let gone = others.pop().expect("four");
    let gone_key = gone.key;
    gone.leave().await;
    host.hears(&others.iter().collect::<Vec<_>>()).await;
    assert!(host.mesh.members().iter().all(|member| member.key != gone_key));
}

#[tokio::test(flavor = "multi_thread")]
async fn broken_connections_are_opened_again_and_restarted_peers_come_back() {
    let session = SessionId::random();
    let (ada, bob) = (Identity::generate(), Identity::generate());
    let host = player(ada, session, None).await;
    let guest = player(bob.clone(), session, None).await;
    guest.mesh.join(&host.mesh.ticket().host).await.expect("joined");
    host.hears(&[&guest]).await;
    let opened = host.crank.with(NODE, |chatter, _| chatter.joins).await.expect("running");
    host.crank.detach(NODE, guest.key.peer_id(), CloseCode::Internal).expect("running");
    let reopened = async {
        while host.crank.with(NODE, |chatter, _| chatter.joins).await.expect("running") == opened {
            sleep(Duration::from_millis(10)).await;
        }
    };
    timeout(Duration::from_secs(20), reopened).await.expect("connected again");
    host.hears(&[&guest]).await;
    // The same key from another socket, while the old one has said nothing of its end.
    let again = player(bob, session, None).await;
    again.mesh.join(&host.mesh.ticket().host).await.expect("joined");
    again.hears(&[&host]).await;
    host.hears(&[&again]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn strangers_and_banned_peers_are_refused() {
    let session = SessionId::random();
    let host = player(Identity::generate(), session, None).await;
    let stranger = player(Identity::generate(), SessionId::random(), None).await;
    let refused = stranger.mesh.join(&host.mesh.ticket().host).await.expect_err("another session");
    assert!(
        matches!(&refused, ConnectError::Refused(reason) if reason.code == CloseCode::NotFound),
        "{refused}"
    );

    let cheater = player(Identity::generate(), session, None).await;
    cheater.mesh.join(&host.mesh.ticket().host).await.expect("joined");
    host.hears(&[&cheater]).await;
    host.mesh.ban(cheater.key);
    host.hears(&[]).await;
    let refused = cheater.mesh.join(&host.mesh.ticket().host).await.expect_err("banned");
    assert!(
        matches!(&refused, ConnectError::Refused(reason) if reason.code == CloseCode::Removed),
        "{refused}"
    );
    assert_eq!(host.mesh.members().len(), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_peer_whose_messages_are_rejected_is_refused() {
    let session = SessionId::random();
    let host = player(Identity::generate(), session, None).await;
    let rude = player(Identity::generate(), session, None).await;
    rude.mesh.join(&host.mesh.ticket().host).await.expect("joined");
    host.hears(&[&rude]).await;
    rude.crank.with(NODE, |chatter, _| chatter.is_rude = true).await.expect("running");
    host.hears(&[]).await;
    let refused = rude.mesh.join(&host.mesh.ticket().host).await.expect_err("refused");
    assert!(
        matches!(&refused, ConnectError::Refused(reason) if reason.code == CloseCode::Removed),
        "{refused}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_silent_address_and_a_wrong_relay_are_reported() {
    let node = PeerNode::bind(&Identity::generate(), &Network::loopback()).await.expect("a socket");
    let gone = PeerNode::bind(&Identity::generate(), &Network::loopback()).await.expect("a socket");
    let address = gone.address();
    gone.close().await;
    let error = node.connect(&address, SessionId::random(), b"").await.expect_err("nobody is there");
    assert_eq!(error, ConnectError::NoAnswer(address.key()));
    let relay = Relay::Own("not a url".to_owned());
    let error = PeerNode::bind(&Identity::generate(), &Network { relay, ..Network::loopback() }).await;
    assert!(error.expect_err("no URL").to_string().contains("https://"));
}

#[tokio::test(flavor = "multi_thread")]
async fn emulated_links_delay_what_is_sent() {
    let session = SessionId::random();
    let jitter = Jitter::Exponential { mean: Span::from_millis(20) };
    let delay = DelayLaw { base: Span::from_millis(30), jitter };
    let faults = LinkFaults { delay, ..LinkFaults::default() };
    let host = player(Identity::generate(), session, Some(faults.clone())).await;
    let guest = player(Identity::generate(), session, Some(faults)).await;
    guest.mesh.join(&host.mesh.ticket().host).await.expect("joined");
    host.hears(&[&guest]).await;
    sleep(Duration::from_millis(500)).await;
    let shortest = host.crank.with(NODE, |chatter, _| chatter.shortest_round_trip).await.expect("running");
    assert!(shortest.is_some_and(|shortest| shortest >= Span::from_millis(60)), "{shortest:?}");
    let counters: Vec<Arc<_>> =
        host.mesh.members().into_iter().filter_map(|member| member.counters).collect();
    assert!(counters[0].read().datagrams_out > 0 && counters[0].read().reliable_in > 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_peer_on_all_addresses_knows_where_it_can_be_reached() {
    let node = PeerNode::bind(&Identity::generate(), &Network::default()).await.expect("a socket");
    let sockets = node.address().sockets();
    assert!(!sockets.is_empty() && sockets.iter().all(|socket| !socket.ip().is_unspecified()), "{sockets:?}");
    let other = PeerNode::bind(&Identity::generate(), &Network::default()).await.expect("a socket");
    let address = node.address();
    let accepting = async { node.accept().await.expect("a caller").accept(b"").await };
    let (accepted, connected) = tokio::join!(accepting, other.connect(&address, SessionId::random(), b""));
    assert!(accepted.is_ok() && connected.is_ok());
}
