//! Where the key is that both sides share.

use std::ffi::OsString;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use evenkeel_net::token::KeyFileError;
use evenkeel_net::transport::tunnel::SharedKey;

/// Why there is no key.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum KeyError {
    /// Beyond this machine, somebody has to bring the key to the other side.
    #[error(
        "{address} is not on this machine, so both sides need the same key: make one with `evenkeel sync-ms key FILE`, \
         copy the file to the other side, and name it on both with --key FILE"
    )]
    Required {
        /// The address.
        address: SocketAddr,
    },
    /// There is no folder for a key.
    #[error(
        "neither XDG_STATE_HOME nor HOME is set, so there is no place for a key: name one with --key FILE"
    )]
    NoFolder,
    /// The key's file cannot be used.
    #[error(transparent)]
    File(#[from] KeyFileError),
}

/// Reads the key from this file. Without one, both sides on this machine share a key in the user's state folder; whoever
/// starts first makes it.
///
/// # Errors
/// [`KeyError`] says what to do.
pub fn find_key(file: Option<&Path>, address: SocketAddr) -> Result<SharedKey, KeyError> {
    if let Some(file) = file {
        return Ok(SharedKey::load(file)?);
    }
    if !address.ip().to_canonical().is_loopback() {
        return Err(KeyError::Required { address });
    }
    let folder = state_folder(|name| std::env::var_os(name)).ok_or(KeyError::NoFolder)?;
    Ok(SharedKey::load_or_make(&folder.join("sync-ms.key"))?)
}

fn state_folder(variable: impl Fn(&str) -> Option<OsString>) -> Option<PathBuf> {
    let set = |name| variable(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let base = set("XDG_STATE_HOME")
        .or_else(|| set("HOME").map(|home| home.join(".local").join("state")))
        .or_else(|| set("LOCALAPPDATA"))?;
    Some(base.join("evenkeel"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_state_folder_follows_the_environment() {
        let folder = |set: &[(&str, &str)]| {
            state_folder(|name| {
                set.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).into())
            })
        };
        assert_eq!(folder(&[("HOME", "/home/ada")]), Some("/home/ada/.local/state/evenkeel".into()));
        assert_eq!(folder(&[("XDG_STATE_HOME", "/s"), ("HOME", "/h")]), Some("/s/evenkeel".into()));
        assert_eq!(folder(&[("XDG_STATE_HOME", "")]), None);
    }

    #[test]
    fn beyond_this_machine_a_key_is_required() {
        let address = "192.0.2.1:7979".parse().expect("an address");
        let error = find_key(None, address).expect_err("no key").to_string();
        assert!(error.contains("--key FILE") && error.contains("192.0.2.1:7979"), "{error}");
        let missing = find_key(Some(Path::new("/none/such.key")), address).expect_err("no file");
        assert!(matches!(missing, KeyError::File(KeyFileError::Missing { .. })));
    }
}
