//! Licences, bans and sources of every package in the graphs of both workspaces, checked against `deny.toml`.
//!
//! The file is cargo-deny's, which can check more (its header says what is checked here). This check needs neither
//! cargo-deny nor the network, so it runs on every machine. Cargo downloads a package only if its cache lacks it.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use anyhow::{Context, Result, bail};
use serde::Deserialize;
use serde_json::Value;
use spdx::{Expression, Licensee, ParseMode};

use crate::cargo;
use crate::metadata;

/// What `deny.toml` allows, as the file spells it.
#[derive(Deserialize)]
struct DenyFile {
    licenses: LicenceSection,
    bans: BanSection,
    sources: SourceSection,
}

#[derive(Deserialize)]
struct LicenceSection {
    allow: Vec<String>,
    #[serde(default)]
    exceptions: Vec<LicenceException>,
}

#[derive(Deserialize)]
struct LicenceException {
    #[serde(rename = "crate")]
    name: String,
    allow: Vec<String>,
}

#[derive(Deserialize)]
struct BanSection {
    deny: Vec<Ban>,
}

#[derive(Deserialize)]
struct Ban {
    #[serde(rename = "crate")]
    name: String,
    reason: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "kebab-case")]
struct SourceSection {
    allow_registry: Vec<String>,
    allow_git: Vec<String>,
}

/// The rules of `deny.toml`, parsed.
struct Policy {
    licences: Vec<Licensee>,
    /// Licences allowed besides for single crates.
    exceptions: Vec<(String, Vec<Licensee>)>,
    bans: Vec<Ban>,
    sources: SourceSection,
}

/// A package of the dependency graph.
struct GraphPackage<'a> {
    name: &'a str,
    version: &'a str,
    licence: Option<&'a str>,
    /// `None` for a path.
    source: Option<&'a str>,
}

pub(crate) fn run(root: &Path) -> Result<()> {
    let text = fs::read_to_string(root.join("deny.toml")).context("cannot read deny.toml")?;
    let policy = Policy::parse(&text)?;
    let mut violations = BTreeSet::new();
    for manifest in cargo::MANIFESTS {
        let document = metadata::document(root, &["--all-features", "--manifest-path", manifest])?;
        policy.check(&document, &mut violations)?;
    }
    if violations.is_empty() {
        return Ok(());
    }
    let lines: Vec<String> = violations.into_iter().collect();
    bail!(
        "{}\nchoose another crate, or change deny.toml and say there why; \
         `cargo tree --invert NAME --target all --all-features` shows what depends on a crate",
        lines.join("\n")
    );
}

impl Policy {
    fn parse(text: &str) -> Result<Self> {
        let DenyFile { licenses, bans, sources } =
            toml::from_str(text).context("deny.toml is not what `cargo xtask deny` understands")?;
        let exceptions = licenses.exceptions.into_iter();
        let exceptions = exceptions.map(|exception| Ok((exception.name, licensees(&exception.allow)?)));
        let policy = Self {
            licences: licensees(&licenses.allow)?,
            exceptions: exceptions.collect::<Result<_>>()?,
            bans: bans.deny,
            sources,
        };
        let names = policy.exceptions.iter().map(|(name, _)| name);
        for name in names.chain(policy.bans.iter().map(|ban| &ban.name)) {
            if !name.chars().all(|char| char.is_ascii_alphanumeric() || matches!(char, '-' | '_')) {
                bail!(
                    "deny.toml: `{name}` is more than a crate's name, which `cargo xtask deny` cannot check"
                );
            }
        }
        Ok(policy)
    }

    /// Checks every package that `cargo metadata` lists.
    fn check(&self, document: &Value, violations: &mut BTreeSet<String>) -> Result<()> {
        for package in metadata::list(document, "packages")? {
            let package = GraphPackage::parse(package)?;
            let found =
                [self.licence_violation(&package), self.ban(&package), self.source_violation(&package)];
            let found = found.into_iter().flatten();
            violations.extend(found.map(|what| format!("{} {}: {what}", package.name, package.version)));
        }
        Ok(())
    }

    fn licence_violation(&self, package: &GraphPackage<'_>) -> Option<String> {
        let Some(licence) = package.licence else {
            return Some(
                "has no `license` in its manifest (a `license-file` alone cannot be checked)".to_owned(),
            );
        };
        // Old manifests separate alternatives with a slash.
        let expression = match Expression::parse_mode(licence, ParseMode::LAX) {
            Ok(expression) => expression,
            Err(error) => {
                return Some(format!("its licence `{licence}` is no SPDX expression: {}", error.reason));
            }
        };
        let exceptions = self.exceptions.iter().filter(|(name, _)| name == package.name);
        let allowed: Vec<&Licensee> =
            self.licences.iter().chain(exceptions.flat_map(|(_, licences)| licences)).collect();
        let is_allowed = expression.evaluate(|term| allowed.iter().any(|licence| licence.satisfies(term)));
        (!is_allowed).then(|| format!("its licence `{licence}` is not allowed"))
    }

    fn ban(&self, package: &GraphPackage<'_>) -> Option<String> {
        let ban = self.bans.iter().find(|ban| ban.name == package.name)?;
        Some(format!("is banned: {}", ban.reason))
    }

