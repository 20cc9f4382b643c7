//! What the proxies count, beside what the crank counts.

use std::sync::atomic::{AtomicU64, Ordering};

macro_rules! proxy_counters {
    ($(#[$doc:meta])* $name:ident { $($field:ident: $help:literal,)* }) => {
        $(#[$doc])*
        #[derive(Debug, Default)]
        pub(crate) struct $name {
            $(#[doc = $help] pub(crate) $field: AtomicU64,)*
        }

        impl $name {
            /// Name, explanation and count of each.
            pub(crate) fn all(&self) -> Vec<(&'static str, &'static str, u64)> {
                vec![$((stringify!($field), $help, self.$field.load(Ordering::Relaxed)),)*]
            }
        }
    };
}

proxy_counters! {
    /// What the server's proxy counts.
    ServerCounters {
        game_sent: "Datagrams passed to the game server.",
        game_sent_bytes: "Bytes passed to the game server.",
        game_received: "Datagrams that the game server sent.",
        game_received_bytes: "Bytes that the game server sent.",
        game_unreachable: "Datagrams that the game server's machine refused.",
        game_send_failed: "Datagrams that the system did not take.",
        undeliverable: "Datagrams of the game server to players that are away.",
        overloaded: "Datagrams dropped because the proxy was overloaded.",
        admitted: "Tunnels of players opened.",
        refused: "Tunnels refused.",
        streams: "TCP connections forwarded.",
        streams_refused: "TCP connections refused.",
        stream_bytes: "Bytes of TCP connections, both ways.",
    }
}

proxy_counters! {
    /// What the client's proxy counts.
    ClientCounters {
        game_received: "Datagrams that players' games sent.",
        game_received_bytes: "Bytes that players' games sent.",
        game_sent: "Datagrams shown to players.",
        game_sent_bytes: "Bytes shown to players.",
        game_send_failed: "Datagrams that the system did not take.",
        over_game_allowance: "Datagrams beyond their player's allowance.",
        no_place: "Datagrams from addresses for which there is no place.",
        stale: "Datagrams dropped because the server's proxy was not reached for too long.",
        overloaded: "Datagrams dropped because the proxy was overloaded.",
        connected: "Tunnels opened.",
        lost: "Tunnels that broke.",
        attempts_failed: "Attempts to open a tunnel that failed.",
        emulated_losses: "Datagrams lost on emulated links.",
        emulated_overflows: "Datagrams dropped because too many were on an emulated link.",
        streams: "TCP connections forwarded.",
        streams_refused: "TCP connections refused.",
        stream_bytes: "Bytes of TCP connections, both ways.",
    }
}

pub(crate) fn add(counter: &AtomicU64, count: u64) {
    counter.fetch_add(count, Ordering::Relaxed);
}

pub(crate) fn count(counter: &AtomicU64) {
    add(counter, 1);
}

/// Passes a datagram to a socket and counts it. Returns false if the system reports that nobody listens there.
pub(crate) struct DatagramCounters<'a> {
    pub(crate) sent: &'a AtomicU64,
    pub(crate) bytes: &'a AtomicU64,
    pub(crate) failed: &'a AtomicU64,
}

impl DatagramCounters<'_> {
    pub(crate) fn note(&self, sent: &std::io::Result<usize>) {
        match sent {
            Ok(bytes) => {
                count(self.sent);
                add(self.bytes, *bytes as u64);
            }
            Err(_) => count(self.failed),
        }
    }
}
