//! The rules about the text of one file. They look at text alone, so that they can be tried on made-up files.

use std::path::Path;

use super::Finding;

/// The longest Rust file, in lines. Most have 60 to 250; beyond this one nobody reads a file as a whole.
const LINES_MAX: usize = 500;

/// The folders whose Rust files open with a description.
const DESCRIBED: [&str; 8] = ["proto", "drive", "games", "lab", "cli", "web", "xtask", "fuzz"];

/// What may not stay in a Rust file. The words are put together here so that this file does not hold them itself.
const LEFTOVERS: [(&str, &str); 6] = [
    (concat!("todo", "!("), "write what is missing"),
    (concat!("unimplemented", "!("), "write what is missing"),
    (concat!("dbg", "!("), "remove the trace"),
    (concat!("FIX", "ME"), "repair it, or say why it is as it is"),
    (concat!("XX", "X"), "repair it, or say why it is as it is"),
    (concat!("#[", "ignore"), "a test runs always or is not there"),
];

/// The only files that may allow themselves what the compiler can't check: the vector kernels, the
/// one instruction that asks for memory ahead, and a benchmark's allocator.
const UNSAFE: [&str; 4] = [
    "proto/dr/src/linear/bulk.rs",
    "proto/dr/src/linear/sift.rs",
    "proto/dr/src/prefetch.rs",
    "proto/dr/benches/pairs/bytes.rs",
];

/// What such a file says.
const ALLOWS_UNSAFE: &str = concat!("allow(", "unsafe_code)");

/// Tabs, white space at the end of lines, and the end of the file.
pub(super) fn check_space(path: &Path, content: &str, findings: &mut Vec<Finding>) {
    let mut last = 0;
    for (line, text) in numbered(content) {
        if text.contains('\t') {
            findings.push(Finding::new(path, line, "holds a tab: use spaces"));
        }
        // A carriage return is white space too, so this keeps the line ends of Windows out.
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

/// Size, description and leftovers of a Rust file.
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
            let what = format!("allows unsafe code, which only {} may", UNSAFE.join(" and "));
            findings.push(Finding::new(path, line, what));
        }
        for (word, advice) in LEFTOVERS {
            if text.contains(word) {
                findings.push(Finding::new(path, line, format!("holds `{word}`: {advice}")));
            }
        }
    }
}

/// Unit tests in a file of their own are described by the module that they test. Integration tests and benchmarks are
/// programs, which say themselves what they show.
fn is_described(path: &Path) -> bool {
    let is_unit_test = path
        .components()
        .skip_while(|part| part.as_os_str() != "src")
        .any(|part| part.as_os_str() == "tests" || part.as_os_str() == "tests.rs");
    DESCRIBED.iter().any(|folder| path.starts_with(folder)) && !is_unit_test
}

/// The lines with their numbers from 1. Unlike `str::lines` this leaves a carriage return in sight.
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
    fn a_tidy_text_passes() {
        assert_eq!(space("one\n\ntwo\n"), NOTHING);
        assert_eq!(rust("lab/src/lib.rs", "//! The lab.\n"), NOTHING);
    }

    #[test]
    fn tabs_and_white_space_at_the_end_are_found_with_their_line() {
        assert_eq!(space("one\n\ttwo\n"), ["a.md:2: holds a tab: use spaces"]);
        assert_eq!(space("one \ntwo\n"), ["a.md:1: ends with white space: remove it"]);
        assert_eq!(space("one\r\n"), ["a.md:1: ends with white space: remove it"]);
    }

    #[test]
    fn a_file_ends_with_exactly_one_newline() {
        assert_eq!(space("one"), ["a.md:1: the file does not end with a newline: add one"]);
        assert_eq!(space(""), ["a.md:1: the file does not end with a newline: add one"]);
        assert_eq!(space("one\n\n"), ["a.md:2: the file ends with an empty line: remove it"]);
        assert_eq!(space("\n"), ["a.md:1: the file ends with an empty line: remove it"]);
    }

    #[test]
    fn a_rust_file_has_at_most_500_lines() {
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
    fn unsafe_code_is_allowed_in_few_files() {
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
        assert_eq!(rust("fuzz/a.rs", "//! todo lists, dbg and ignored tests may be spoken of\n"), NOTHING);
    }
}