    fn source_violation(&self, package: &GraphPackage<'_>) -> Option<String> {
        let source = package.source?;
        let is_allowed = match source.split_once('+') {
            Some(("registry" | "sparse", url)) => {
                self.sources.allow_registry.iter().any(|allowed| allowed == url)
            }
            Some(("git", url)) => {
                let repository = url.split(['?', '#']).next();
                self.sources.allow_git.iter().any(|allowed| Some(allowed.as_str()) == repository)
            }
            _ => false,
        };
        (!is_allowed).then(|| format!("comes from `{source}`, which is not allowed"))
    }
}

impl<'a> GraphPackage<'a> {
    fn parse(package: &'a Value) -> Result<Self> {
        Ok(Self {
            name: metadata::text(package, "name")?,
            version: metadata::text(package, "version")?,
            licence: package["license"].as_str(),
            source: package["source"].as_str(),
        })
    }
}

fn licensees(names: &[String]) -> Result<Vec<Licensee>> {
    let parse = |name: &String| {
        Licensee::parse(name).ok().with_context(|| format!("deny.toml: `{name}` is no SPDX licence"))
    };
    names.iter().map(parse).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const FILE: &str = r#"
        [licenses]
        allow = ["MIT", "Apache-2.0", "ISC"]
        exceptions = [{ crate = "roots", allow = ["CDLA-Permissive-2.0"] }]
        [bans]
        multiple-versions = "warn"
        deny = [{ crate = "openssl-sys", reason = "use ring" }]
        [sources]
        allow-registry = ["https://github.com/rust-lang/crates.io-index"]
        allow-git = ["https://example.org/allowed"]
    "#;
    const CRATES_IO: &str = "registry+https://github.com/rust-lang/crates.io-index";

    /// The violations of one package.
    fn violations(name: &str, licence: Option<&str>, source: Option<&str>) -> Vec<String> {
        let package = json!({ "name": name, "version": "1.2.3", "license": licence, "source": source });
        let mut violations = BTreeSet::new();
        let policy = Policy::parse(FILE).expect("the file is well formed");
        policy.check(&json!({ "packages": [package] }), &mut violations).expect("the package is well formed");
        violations.into_iter().collect()
    }

    const NOTHING: [&str; 0] = [];

    #[test]
    fn allowed_packages_pass() {
        for licence in ["MIT", "MIT/Apache-2.0", "GPL-3.0-only OR MIT", "(GPL-2.0 OR MIT) AND ISC"] {
            assert_eq!(violations("serde", Some(licence), Some(CRATES_IO)), NOTHING, "{licence}");
        }
        assert_eq!(violations("ours", Some("MIT"), None), NOTHING);
    }

    #[test]
    fn bad_licence_is_named_with_its_package() {
        for licence in ["GPL-3.0-only", "MIT AND GPL-3.0-only", "Apache-2.0 WITH LLVM-exception"] {
            let found = violations("copyleft", Some(licence), Some(CRATES_IO));
            assert_eq!(found, [format!("copyleft 1.2.3: its licence `{licence}` is not allowed")]);
        }
        let found = violations("odd", Some("as you like"), Some(CRATES_IO));
        assert!(
            found[0].starts_with("odd 1.2.3: its licence `as you like` is no SPDX expression"),
            "{found:?}"
        );
    }

    #[test]
    fn missing_licence_is_named_with_its_package() {
        let found = violations("silent", None, Some(CRATES_IO));
        assert!(found[0].starts_with("silent 1.2.3: has no `license`"), "{found:?}");
    }

    #[test]
    fn exception_holds_for_one_package_only() {
        assert_eq!(violations("roots", Some("CDLA-Permissive-2.0"), Some(CRATES_IO)), NOTHING);
        assert_eq!(violations("others", Some("CDLA-Permissive-2.0"), Some(CRATES_IO)).len(), 1);
    }

    #[test]
    fn banned_package_is_named_with_the_reason() {
        let found = violations("openssl-sys", Some("MIT"), Some(CRATES_IO));
        assert_eq!(found, ["openssl-sys 1.2.3: is banned: use ring"]);
    }

    #[test]
    fn unknown_registries_and_repositories_are_named() {
        for source in ["registry+https://example.org/index", "git+https://example.org/fork?branch=main#0123"]
        {
            let found = violations("serde", Some("MIT"), Some(source));
            assert_eq!(found, [format!("serde 1.2.3: comes from `{source}`, which is not allowed")]);
        }
        assert_eq!(violations("serde", Some("MIT"), Some("git+https://example.org/allowed#0123")), NOTHING);
    }

    #[test]
    fn versions_in_a_ban_are_rejected() {
        let file = FILE.replace("openssl-sys", "openssl-sys@0.9");
        let error = Policy::parse(&file).err().expect("it is not understood");
        assert!(error.to_string().contains("`openssl-sys@0.9`"), "{error}");
    }

    #[test]
    fn the_projects_file_is_understood() {
        let path = crate::workspace_root().join("deny.toml");
        let policy = Policy::parse(&fs::read_to_string(path).expect("deny.toml exists"));
        assert!(!policy.expect("deny.toml is well formed").licences.is_empty());
    }
}
