//! Whether every crate could be published: what a registry asks for, the files that the package would have, that Cargo packs
//! the whole workspace, that the change log knows the version, and that a game's client brings no HTTP server along. It needs
//! no network, and compiles nothing: the other checks do.

use std::path::{Component, Path, PathBuf};

use anyhow::{Context, Result, bail};

use crate::metadata::{Kind, Package, Workspace};
use crate::{cargo, files};

/// The limits of crates.io.
const KEYWORDS_MAX: usize = 5;
const KEYWORD_LEN_MAX: usize = 20;
const CATEGORIES_MAX: usize = 5;

/// Both texts that `license` names.
const LICENCES: [&str; 2] = ["LICENSE-APACHE", "LICENSE-MIT"];

/// What the crate that games depend on must not bring along for a client.
const SERVERS: [&str; 5] = ["axum", "hyper", "hyper-util", "tower-http", "tokio-rustls"];
const FACADE: &str = "evenkeel";

pub(crate) fn run(root: &Path) -> Result<()> {
    let workspace = Workspace::read(root)?;
    let mut problems = Vec::new();
    let published = || workspace.packages.iter().filter(|package| package.is_published);
    for package in published() {
        check_listing(package, &mut problems);
        check_dependencies(&workspace, package, &mut problems);
        check_files(root, package, &mut problems)?;
    }
    pack(root, &mut problems)?;
    check_version(root, &mut problems)?;
    check_includes(root, &published().collect::<Vec<_>>(), &mut problems)?;
    check_client(root, &mut problems)?;
    if problems.is_empty() {
        println!("{} crates could be published", published().count());
        return Ok(());
    }
    bail!("{}", problems.join("\n"));
}

fn check_listing(package: &Package, problems: &mut Vec<String>) {
    let Package { name, listing, .. } = package;
    for (key, value) in [
        ("description", &listing.description),
        ("license", &listing.license),
        ("repository", &listing.repository),
        ("readme", &listing.readme),
        ("rust-version", &listing.rust_version),
    ] {
        if value.is_empty() {
            problems.push(format!("{name}: its manifest lacks `{key}`"));
        }
    }
    let fits = |values: &[String], most| (1..=most).contains(&values.len());
    let is_keyword = |word: &String| {
        word.len() <= KEYWORD_LEN_MAX
            && word.starts_with(|first: char| first.is_ascii_alphanumeric())
            && word.chars().all(|letter| letter.is_ascii_alphanumeric() || "_-+".contains(letter))
    };
    if !fits(&listing.keywords, KEYWORDS_MAX) || !listing.keywords.iter().all(is_keyword) {
        problems.push(format!(
            "{name}: crates.io takes 1 to {KEYWORDS_MAX} keywords of at most {KEYWORD_LEN_MAX} letters, digits, -, _ or +"
        ));
    }
    if !fits(&listing.categories, CATEGORIES_MAX) {
        problems.push(format!("{name}: crates.io takes 1 to {CATEGORIES_MAX} categories"));
    }
}

/// A published crate depends on published crates, by version.
fn check_dependencies(workspace: &Workspace, package: &Package, problems: &mut Vec<String>) {
    for dependency in package.dependencies.iter().filter(|dependency| dependency.kind != Kind::Dev) {
        let Some(ours) = workspace.package(&dependency.name) else { continue };
        if !ours.is_published {
            problems.push(format!("{}: imports {}, which is not published", package.name, ours.name));
        }
        if !dependency.has_version {
            problems.push(format!("{}: imports {} without a version", package.name, ours.name));
        }
    }
}

/// The files of the package, by `cargo package --list`.
fn check_files(root: &Path, package: &Package, problems: &mut Vec<String>) -> Result<()> {
    let mut list = cargo::command(root);
    list.args(["package", "--list", "--allow-dirty", "--offline", "--package", &package.name]);
    let output = list.output().context("cannot start `cargo package`: is cargo installed?")?;
    if !output.status.success() {
        let words = String::from_utf8_lossy(&output.stderr);
        problems.push(format!("{}: `cargo package --list` failed: {}", package.name, words.trim()));
        return Ok(());
    }
    let listed = String::from_utf8_lossy(&output.stdout);
    let readme = package.listing.readme.as_str();
    for wanted in [readme, LICENCES[0], LICENCES[1]] {
        if !listed.lines().any(|file| file == wanted) {
            let advice = if wanted == readme { "" } else { ": link it to the one at the top" };
            problems.push(format!("{}: the package would lack {wanted}{advice}", package.name));
        }
    }
    Ok(())
}

/// Packs all crates, as `cargo publish` would, each with the others of the workspace in place of published ones.
fn pack(root: &Path, problems: &mut Vec<String>) -> Result<()> {
    let mut packing = cargo::command(root);
    packing.args(["package", "--workspace", "--no-verify", "--allow-dirty", "--offline", "--quiet"]);
    let output = packing.output().context("cannot start `cargo package`: is cargo installed?")?;
    if !output.status.success() {
        let words = String::from_utf8_lossy(&output.stderr);
        problems.push(format!("`cargo package --workspace` failed: {}", words.trim()));
    }
    Ok(())
}

/// The change log has a section for the workspace's version.
fn check_version(root: &Path, problems: &mut Vec<String>) -> Result<()> {
    let read =
        |name: &str| std::fs::read_to_string(root.join(name)).with_context(|| format!("cannot read {name}"));
    let (manifest, log) = (read("Cargo.toml")?, read("CHANGELOG.md")?);
    let version = manifest.lines().find_map(|line| line.strip_prefix("version = \"")?.strip_suffix('"'));
    let version = version.context("Cargo.toml has no line `version = \"...\"`")?;
    if !has_release(&log, version) {
        problems.push(format!("CHANGELOG.md: no section `## {version} - YYYY-MM-DD`"));
    }
    Ok(())
}

