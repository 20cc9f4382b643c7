//! Which crate may import which. A protocol must not depend on the simulator, and a deterministic crate must not depend
//! on one that reads a clock. Cargo checks neither; this check compares the manifests with the table below.

use std::path::Path;

use anyhow::{Result, bail};

use crate::metadata::{Kind, Package, Workspace};

/// The normal and build dependencies that one crate may have.
struct Rule {
    name: &'static str,
    /// Crates of the workspace.
    ours: &'static [&'static str],
    /// Crates from elsewhere.
    outside: Outside,
}

#[derive(Clone, Copy)]
enum Outside {
    Any,
    /// The crate is deterministic; these dependencies compute the same results everywhere.
    Only(&'static [&'static str]),
}

const PURE: Outside = Outside::Only(&["libm", "thiserror"]);
/// Hashes and signatures, which are functions of their input: Ed25519 draws no random numbers to sign.
const CRYPTO: Outside = Outside::Only(&["blake3", "ed25519-dalek", "libm", "thiserror"]);

/// One row per crate of the workspace.
#[rustfmt::skip]
const RULES: &[Rule] = &[
    Rule { name: "evenkeel-core",  outside: PURE, ours: &[] },
    Rule { name: "evenkeel-session", outside: PURE, ours: &["evenkeel-core"] },
    Rule { name: "evenkeel-dr",    outside: PURE, ours: &["evenkeel-core", "evenkeel-session"] },
    Rule { name: "evenkeel-sync-ms", outside: PURE, ours: &["evenkeel-core", "evenkeel-session"] },
    Rule { name: "evenkeel-neo",   outside: CRYPTO, ours: &["evenkeel-core"] },
    Rule { name: "evenkeel-objects", outside: PURE, ours: &["evenkeel-core", "evenkeel-session"] },
    // What combines protocols, which import none of each other.
    Rule { name: "evenkeel-game",  outside: PURE,
           ours: &["evenkeel-core", "evenkeel-session", "evenkeel-dr", "evenkeel-sync-ms", "evenkeel-objects"] },
    Rule { name: "evenkeel-link",  outside: PURE, ours: &["evenkeel-core"] },
    // A link in front of any UDP program, without an async runtime.
    Rule { name: "evenkeel-conditioner", outside: Outside::Any, ours: &["evenkeel-core", "evenkeel-link"] },
    Rule { name: "evenkeel-sim",   outside: PURE, ours: &["evenkeel-core", "evenkeel-link"] },
    Rule { name: "evenkeel-net",   outside: Outside::Any,
           ours: &["evenkeel-core", "evenkeel-link"] },
    // Pages and APIs over HTTP. It knows nothing of ours.
    Rule { name: "evenkeel-http",  outside: Outside::Any, ours: &[] },
    // Peer to peer. It hands its connections to the crank of `net`.
    Rule { name: "evenkeel-p2p",   outside: Outside::Any,
           ours: &["evenkeel-core", "evenkeel-link", "evenkeel-net"] },
    Rule { name: "evenkeel-serve", outside: Outside::Any,
           ours: &["evenkeel-core", "evenkeel-session", "evenkeel-dr", "evenkeel-sync-ms", "evenkeel-objects", "evenkeel-game",
                   "evenkeel-net", "evenkeel-http"] },
    // How players find relays and rooms.
    Rule { name: "evenkeel-directory", outside: Outside::Any, ours: &["evenkeel-net", "evenkeel-serve"] },
    // Sync-MS in front of games that know nothing of it.
    Rule { name: "evenkeel-proxy", outside: Outside::Any,
           ours: &["evenkeel-core", "evenkeel-sync-ms", "evenkeel-link", "evenkeel-net", "evenkeel-http"] },
    // What games depend on: it re-exports, and adds nothing.
    Rule { name: "evenkeel",       outside: Outside::Any,
           ours: &["evenkeel-core", "evenkeel-session", "evenkeel-dr", "evenkeel-sync-ms", "evenkeel-objects", "evenkeel-game",
                   "evenkeel-link", "evenkeel-sim", "evenkeel-net", "evenkeel-serve"] },
    Rule { name: "evenkeel-games", outside: PURE,
           ours: &["evenkeel-core", "evenkeel-session", "evenkeel-dr", "evenkeel-neo", "evenkeel-game"] },
    // The browser's files, embedded.
    Rule { name: "evenkeel-web",   outside: Outside::Any, ours: &[] },
    Rule { name: "evenkeel-arena", outside: Outside::Any,
           ours: &["evenkeel-web", "evenkeel-core", "evenkeel-session", "evenkeel-dr", "evenkeel-sync-ms", "evenkeel-game",
                   "evenkeel-link", "evenkeel-net", "evenkeel-serve", "evenkeel-games"] },
    // The Eater game over peer-to-peer connections.
    Rule { name: "evenkeel-eater", outside: Outside::Any,
           ours: &["evenkeel-web", "evenkeel-core", "evenkeel-neo", "evenkeel-link", "evenkeel-sim", "evenkeel-net",
                   "evenkeel-http", "evenkeel-p2p", "evenkeel-serve", "evenkeel-games"] },
    Rule { name: "evenkeel-soak",  outside: Outside::Any,
           ours: &["evenkeel-core", "evenkeel-session", "evenkeel-dr", "evenkeel-link", "evenkeel-net", "evenkeel-serve",
                   "evenkeel-games", "evenkeel-arena"] },
    Rule { name: "evenkeel-lab",   outside: Outside::Any,
           ours: &["evenkeel-core", "evenkeel-dr", "evenkeel-sync-ms", "evenkeel-neo", "evenkeel-link", "evenkeel-sim",
                   "evenkeel-net", "evenkeel-serve", "evenkeel-games"] },
    // It plays machines in the simulator, and nothing else: what is built on sockets is tested by the soak.
    Rule { name: "evenkeel-campaign", outside: Outside::Any,
           ours: &["evenkeel-core", "evenkeel-dr", "evenkeel-sync-ms", "evenkeel-neo", "evenkeel-objects", "evenkeel-link",
                   "evenkeel-sim"] },
    Rule { name: "evenkeel-cli",   outside: Outside::Any,
           ours: &["evenkeel-core", "evenkeel-dr", "evenkeel-sync-ms", "evenkeel-game", "evenkeel-link", "evenkeel-conditioner",
                   "evenkeel-net", "evenkeel-serve", "evenkeel-directory", "evenkeel-proxy", "evenkeel-games", "evenkeel-arena", "evenkeel-soak", "evenkeel-lab",
                   "evenkeel-p2p", "evenkeel-eater"] },
    // It tests from outside: through the binary and what it serves.
    Rule { name: "evenkeel-web-test", outside: Outside::Any, ours: &[] },
    Rule { name: "xtask",          outside: Outside::Any, ours: &[] },
];

