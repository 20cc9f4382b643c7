//! The output of `cargo metadata`, parsed into what the checks need.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use serde_json::Value;

use crate::cargo;

/// The packages of the workspace.
pub(crate) struct Workspace {
    pub(crate) packages: Vec<Package>,
}

/// One package of the workspace.
pub(crate) struct Package {
    pub(crate) name: String,
    /// Relative to the root of the workspace.
    pub(crate) folder: PathBuf,
    pub(crate) dependencies: Vec<Dependency>,
    /// Whether the manifest allows to publish it.
    pub(crate) is_published: bool,
    pub(crate) listing: Listing,
}

/// What a registry shows of a package.
#[derive(Clone, Debug, Default)]
pub(crate) struct Listing {
    pub(crate) description: String,
    pub(crate) license: String,
    pub(crate) repository: String,
    /// Relative to the package's folder.
    pub(crate) readme: String,
    pub(crate) rust_version: String,
    pub(crate) keywords: Vec<String>,
    pub(crate) categories: Vec<String>,
}

/// A dependency as a manifest states it, including optional and platform-specific ones.
pub(crate) struct Dependency {
    /// The package's own name, even if the manifest renames it.
    pub(crate) name: String,
    pub(crate) kind: Kind,
    /// Whether it names a version, which a registry needs.
    pub(crate) has_version: bool,
}

/// The table of the manifest that lists a dependency.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Normal,
    Build,
    Dev,
}

/// Runs `cargo metadata` with these arguments besides and parses its output.
pub(crate) fn document(root: &Path, arguments: &[&str]) -> Result<Value> {
    let output = cargo::command(root)
        .args(["metadata", "--format-version", "1", "--locked"])
        .args(arguments)
        .output()
        .context("cannot start `cargo metadata`: is cargo installed?")?;
    if !output.status.success() {
        bail!("`cargo metadata --locked` failed:\n{}", String::from_utf8_lossy(&output.stderr).trim_end());
    }
    serde_json::from_slice(&output.stdout).context("the output of `cargo metadata` is not JSON")
}

impl Workspace {
    /// Reads the workspace at `root`.
    pub(crate) fn read(root: &Path) -> Result<Self> {
        Self::parse(&document(root, &["--no-deps"])?)
    }

    /// Parses the output of `cargo metadata --no-deps`.
    pub(crate) fn parse(document: &Value) -> Result<Self> {
        let root = Path::new(text(document, "workspace_root")?);
        let packages = list(document, "packages")?
            .iter()
            .map(|package| Package::parse(root, package))
            .collect::<Result<_>>()?;
        Ok(Self { packages })
    }

    /// The package of the workspace with this name.
    pub(crate) fn package(&self, name: &str) -> Option<&Package> {
        self.packages.iter().find(|package| package.name == name)
    }
}

impl Package {
    fn parse(root: &Path, package: &Value) -> Result<Self> {
        let name = text(package, "name")?.to_owned();
        let manifest = Path::new(text(package, "manifest_path")?);
        let folder = manifest.parent().unwrap_or(manifest);
        let folder = folder
            .strip_prefix(root)
            .with_context(|| format!("{name} lies at {}, outside of the workspace", folder.display()))?
            .to_path_buf();
        let dependencies =
            list(package, "dependencies")?.iter().map(Dependency::parse).collect::<Result<_>>()?;
        let is_published = package.get("publish").is_none_or(Value::is_null);
        Ok(Self { name, folder, dependencies, is_published, listing: Listing::parse(package) })
    }
}

impl Listing {
    /// Missing entries are empty.
    fn parse(package: &Value) -> Self {
        let text = |key| package.get(key).and_then(Value::as_str).unwrap_or_default().to_owned();
        let texts = |key| {
            let values = package.get(key).and_then(Value::as_array);
            values.into_iter().flatten().filter_map(Value::as_str).map(str::to_owned).collect()
        };
        Self {
            description: text("description"),
            license: text("license"),
            repository: text("repository"),
            readme: text("readme"),
            rust_version: text("rust_version"),
            keywords: texts("keywords"),
            categories: texts("categories"),
        }
    }
}

impl Dependency {
    fn parse(dependency: &Value) -> Result<Self> {
        let kind = match dependency.get("kind").and_then(Value::as_str) {
            None => Kind::Normal,
            Some("build") => Kind::Build,
            Some("dev") => Kind::Dev,
            Some(other) => {
                bail!("xtask does not know the kind of dependency `{other}` that `cargo metadata` states")
            }
        };
        let has_version = dependency.get("req").and_then(Value::as_str).is_some_and(|version| version != "*");
        Ok(Self { name: text(dependency, "name")?.to_owned(), kind, has_version })
    }
}

pub(crate) fn text<'a>(value: &'a Value, key: &str) -> Result<&'a str> {
    value.get(key).and_then(Value::as_str).with_context(|| format!("`cargo metadata` lacks the text `{key}`"))
}

pub(crate) fn list<'a>(value: &'a Value, key: &str) -> Result<&'a Vec<Value>> {
    value
        .get(key)
        .and_then(Value::as_array)
        .with_context(|| format!("`cargo metadata` lacks the list `{key}`"))
}