/// Whether a change log has a section for a version, with its date.
fn has_release(log: &str, version: &str) -> bool {
    let dates =
        log.lines().filter_map(|line| line.strip_prefix("## ")?.strip_prefix(version)?.strip_prefix(" - "));
    let is_date = |date: &str| {
        let parts: Vec<&str> = date.split('-').collect();
        let digits = parts.iter().all(|part| part.bytes().all(|byte| byte.is_ascii_digit()));
        digits && parts.iter().map(|part| part.len()).eq([4, 2, 2])
    };
    dates.into_iter().any(is_date)
}

/// Files that a crate's code includes must lie in its folder. Tests may include others: they are not compiled for users.
fn check_includes(root: &Path, packages: &[&Package], problems: &mut Vec<String>) -> Result<()> {
    for path in files::list(root)?.iter().filter(|path| path.extension().is_some_and(|end| end == "rs")) {
        let within = |package: &&&Package| path.starts_with(package.folder.join("src"));
        let Some(package) = packages.iter().find(within) else { continue };
        let text = std::fs::read_to_string(root.join(path))
            .with_context(|| format!("cannot read {}", path.display()))?;
        for included in outside_includes(&text) {
            let target = normal(&path.parent().unwrap_or(path).join(included));
            if !target.starts_with(&package.folder) {
                problems
                    .push(format!("{}: includes {included}, which its package would lack", path.display()));
            }
        }
    }
    Ok(())
}

/// The paths of `include_str!` and `include_bytes!` that begin with `..`, outside of tests.
fn outside_includes(text: &str) -> impl Iterator<Item = &str> {
    let tests = ["#[cfg(test)]", "#[cfg(doctest)]"].iter().filter_map(|mark| text.find(mark)).min();
    let code = &text[..tests.unwrap_or(text.len())];
    ["include_str!(\"", "include_bytes!(\""].into_iter().flat_map(|call| {
        let calls = code.split(call).skip(1);
        calls.filter_map(|rest| rest.split('"').next()).filter(|path| path.starts_with(".."))
    })
}

/// A relative path without `..` after a name.
fn normal(path: &Path) -> PathBuf {
    let mut clean = PathBuf::new();
    for part in path.components() {
        match part {
            Component::ParentDir if clean.file_name().is_some() => {
                clean.pop();
            }
            part => clean.push(part),
        }
    }
    clean
}

/// A client brings no HTTP server along.
fn check_client(root: &Path, problems: &mut Vec<String>) -> Result<()> {
    let mut tree = cargo::command(root);
    tree.args([
        "tree",
        "--locked",
        "--offline",
        "--edges",
        "normal",
        "--prefix",
        "none",
        "--package",
        FACADE,
    ]);
    tree.args(["--no-default-features", "--features", "client"]);
    let output = tree.output().context("cannot start `cargo tree`: is cargo installed?")?;
    if !output.status.success() {
        bail!("`cargo tree` failed:\n{}", String::from_utf8_lossy(&output.stderr).trim_end());
    }
    let listed = String::from_utf8_lossy(&output.stdout);
    for server in SERVERS {
        if listed.lines().any(|line| line.split(' ').next() == Some(server)) {
            problems.push(format!("{FACADE}: its feature `client` brings {server} along: an HTTP server"));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::metadata::Listing;

    fn problems_of(change: impl FnOnce(&mut Listing)) -> Vec<String> {
        let text = || "text".to_owned();
        let mut listing = Listing {
            description: text(),
            license: text(),
            repository: text(),
            readme: text(),
            rust_version: text(),
            keywords: vec![text()],
            categories: vec![text()],
        };
        change(&mut listing);
        let (name, folder) = ("evenkeel-a".to_owned(), PathBuf::from("a"));
        let package = Package { name, folder, dependencies: Vec::new(), is_published: true, listing };
        let mut problems = Vec::new();
        check_listing(&package, &mut problems);
        problems
    }

    #[test]
    fn what_a_registry_asks_for_is_missed() {
        assert_eq!(problems_of(|_| {}), Vec::<String>::new());
        assert_eq!(
            problems_of(|listing| listing.readme.clear()),
            ["evenkeel-a: its manifest lacks `readme`"]
        );
        assert_eq!(problems_of(|listing| listing.keywords.clear()).len(), 1);
        assert_eq!(problems_of(|listing| listing.keywords[0] = "two words".to_owned()).len(), 1);
        assert_eq!(problems_of(|listing| listing.categories = vec![String::new(); 6]).len(), 1);
    }

    #[test]
    fn a_release_has_a_section_with_a_date() {
        assert!(has_release("# Changelog\n\n## 0.1.0 - 2026-11-19\n", "0.1.0"));
        for other in
            ["## Unreleased", "## 0.1.0", "## 0.1.0 - soon", "## 0.1.01 - 2026-11-19", "0.1.0 - 2026-11-19"]
        {
            assert!(!has_release(other, "0.1.0"), "{other}");
        }
    }

    #[test]
    fn files_from_outside_are_found_unless_tests_include_them() {
        let code = "const A: &str = include_str!(\"../../b.md\");\n#[cfg(test)]\nconst C: &str = include_str!(\"../c\");";
        assert_eq!(outside_includes(code).collect::<Vec<_>>(), ["../../b.md"]);
        assert_eq!(normal(Path::new("a/src/../../docs/b.md")), Path::new("docs/b.md"));
        assert_eq!(normal(Path::new("../b")), Path::new("../b"));
    }
}
