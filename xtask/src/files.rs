//! The project's files: those that git tracks or would track.
//!
//! A source archive on a machine without git has to pass the same checks, so the folders are walked where git cannot
//! answer.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};

/// The files of the project at `root`, relative to it, without those tracked but deleted.
pub(crate) fn list(root: &Path) -> Result<BTreeSet<PathBuf>> {
    if let Some(files) = list_by_git(root) {
        return Ok(files);
    }
    println!("git cannot list the files here: checking all files outside the folders of .gitignore");
    list_by_walk(root)
}

/// `None` if git is missing or fails, or if the folder lies ignored in another repository.
fn list_by_git(root: &Path) -> Option<BTreeSet<PathBuf>> {
    let output = Command::new("git")
        .args(["ls-files", "-z", "--cached", "--others", "--exclude-standard"])
        .current_dir(root)
        .output()
        .ok()
        .filter(|output| output.status.success())?;
    let listed = String::from_utf8(output.stdout).ok()?;
    let files: BTreeSet<PathBuf> =
        listed.split_terminator('\0').map(PathBuf::from).filter(|file| root.join(file).is_file()).collect();
    files.contains(Path::new("Cargo.toml")).then_some(files)
}

fn list_by_walk(root: &Path) -> Result<BTreeSet<PathBuf>> {
    let ignored = ignored_folders(&fs::read_to_string(root.join(".gitignore")).unwrap_or_default());
    let mut files = BTreeSet::new();
    let mut folders = vec![PathBuf::new()];
    while let Some(folder) = folders.pop() {
        let entries = fs::read_dir(root.join(&folder))
            .with_context(|| format!("cannot list the folder {}", root.join(&folder).display()))?;
        for entry in entries {
            let entry = entry?;
            let path = folder.join(entry.file_name());
            // A symbolic link is neither; its target is checked where it lies.
            let kind = entry.file_type()?;
            if kind.is_dir() && !ignored.contains(&path) {
                folders.push(path);
            } else if kind.is_file() {
                files.insert(path);
            }
        }
    }
    Ok(files)
}

/// The folders at the root that a `.gitignore` names (`/target`), and `.git`.
fn ignored_folders(gitignore: &str) -> BTreeSet<PathBuf> {
    let mut folders: BTreeSet<PathBuf> = gitignore
        .lines()
        .filter_map(|line| line.trim().strip_prefix('/'))
        .map(|line| PathBuf::from(line.trim_end_matches('/')))
        .collect();
    folders.insert(PathBuf::from(".git"));
    folders
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn walk_and_git_agree_on_the_sources_of_this_crate() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR"));
        let sources = |mut files: BTreeSet<PathBuf>| {
            files.retain(|file| file.extension().is_some_and(|extension| extension == "rs"));
            files
        };
        let walked = sources(list_by_walk(root).expect("the crate's folder is readable"));
        assert!(walked.contains(Path::new("src/files.rs")), "{walked:?}");
        if let Some(listed) = list_by_git(root) {
            assert_eq!(walked, sources(listed));
        }
    }

    #[test]
    fn gitignore_folders_at_the_root_are_skipped() {
        let folders = ignored_folders("# built\n/target\n/out/\n*.log\n");
        let expected = [".git", "out", "target"].map(PathBuf::from);
        assert_eq!(folders.into_iter().collect::<Vec<_>>(), expected);
    }
}
