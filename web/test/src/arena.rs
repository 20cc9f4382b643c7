//! `evenkeel arena` as somebody types it: relay, bots and page in one program, on a free port.

use std::cell::RefCell;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use serde_json::Value;

use crate::http;
use crate::relay::{Program, free_address};

/// An entity's number is that of its player, plus so much for each place among that player's.
const PLAYERS_MAX: u64 = 1024;

/// An arena.
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
        let program = RefCell::new(Self::begin(evenkeel, folder, address, &options)?);
        Ok(Self { evenkeel, folder: folder.to_owned(), address, options, program })
    }

    fn begin(evenkeel: &Path, folder: &Path, address: SocketAddr, options: &[String]) -> Result<Program> {
        let port = address.port().to_string();
        let options = options.iter().map(String::as_str);
        let arguments: Vec<&str> = ["arena", "--port", &port].into_iter().chain(options).collect();
        let program = Program::start(evenkeel, folder, &arguments)?;
        program.answers(address)?;
        Ok(program)
    }

    /// It crashes.
    pub(crate) fn kill(&self) {
        self.program.borrow_mut().kill();
    }

    /// Somebody types the same again.
    pub(crate) fn restart(&self) -> Result<()> {
        self.program.replace(Self::begin(self.evenkeel, &self.folder, self.address, &self.options)?);
        Ok(())
    }

    /// Where people are told that the page is.
    pub(crate) fn page(&self) -> String {
        format!("http://localhost:{}/", self.address.port())
    }

    /// Where the page's player connects to.
    pub(crate) fn transport(&self) -> String {
        format!("https://{}/arena", self.address)
    }

    /// The figures that it gives out.
    pub(crate) fn figures(&self) -> Result<Value> {
        http::get(self.address, "/api/arena")
    }

    /// The row of a player in them, if it is there.
    pub(crate) fn player(&self, name: &str) -> Result<Option<Value>> {
        let figures = self.figures()?;
        let players = figures["players"].as_array().context("the figures have no players")?;
        Ok(players.iter().find(|player| player["name"] == name).cloned())
    }

    /// The newest vector of a player's tank, as the relay has it.
    pub(crate) fn tank(&self, player: u64) -> Result<Option<Value>> {
        self.newest(player)
    }

    /// The newest vector of a player's first shot, while it flies.
    pub(crate) fn shot(&self, player: u64) -> Result<Option<Value>> {
        self.newest(PLAYERS_MAX + player)
    }

    fn newest(&self, entity: u64) -> Result<Option<Value>> {
        let seen = http::get(self.address, "/api/arena/watch")?;
        let entities = seen["entities"].as_array().context("there is no list of entities")?;
        let found = entities.iter().find(|each| each["entity"] == entity);
        Ok(found.map(|found| found["vector"].clone()))
    }
}
