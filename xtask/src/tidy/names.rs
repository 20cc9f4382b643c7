//! Type names are unique within a package, so that a search for one finds one thing.
//!
//! The scanner relies on rustfmt: an item of a module is indented by four spaces per inline module around it, so deeper
//! ones (associated types, items of functions) are not at module level. Test modules may reuse names.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use super::Finding;

/// The keywords that declare a type.
const KEYWORDS: [&str; 5] = ["struct", "enum", "union", "trait", "type"];

/// The type declarations of one package.
#[derive(Default)]
pub(super) struct TypeNames {
    /// Where each name is declared: file and line.
    declared: BTreeMap<String, Vec<(PathBuf, usize)>>,
    /// Files and folders, without extension, of the modules that only tests compile.
    test_modules: BTreeSet<PathBuf>,
}

impl TypeNames {
    /// Adds the declarations of a source file.
    pub(super) fn add(&mut self, path: &Path, content: &str) {
        let mut modules = Modules::default();
        let mut is_test = false;
        for (line, text) in (1..).zip(content.lines()) {
            if modules.closes(text) {
                continue;
            }
            let Some(item) = modules.item(text) else { continue };
            if item.starts_with("#[") || item.starts_with("//") {
                is_test |= item.starts_with("#[cfg(test)]");
                continue;
            }
            let words = declaration(item);
            match words.as_slice() {
                ["mod", ..] if item.ends_with('{') => modules.0.push(is_test),
                ["mod", name] if is_test => {
                    self.test_modules.insert(submodules(path).join(name));
                }
                [keyword, name, ..] if KEYWORDS.contains(keyword) && !is_test && !modules.is_test() => {
                    self.declared.entry((*name).to_owned()).or_default().push((path.to_path_buf(), line));
                }
                _ => {}
            }
            is_test = false;
        }
    }

    /// Reports every name that is declared more than once, at each place but the first.
    pub(super) fn report(&self, package: &str, findings: &mut Vec<Finding>) {
        for (name, places) in &self.declared {
            let mut places = places.iter().filter(|(path, _)| !self.is_in_test_module(path));
            let Some((first, first_line)) = places.next() else { continue };
            for (path, line) in places {
                let what = format!(
                    "`{name}` is declared in {package} already, at {}:{first_line}: rename one of the two",
                    first.display()
                );
                findings.push(Finding::new(path, *line, what));
            }
        }
    }

    fn is_in_test_module(&self, path: &Path) -> bool {
        path.with_extension("").ancestors().any(|part| self.test_modules.contains(part))
    }
}

/// The inline modules around a line; true marks those that only tests compile.
#[derive(Default)]
struct Modules(Vec<bool>);

impl Modules {
    const INDENT: usize = 4;

    fn is_test(&self) -> bool {
        self.0.contains(&true)
    }

    /// Leaves the innermost module if the line closes it. Returns whether it does.
    fn closes(&mut self, text: &str) -> bool {
        let Some(outside) = self.0.len().checked_sub(1) else { return false };
        let closes = text.strip_suffix('}').is_some_and(|indent| {
            indent.len() == outside * Self::INDENT && indent.chars().all(|char| char == ' ')
        });
        if closes {
            self.0.pop();
        }
        closes
    }

    /// The line without its indentation, if it begins at the level of the innermost module's items.
    fn item<'a>(&self, text: &'a str) -> Option<&'a str> {
        let item = text.trim_start_matches(' ');
        (!item.is_empty() && text.len() - item.len() == self.0.len() * Self::INDENT).then_some(item)
    }
}

/// The keyword and the name that an item begins with, without visibility and `unsafe`.
fn declaration(item: &str) -> Vec<&str> {
    let item = match item.strip_prefix("pub(") {
        Some(rest) => rest.split_once(')').map_or("", |(_, rest)| rest),
        None => item.strip_prefix("pub ").unwrap_or(item),
    };
    let words =
        item.split(|char: char| !(char.is_alphanumeric() || char == '_')).filter(|word| !word.is_empty());
    words.skip_while(|word| *word == "unsafe").take(2).collect()
}

/// The folder in which the modules of a file lie.
fn submodules(path: &Path) -> PathBuf {
    let is_root = path.file_stem().is_some_and(|stem| stem == "lib" || stem == "main" || stem == "mod");
    if is_root { path.parent().unwrap_or(path).to_path_buf() } else { path.with_extension("") }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn clashes(files: &[(&str, &str)]) -> Vec<String> {
        let mut names = TypeNames::default();
        for (path, content) in files {
            names.add(Path::new(path), content);
        }
        let mut findings = Vec::new();
        names.report("games", &mut findings);
        findings.iter().map(Finding::to_string).collect()
    }

    const NOTHING: [&str; 0] = [];

    #[test]
    fn clash_is_reported_with_both_places() {
        let found = clashes(&[
            ("games/src/a.rs", "//! A.\n\npub struct Tank {\n    x: f64,\n}\n"),
            ("games/src/b/mod.rs", "pub(crate) enum Tank {}\n"),
        ]);
        assert_eq!(
            found,
            [
                "games/src/b/mod.rs:1: `Tank` is declared in games already, at games/src/a.rs:3: rename one of the two"
            ]
        );
    }

    #[test]
    fn every_kind_of_type_counts() {
        for declaration in [
            "struct Name;",
            "pub struct Name<T>(T);",
            "pub(super) enum Name {",
            "pub(in crate::a) union Name {",
            "pub unsafe trait Name: Send {",
            "type Name<'a> = &'a str;",
            "mod inner {\n    pub struct Name;\n}",
        ] {
            let found = clashes(&[("a/src/a.rs", "struct Name;\n"), ("a/src/b.rs", declaration)]);
            assert_eq!(found.len(), 1, "{declaration}");
        }
    }

    #[test]
    fn associated_types_and_items_of_functions_do_not_count() {
        let content =
            "impl A for B {\n    type Name = u8;\n}\nfn f() {\n    struct Name;\n}\n// struct Name;\n";
        assert_eq!(clashes(&[("a/src/a.rs", "struct Name;\n"), ("a/src/b.rs", content)]), NOTHING);
    }

    #[test]
    fn test_modules_do_not_count() {
        let inline =
            "#[cfg(test)]\nmod tests {\n    struct Name;\n\n    mod deep {\n        struct Name;\n    }\n}\n";
        assert_eq!(clashes(&[("a/src/a.rs", "struct Name;\n"), ("a/src/b.rs", inline)]), NOTHING);
        let after = format!("{inline}struct Name;\n");
        assert_eq!(clashes(&[("a/src/a.rs", "struct Name;\n"), ("a/src/b.rs", &after)]).len(), 1);
    }

    #[test]
    fn test_modules_in_files_of_their_own_do_not_count() {
        let parent = "struct Name;\n\n#[cfg(test)]\nmod checks;\n";
        for (parent_path, child) in [
            ("a/src/lib.rs", "a/src/checks.rs"),
            ("a/src/b.rs", "a/src/b/checks/deep.rs"),
            ("a/src/b/mod.rs", "a/src/b/checks/mod.rs"),
        ] {
            assert_eq!(clashes(&[(child, "struct Name;\n"), (parent_path, parent)]), NOTHING, "{child}");
            let found = clashes(&[(child, "struct Name;\n"), (parent_path, "struct Name;\n\nmod checks;\n")]);
            assert_eq!(found.len(), 1, "{child}");
        }
    }
}