/// Folders that not even the tests under `proto/` may import from: a protocol's tests drive its machines by hand with a
/// virtual clock, and can be published without a driver.
const CRANKS: [&str; 10] =
    ["drive", "serve", "directory", "proxy", "evenkeel", "arena", "soak", "lab", "campaign", "cli"];

pub(crate) fn run(root: &Path) -> Result<()> {
    let breaches = breaches(&Workspace::read(root)?);
    if breaches.is_empty() {
        return Ok(());
    }
    bail!("{}\nthe rules are the table in xtask/src/layers.rs", breaches.join("\n"));
}

/// Whether the table lists the crate as deterministic.
pub(crate) fn is_deterministic(name: &str) -> bool {
    RULES.iter().any(|rule| rule.name == name && matches!(rule.outside, Outside::Only(_)))
}

/// Every import that the table does not allow, as a sentence naming crate, import and rule.
fn breaches(workspace: &Workspace) -> Vec<String> {
    let mut breaches = Vec::new();
    for package in &workspace.packages {
        match RULES.iter().find(|rule| rule.name == package.name) {
            Some(rule) => check_linked(workspace, package, rule, &mut breaches),
            None => breaches
                .push(format!("{}: no rule says what it may import: add it to the table", package.name)),
        }
        if package.folder.starts_with("proto") {
            check_tests(workspace, package, &mut breaches);
        }
    }
    breaches
}

fn check_linked(workspace: &Workspace, package: &Package, rule: &Rule, breaches: &mut Vec<String>) {
    for dependency in package.dependencies.iter().filter(|dependency| dependency.kind != Kind::Dev) {
        let import = dependency.name.as_str();
        if workspace.package(import).is_some() {
            if !rule.ours.contains(&import) {
                let allowed = spelled(rule.ours);
                breaches.push(format!(
                    "{}: imports {import}, but of our crates it may import {allowed}",
                    rule.name
                ));
            }
        } else if let Outside::Only(allowed) = rule.outside
            && !allowed.contains(&import)
        {
            let allowed = spelled(allowed);
            breaches.push(format!(
                "{}: imports {import}, but it is deterministic and from outside may import {allowed}",
                rule.name
            ));
        }
    }
}

fn check_tests(workspace: &Workspace, package: &Package, breaches: &mut Vec<String>) {
    for dependency in package.dependencies.iter().filter(|dependency| dependency.kind == Kind::Dev) {
        let Some(import) = workspace.package(&dependency.name) else { continue };
        if CRANKS.iter().any(|crank| import.folder.starts_with(crank)) {
            breaches.push(format!(
                "{}: its tests import {}, but no crate under proto/ may import from {}, not even in tests",
                package.name,
                import.name,
                CRANKS.join("/, ") + "/"
            ));
        }
    }
}

