//! Rules about the text of a single file: white space, size, description, leftovers, unsafe code.

use std::path::Path;

use super::Finding;

/// The most lines of a Rust file. Most have 60 to 250.
const LINES_MAX: usize = 500;

/// The folders whose Rust files open with a description.
const DESCRIBED: [&str; 10] =
    ["proto", "drive", "games", "arena", "soak", "lab", "cli", "web", "xtask", "fuzz"];

/// What may not stay in a Rust file, and what to do about it. `concat!` keeps the words out of this file.
const LEFTOVERS: [(&str, &str); 6] = [
    (concat!("todo", "!("), "write what is missing"),
    (concat!("unimplemented", "!("), "write what is missing"),
    (concat!("dbg", "!("), "remove the trace"),
    (concat!("FIX", "ME"), "fix it, or explain it"),
    (concat!("XX", "X"), "fix it, or explain it"),
    (concat!("#[", "ignore"), "run the test always, or delete it"),
];

/// The only files that may hold unsafe code: the SIMD kernels, the prefetch instruction and two allocators that count.
const UNSAFE: [&str; 5] = [
    "campaign/src/memory.rs",
    "proto/dr/src/motion/linear/bulk.rs",
    "proto/dr/src/motion/linear/sift.rs",
    "proto/dr/src/prefetch.rs",
    "proto/dr/benches/pairs/bytes.rs",
];

/// The attribute of such a file.
const ALLOWS_UNSAFE: &str = concat!("allow(", "unsafe_code)");

/// Checks tabs, trailing white space and the end of the file.
pub(super) fn check_space(path: &Path, content: &str, findings: &mut Vec<Finding>) {
    let mut last = 0;
    for (line, text) in numbered(content) {
        if text.contains('\t') {
            findings.push(Finding::new(path, line, "holds a tab: use spaces"));
        }
        // This rejects the line ends of Windows, too: a carriage return is white space.
        if text.ends_with(char::is_whitespace) {
            findings.push(Finding::new(path, line, "ends with white space: remove it"));
        }
        last = line;
    }
    if !content.ends_with('\n') {
        findings.push(Finding::new(path, last.max(1), "the file does not end with a newline: add one"));
    } else if content.ends_with("\n\n") || content == "\n" {
        findings.push(Finding::new(path, last, "the file ends with an empty line: remove it"));
    }
}

/// Checks size, description, leftovers and unsafe code of a Rust file.
pub(super) fn check_rust(path: &Path, content: &str, findings: &mut Vec<Finding>) {
    let lines = numbered(content).count();
    if lines > LINES_MAX {
        let what = format!("the file has {lines} lines, at most {LINES_MAX} are allowed: split it");
        findings.push(Finding::new(path, LINES_MAX + 1, what));
    }
    if is_described(path) && !content.starts_with("//!") {
        findings.push(Finding::new(path, 1, "the file does not open with `//!`: say what it is and why"));
    }
    for (line, text) in numbered(content) {
        if text.contains(ALLOWS_UNSAFE) && UNSAFE.iter().all(|allowed| path != Path::new(allowed)) {
            let what = format!("allows unsafe code, which only {} may", UNSAFE.join(", "));
            findings.push(Finding::new(path, line, what));
        }
        for (word, advice) in LEFTOVERS {
            if text.contains(word) {
                findings.push(Finding::new(path, line, format!("holds `{word}`: {advice}")));
            }
        }
    }
}

/// Whether the file has to open with a description. Unit tests in a file of their own need none: the module they test
/// has it.
fn is_described(path: &Path) -> bool {
    let is_unit_test = path
        .components()
        .skip_while(|part| part.as_os_str() != "src")
        .any(|part| part.as_os_str() == "tests" || part.as_os_str() == "tests.rs");
    DESCRIBED.iter().any(|folder| path.starts_with(folder)) && !is_unit_test
}

/// The lines with their numbers, from 1. Unlike `str::lines`, this keeps carriage returns.
fn numbered(content: &str) -> impl Iterator<Item = (usize, &str)> {
    (1..).zip(content.split_terminator('\n'))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn space(content: &str) -> Vec<String> {
        let mut findings = Vec::new();
        check_space(Path::new("a.md"), content, &mut findings);
        findings.iter().map(Finding::to_string).collect()
    }

    fn rust(path: &str, content: &str) -> Vec<String> {
        let mut findings = Vec::new();
        check_rust(Path::new(path), content, &mut findings);
        findings.iter().map(Finding::to_string).collect()
    }

    const NOTHING: [&str; 0] = [];

    #[test]
    fn tidy_text_passes() {
        assert_eq!(space("one\n\ntwo\n"), NOTHING);
        assert_eq!(rust("lab/src/lib.rs", "//! The lab.\n"), NOTHING);
    }

    #[test]
    fn tabs_and_trailing_white_space_are_found_with_their_line() {
        assert_eq!(space("one\n\ttwo\n"), ["a.md:2: holds a tab: use spaces"]);
        assert_eq!(space("one \ntwo\n"), ["a.md:1: ends with white space: remove it"]);
        assert_eq!(space("one\r\n"), ["a.md:1: ends with white space: remove it"]);
    }

    #[test]
    fn file_ends_with_exactly_one_newline() {
        assert_eq!(space("one"), ["a.md:1: the file does not end with a newline: add one"]);
        assert_eq!(space(""), ["a.md:1: the file does not end with a newline: add one"]);
        assert_eq!(space("one\n\n"), ["a.md:2: the file ends with an empty line: remove it"]);
        assert_eq!(space("\n"), ["a.md:1: the file ends with an empty line: remove it"]);
    }

    #[test]
    fn rust_file_has_at_most_500_lines() {
        assert_eq!(rust("fuzz/a.rs", &"//!\n".repeat(500)), NOTHING);
        let found = rust("fuzz/a.rs", &"//!\n".repeat(501));
        assert_eq!(found, ["fuzz/a.rs:501: the file has 501 lines, at most 500 are allowed: split it"]);
    }

    #[test]
    fn sources_tests_and_benchmarks_open_with_a_description() {
        for path in [
            "proto/dr/src/ledger.rs",
            "lab/tests/figures.rs",
            "games/benches/arena.rs",
            "cli/src/main.rs",
            "fuzz/parse.rs",
        ] {
            assert_eq!(rust(path, "fn main() {}\n").len(), 1, "{path}");
        }
        for path in ["proto/dr/src/ledger/tests.rs", "lab/src/tests/soak.rs", "docs/parse.rs"] {
            assert_eq!(rust(path, "fn main() {}\n"), NOTHING, "{path}");
        }
    }

    #[test]
    fn unsafe_code_is_allowed_only_in_listed_files() {
        let content = format!("//!\n#![{ALLOWS_UNSAFE}]\n");
        assert_eq!(rust(UNSAFE[0], &content), NOTHING);
        assert_eq!(rust("proto/dr/src/linear.rs", &content).len(), 1);
    }

    #[test]
    fn every_leftover_is_found() {
        for (word, _) in LEFTOVERS {
            let found = rust("fuzz/a.rs", &format!("//!\n    {word}\n"));
            assert_eq!(found.len(), 1, "{word}");
            assert!(found[0].starts_with(&format!("fuzz/a.rs:2: holds `{word}`")), "{found:?}");
        }
        assert_eq!(rust("fuzz/a.rs", "//! todo lists, dbg and ignored tests may be mentioned\n"), NOTHING);
    }
}
