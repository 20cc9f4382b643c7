//! A relay that serves a folder.

use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};

use evenkeel_serve::{PagesConfig, RelayConfig, RelayServer};
use tokio::runtime::Runtime;

/// A running relay with pages in `www` of a folder that is removed on drop.
pub(crate) struct Site {
    pub(crate) http: SocketAddr,
    folder: PathBuf,
    server: Option<RelayServer>,
    runtime: Option<Runtime>,
}

impl Site {
    pub(crate) fn start(name: &str, change: impl FnOnce(&mut RelayConfig)) -> Self {
        let folder = std::env::temp_dir().join(format!("evenkeel-http-{name}-{}", std::process::id()));
        std::fs::create_dir_all(folder.join("www")).expect("a folder");
        std::fs::write(folder.join("www/index.html"), "<!doctype html><title>a game</title>")
            .expect("a file");
        let mut config = RelayConfig {
            listen: vec![(Ipv4Addr::LOCALHOST, 0).into()],
            http: vec![(Ipv4Addr::LOCALHOST, 0).into()],
            token_key: folder.join("evenkeel.key"),
            pages: Some(PagesConfig { folder: folder.join("www"), https: Vec::new() }),
            ..RelayConfig::default()
        };
        change(&mut config);
        let runtime = Runtime::new().expect("a runtime");
        let server = runtime.block_on(RelayServer::start(config, None)).expect("the relay starts");
        let http = server.http_addresses()[0];
        Self { http, folder, server: Some(server), runtime: Some(runtime) }
    }

    pub(crate) fn folder(&self) -> &Path {
        &self.folder
    }
}

impl Drop for Site {
    fn drop(&mut self) {
        if let Some((server, runtime)) = self.server.take().zip(self.runtime.take()) {
            runtime.block_on(server.stop());
            runtime.shutdown_background();
        }
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}