fn spelled(names: &[&str]) -> String {
    if names.is_empty() { "nothing".to_owned() } else { format!("only {}", names.join(", ")) }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    /// Names of dependencies and their kinds, as cargo spells them.
    type Imports<'a> = &'a [(&'a str, Option<&'a str>)];

    /// The breaches of a workspace of these packages: name, folder and imports.
    fn breaches_of(packages: &[(&str, &str, Imports<'_>)]) -> Vec<String> {
        let packages: Vec<Value> = packages
            .iter()
            .map(|(name, folder, dependencies)| {
                let dependencies: Vec<Value> = dependencies
                    .iter()
                    .map(|(name, kind)| json!({ "name": name, "kind": kind, "rename": null }))
                    .collect();
                let manifest = format!("/checkout/{folder}/Cargo.toml");
                json!({ "name": name, "manifest_path": manifest, "dependencies": dependencies })
            })
            .collect();
        let document = json!({ "workspace_root": "/checkout", "packages": packages });
        breaches(&Workspace::parse(&document).expect("the document is well formed"))
    }

    #[test]
    fn allowed_graph_passes() {
        let found = breaches_of(&[
            ("evenkeel-core", "proto/core", &[("libm", None), ("proptest", Some("dev"))]),
            ("evenkeel-dr", "proto/dr", &[("evenkeel-core", None), ("thiserror", None)]),
            ("evenkeel-lab", "lab", &[("evenkeel-dr", None), ("serde", None)]),
            ("xtask", "xtask", &[("anyhow", None)]),
        ]);
        assert_eq!(found, Vec::<String>::new());
    }

    #[test]
    fn forbidden_import_is_named_with_its_rule() {
        let found = breaches_of(&[
            ("evenkeel-core", "proto/core", &[]),
            ("evenkeel-dr", "proto/dr", &[("evenkeel-sim", None)]),
            ("evenkeel-sim", "drive/sim", &[]),
        ]);
        assert_eq!(
            found,
            [
                "evenkeel-dr: imports evenkeel-sim, but of our crates it may import only evenkeel-core, evenkeel-session"
            ]
        );
    }

    #[test]
    fn the_lab_may_import_neither_arena_nor_soak() {
        let found = breaches_of(&[
            ("evenkeel-arena", "arena", &[("evenkeel-sim", Some("dev"))]),
            ("evenkeel-soak", "soak", &[("evenkeel-arena", None)]),
            ("evenkeel-lab", "lab", &[("evenkeel-arena", None), ("evenkeel-soak", None)]),
        ]);
        assert_eq!(found.len(), 2, "{found:?}");
        assert!(found[0].starts_with("evenkeel-lab: imports evenkeel-arena, but"), "{found:?}");
        assert!(found[1].starts_with("evenkeel-lab: imports evenkeel-soak, but"), "{found:?}");
    }

    #[test]
    fn build_dependency_counts_as_an_import() {
        let found = breaches_of(&[
            ("evenkeel-core", "proto/core", &[]),
            ("xtask", "xtask", &[("evenkeel-core", Some("build"))]),
        ]);
        assert_eq!(found, ["xtask: imports evenkeel-core, but of our crates it may import nothing"]);
    }

    #[test]
    fn deterministic_crate_imports_only_listed_outside_crates() {
        let found = breaches_of(&[("evenkeel-games", "games", &[("rand", None)])]);
        assert_eq!(found.len(), 1, "{found:?}");
        assert!(found[0].starts_with("evenkeel-games: imports rand, but it is deterministic"), "{found:?}");
    }

    #[test]
    fn crate_without_a_rule_is_an_error() {
        let found = breaches_of(&[("evenkeel-new", "proto/new", &[])]);
        assert_eq!(found, ["evenkeel-new: no rule says what it may import: add it to the table"]);
    }

    #[test]
    fn protocol_tests_may_not_import_the_simulator() {
        let simulator = ("evenkeel-sim", "drive/sim", [].as_slice());
        let found = breaches_of(&[simulator, ("evenkeel-dr", "proto/dr", &[("evenkeel-sim", Some("dev"))])]);
        assert_eq!(found.len(), 1, "{found:?}");
        assert!(found[0].starts_with("evenkeel-dr: its tests import evenkeel-sim"), "{found:?}");

        let found = breaches_of(&[simulator, ("evenkeel-lab", "lab", &[("evenkeel-sim", Some("dev"))])]);
        assert_eq!(found, Vec::<String>::new());
    }
}
