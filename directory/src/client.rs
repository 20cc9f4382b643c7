//! Asking a directory.

use evenkeel_net::token::{IssuerId, Name};
use hyper::Method;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use url::Url;

use crate::http::{self, Call};
use crate::model::{Joining, Listing, Registered, Registration, Ticket};

/// Why a directory did not do as asked.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DirectoryError {
    /// The text is not an address of a directory.
    #[error("{url} is not a directory's address: expected http://HOST:PORT or https://HOST")]
    NotAnAddress {
        /// The text.
        url: String,
    },
    /// The directory could not be reached.
    #[error("the directory at {url} does not answer: {why}")]
    NoAnswer {
        /// What was asked for.
        url: String,
        /// Why.
        why: String,
    },
    /// The directory refused, in its words.
    #[error("{message}")]
    Refused {
        /// The HTTP status.
        status: u16,
        /// Its reason.
        message: String,
    },
    /// The answer is not a directory's.
    #[error("the answer of {url} is not a directory's: is this its address?")]
    Malformed {
        /// What was asked for.
        url: String,
    },
}

/// Asks a directory. Every method is one request; run it on a tokio runtime.
#[derive(Clone, Debug)]
pub struct DirectoryClient {
    base: Url,
    secret: Option<String>,
}

impl DirectoryClient {
    /// A client for the directory at this address.
    ///
    /// # Errors
    /// [`DirectoryError::NotAnAddress`].
    pub fn new(url: &str) -> Result<Self, DirectoryError> {
        let not_one = || DirectoryError::NotAnAddress { url: url.to_owned() };
        let base = Url::parse(url).map_err(|_| not_one())?;
        let fits = matches!(base.scheme(), "http" | "https") && base.has_host();
        if fits { Ok(Self { base, secret: None }) } else { Err(not_one()) }
    }

    /// Adds the secret that lets relays register.
    #[must_use]
    pub fn with_secret(mut self, secret: Option<String>) -> Self {
        self.secret = secret;
        self
    }

    /// Returns the public key that relays need as `issuer`.
    ///
    /// # Errors
    /// [`DirectoryError`], in words.
    pub async fn issuer(&self) -> Result<IssuerId, DirectoryError> {
        #[derive(Deserialize)]
        struct Issuer {
            issuer: String,
        }
        let url = self.base.join("/api/issuer").map_or_else(|_| self.base.to_string(), String::from);
        let answer: Issuer = self.call(Method::GET, "/api/issuer", Vec::new()).await?;
        IssuerId::parse(&answer.issuer).map_err(|_| DirectoryError::Malformed { url })
    }

    /// Lists all relays and their rooms.
    ///
    /// # Errors
    /// [`DirectoryError`], in words.
    pub async fn list(&self) -> Result<Listing, DirectoryError> {
        self.call(Method::GET, "/api/relays", Vec::new()).await
    }

    /// Asks for a token. `former` is an earlier one for the same room and name, if there is one.
    ///
    /// # Errors
    /// [`DirectoryError`], in words.
    pub async fn join(
        &self,
        relay: &Name,
        room: &Name,
        name: &Name,
        former: Option<&str>,
    ) -> Result<Ticket, DirectoryError> {
        let joining = Joining { name: name.to_string(), token: former.map(str::to_owned) };
        let path = format!("/api/relays/{relay}/rooms/{room}/join");
        self.call(Method::POST, &path, serde_json::to_vec(&joining).unwrap_or_default()).await
    }

    /// Registers a relay, or renews its registration.
    ///
    /// # Errors
    /// [`DirectoryError`], in words.
    pub async fn register(&self, registration: &Registration) -> Result<Registered, DirectoryError> {
        let body = serde_json::to_vec(registration).unwrap_or_default();
        self.call(Method::POST, "/api/relays", body).await
    }

    /// Takes a relay off the list.
    ///
    /// # Errors
    /// [`DirectoryError`], in words.
    pub async fn leave(&self, relay: &Name) -> Result<(), DirectoryError> {
        let _: serde_json::Value =
            self.call(Method::DELETE, &format!("/api/relays/{relay}"), Vec::new()).await?;
        Ok(())
    }

    async fn call<T: DeserializeOwned>(
        &self,
        method: Method,
        path: &str,
        body: Vec<u8>,
    ) -> Result<T, DirectoryError> {
        #[derive(Deserialize)]
        struct Refusal {
            error: String,
        }
        let not_one = |_| DirectoryError::NotAnAddress { url: self.base.to_string() };
        let url = self.base.join(path).map_err(not_one)?;
        let text = url.to_string();
        let (status, body) = http::send(Call { method, url, secret: self.secret.as_deref(), body }).await?;
        if (200..300).contains(&status) {
            return serde_json::from_slice(&body).map_err(|_| DirectoryError::Malformed { url: text });
        }
        match serde_json::from_slice::<Refusal>(&body) {
            Ok(Refusal { error }) => Err(DirectoryError::Refused { status, message: error }),
            Err(_) => Err(DirectoryError::Malformed { url: text }),
        }
    }
}
