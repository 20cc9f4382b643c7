//! Tidiness as a test: what a reviewer should never have to say. The rules about a file's text are in [`text`], those
//! about Markdown links in [`links`]; here they are applied to the project's files.

mod links;
mod text;

use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};

use crate::Outcome;
use crate::files;
use crate::layers;
use crate::metadata::Workspace;

/// The extensions of the files whose white space is checked.
const SPACED: [&str; 6] = ["rs", "toml", "md", "js", "html", "css"];

/// What a `clippy.toml` that forbids clocks has to name. The one at the root does not, and clippy would find it
/// for a crate that has none of its own.
const CLOCK_BAN: &str = "std::time::Instant";

/// One thing to repair, printed as `path:line: what`.
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

pub(crate) fn run(root: &Path) -> Result<Outcome> {
    let mut findings = Vec::new();
    for path in files::list(root)? {
        check_file(root, &path, &mut findings)?;
    }
    check_promises(root, &Workspace::read(root)?, &mut findings)?;
    if findings.is_empty() {
        return Ok(Outcome::Passed);
    }
    for finding in &findings {
        eprintln!("{finding}");
    }
    bail!("{} places to tidy: repair the lines above", findings.len());
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

/// Each deterministic crate's promise is kept by a `clippy.toml` in its own folder or its parent's.
fn check_promises(root: &Path, workspace: &Workspace, findings: &mut Vec<Finding>) -> Result<()> {
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
