//! `evenkeel arena` as a user starts it: relay, bots and page in one program, on a free port.

use std::cell::RefCell;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use serde_json::Value;

use crate::http;
use crate::relay::{Program, free_address};

/// Entity ids are local number * 1024 + player number.
const PLAYERS_MAX: u64 = 1024;

/// A running arena.
pub(crate) struct Arena<'a> {
    evenkeel: &'a Path,
    folder: PathBuf,
    address: SocketAddr,
    options: Vec<String>,
    program: RefCell<Program>,
}

impl<'a> Arena<'a> {
    pub(crate) fn start(evenkeel: &'a Path, folder: &Path, options: &[&str]) -> Result<Self> {
        let address = free_address()?;
        let options: Vec<String> = options.iter().map(|option| (*option).to_owned()).collect();
        let program = RefCell::new(Self::spawn_arena(evenkeel, folder, address, &options)?);
        Ok(Self { evenkeel, folder: folder.to_owned(), address, options, program })
    }

    fn spawn_arena(
        evenkeel: &Path,
        folder: &Path,
        address: SocketAddr,
        options: &[String],
    ) -> Result<Program> {
        let port = address.port().to_string();
        let options = options.iter().map(String::as_str);
        let arguments: Vec<&str> = ["arena", "--port", &port].into_iter().chain(options).collect();
        let program = Program::start(evenkeel, folder, &arguments)?;
        program.wait_until_ready(address)?;
        Ok(program)
    }

    /// Kills the arena, as a crash would.
    pub(crate) fn kill(&self) {
        self.program.borrow_mut().kill();
    }

    /// Starts it again with the same options and port.
    pub(crate) fn restart(&self) -> Result<()> {
        self.program.replace(Self::spawn_arena(self.evenkeel, &self.folder, self.address, &self.options)?);
        Ok(())
    }

    /// Returns the URL of the page.
    pub(crate) fn page(&self) -> String {
        format!("http://localhost:{}/", self.address.port())
    }

    /// Returns the URL that the page's player connects to.
    pub(crate) fn transport(&self) -> String {
        format!("https://{}/arena", self.address)
    }

    /// Returns the arena's figures.
    pub(crate) fn figures(&self) -> Result<Value> {
        http::get(self.address, "/api/arena")
    }

    /// Returns a player's row in the figures, if present.
    pub(crate) fn player(&self, name: &str) -> Result<Option<Value>> {
        let figures = self.figures()?;
        let players = figures["players"].as_array().context("the figures have no players")?;
        Ok(players.iter().find(|player| player["name"] == name).cloned())
    }

    /// Returns the newest vector of a player's tank, as the relay knows it.
    pub(crate) fn tank(&self, player: u64) -> Result<Option<Value>> {
        self.newest(player)
    }

    /// Returns the newest vector of a player's first shot, while it flies.
    pub(crate) fn shot(&self, player: u64) -> Result<Option<Value>> {
        self.newest(PLAYERS_MAX + player)
    }

    fn newest(&self, entity: u64) -> Result<Option<Value>> {
        let seen = http::get(self.address, "/api/arena/watch")?;
        let entities = seen["entities"].as_array().context("the answer has no list of entities")?;
        let found = entities.iter().find(|each| each["entity"] == entity);
        Ok(found.map(|found| found["vector"].clone()))
    }
}
