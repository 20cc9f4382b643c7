//! Tidiness as a test: what a reviewer should never have to say. [`text`] has the rules about a file's text, [`links`]
//! those about Markdown links and [`names`] the one about type names; this module applies them to the project's files.

mod links;
mod names;
mod text;

use std::collections::BTreeSet;
use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};

use crate::files;
use crate::fuzz::corpus;
use crate::layers;
use crate::metadata::Workspace;
use names::TypeNames;

/// The extensions of the files whose white space is checked.
const SPACED: [&str; 6] = ["rs", "toml", "md", "js", "html", "css"];

/// The entry that marks a `clippy.toml` that forbids clocks. The file at the root, which clippy falls back to, lacks it.
const CLOCK_BAN: &str = "std::time::Instant";

/// A breach of a rule, printed as `path:line: what`.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Finding {
    pub(crate) path: PathBuf,
    pub(crate) line: usize,
    pub(crate) what: String,
}

impl Finding {
    pub(crate) fn new(path: &Path, line: usize, what: impl Into<String>) -> Self {
        Self { path: path.to_path_buf(), line, what: what.into() }
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: {}", self.path.display(), self.line, self.what)
    }
}

pub(crate) fn run(root: &Path) -> Result<()> {
    let mut findings = Vec::new();
    let files = files::list(root)?;
    for path in &files {
        check_file(root, path, &mut findings)?;
    }
    let workspace = Workspace::read(root)?;
    check_clock_bans(root, &workspace, &mut findings)?;
    check_type_names(root, &workspace, &files, &mut findings)?;
    corpus::check(root, &files, &mut findings)?;
    if findings.is_empty() {
        return Ok(());
    }
    for finding in &findings {
        eprintln!("{finding}");
    }
    bail!("{} places to tidy: see the lines above", findings.len());
}

fn check_file(root: &Path, path: &Path, findings: &mut Vec<Finding>) -> Result<()> {
    let extension = path.extension().and_then(|extension| extension.to_str()).unwrap_or_default();
    if !SPACED.contains(&extension) {
        return Ok(());
    }
    let bytes = fs::read(root.join(path)).with_context(|| format!("cannot read {}", path.display()))?;
    let Ok(content) = String::from_utf8(bytes) else {
        findings.push(Finding::new(path, 1, "is not UTF-8: save it as UTF-8"));
        return Ok(());
    };
    text::check_space(path, &content, findings);
    match extension {
        "rs" => text::check_rust(path, &content, findings),
        "md" => links::check(root, path, &content, findings),
        _ => {}
    }
    Ok(())
}

/// Checks that a `clippy.toml` in each deterministic crate's folder, or its parent's, forbids clocks.
fn check_clock_bans(root: &Path, workspace: &Workspace, findings: &mut Vec<Finding>) -> Result<()> {
    for package in workspace.packages.iter().filter(|package| layers::is_deterministic(&package.name)) {
        let folders = [Some(package.folder.as_path()), package.folder.parent()];
        let nearest = folders
            .into_iter()
            .flatten()
            .map(|folder| root.join(folder).join("clippy.toml"))
            .find(|file| file.is_file());
        let bans = match nearest {
            Some(file) => {
                fs::read_to_string(&file).with_context(|| format!("cannot read {}", file.display()))?
            }
            None => String::new(),
        };
        if !bans.contains(CLOCK_BAN) {
            let what = format!(
                "{} is deterministic, but neither its folder nor its parent's has a clippy.toml that bans \
                 {CLOCK_BAN}: copy proto/clippy.toml",
                package.name
            );
            findings.push(Finding::new(&package.folder.join("Cargo.toml"), 1, what));
        }
    }
    Ok(())
}

/// Checks that each package's type names are unique.
fn check_type_names(
    root: &Path,
    workspace: &Workspace,
    files: &BTreeSet<PathBuf>,
    findings: &mut Vec<Finding>,
) -> Result<()> {
    for package in &workspace.packages {
        let mut names = TypeNames::default();
        let sources = package.folder.join("src");
        let is_rust = |path: &&PathBuf| path.extension().is_some_and(|extension| extension == "rs");
        for path in files.iter().filter(|path| path.starts_with(&sources)).filter(is_rust) {
            let bytes =
                fs::read(root.join(path)).with_context(|| format!("cannot read {}", path.display()))?;
            names.add(path, &String::from_utf8_lossy(&bytes));
        }
        names.report(&package.name, findings);
    }
    Ok(())
}
