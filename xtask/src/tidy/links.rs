//! Relative links of Markdown files must point to existing files. Web addresses are not checked, as that needs the
//! network.

use std::path::{Path, PathBuf};

use super::Finding;

/// Reports every relative link of the file at `path` whose target is missing.
pub(super) fn check(root: &Path, path: &Path, content: &str, findings: &mut Vec<Finding>) {
    for (line, target) in relative_targets(content) {
        let file = resolve(path, &target);
        if !root.join(&file).exists() {
            let what =
                format!("links to `{target}`, but {} does not exist: correct the link", file.display());
            findings.push(Finding::new(path, line, what));
        }
    }
}

/// The file that a target names. A leading slash means the root of the repository, as on code hosts.
fn resolve(path: &Path, target: &str) -> PathBuf {
    match target.strip_prefix('/') {
        Some(from_root) => PathBuf::from(from_root),
        None => path.parent().unwrap_or(Path::new("")).join(target),
    }
}

/// The paths that the text links to, with their lines, up to a `#` or `?`.
fn relative_targets(content: &str) -> Vec<(usize, String)> {
    let mut targets = Vec::new();
    let mut fence: Option<&str> = None;
    for (line, text) in (1..).zip(content.lines()) {
        let trimmed = text.trim_start();
        if let Some(open) = fence {
            // The closing fence has the opening one's mark, is at least as long and stands alone.
            let closes =
                trimmed.starts_with(open) && trimmed.trim_end().trim_start_matches(&open[..1]).is_empty();
            fence = if closes { None } else { fence };
            continue;
        }
        fence = opened_fence(trimmed);
        if fence.is_none() {
            let text = without_code(text);
            targets.extend(targets_of_line(&text).into_iter().filter_map(path_of).map(|path| (line, path)));
        }
    }
    targets
}

/// The fence that a line begins with: at least three backticks or tildes.
fn opened_fence(trimmed: &str) -> Option<&str> {
    let mark = trimmed.chars().next().filter(|mark| matches!(mark, '`' | '~'))?;
    let length = trimmed.chars().take_while(|next| *next == mark).count();
    // Code within a line may begin with as many backticks, but ends on the same line.
    let is_inline = mark == '`' && trimmed[length..].contains('`');
    (length >= 3 && !is_inline).then(|| &trimmed[..length])
}

/// The line without its code spans, whose brackets are no links. A span ends with as many backticks as it began with;
/// unclosed backticks are plain text.
fn without_code(text: &str) -> String {
    let mut plain = String::new();
    let mut rest = text;
    while let Some(start) = rest.find('`') {
        let ticks = run_of_ticks(&rest[start..]);
        plain.push_str(&rest[..start]);
        rest = &rest[start + ticks..];
        if let Some(end) = end_of_code(rest, ticks) {
            rest = &rest[end..];
        }
    }
    plain.push_str(rest);
    plain
}

fn run_of_ticks(text: &str) -> usize {
    text.bytes().take_while(|byte| *byte == b'`').count()
}

/// The end of a code span that `ticks` backticks opened, behind the backticks that close it.
fn end_of_code(text: &str, ticks: usize) -> Option<usize> {
    let mut at = 0;
    while let Some(start) = text[at..].find('`').map(|start| at + start) {
        let found = run_of_ticks(&text[start..]);
        at = start + found;
        if found == ticks {
            return Some(at);
        }
    }
    None
}

/// The targets of `[text](target)`, `![text](target)` and `[name]: target`.
fn targets_of_line(text: &str) -> Vec<&str> {
    let mut targets = Vec::new();
    let mut rest = text;
    while let Some(start) = rest.find("](") {
        rest = &rest[start + 2..];
        targets.push(first_word(rest));
    }
    if let Some((name, target)) = text.trim_start().split_once("]: ")
        && name.starts_with('[')
        && !name.starts_with("[^")
    {
        targets.push(first_word(target));
    }
    targets
}

/// The target, up to its title or closing bracket; paired brackets belong to it.
fn first_word(text: &str) -> &str {
    let text = text.trim_start();
    if let Some(text) = text.strip_prefix('<') {
        return text.split('>').next().unwrap_or_default();
    }
    let mut open = 0;
    let end = text.find(|next: char| {
        match next {
            '(' => open += 1,
            ')' if open == 0 => return true,
            ')' => open -= 1,
            _ => {}
        }
        next.is_whitespace()
    });
    &text[..end.unwrap_or(text.len())]
}

/// The path of a target, or `None` if it has a scheme or a host or is an anchor in the same file.
fn path_of(target: &str) -> Option<String> {
    let path = target.split(['#', '?']).next().unwrap_or_default();
    let has_scheme = path.split('/').next().is_some_and(|first| first.contains(':'));
    (!path.is_empty() && !has_scheme && !path.starts_with("//")).then(|| path.replace("%20", " "))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn targets(content: &str) -> Vec<String> {
        relative_targets(content).into_iter().map(|(line, target)| format!("{line} {target}")).collect()
    }

    const NOTHING: [&str; 0] = [];

    #[test]
    fn links_images_and_references_are_found() {
        assert_eq!(
            targets("a [b](docs/WIRE.md#top) and\n![c](d.svg \"title\")\n"),
            ["1 docs/WIRE.md", "2 d.svg"]
        );
        assert_eq!(targets("[wire]: <docs/the wire.md>\n"), ["1 docs/the wire.md"]);
        assert_eq!(targets("[a](a%20(1).md)\n"), ["1 a (1).md"]);
    }

    #[test]
    fn addresses_and_anchors_are_ignored() {
        assert_eq!(targets("[a](https://example.org/x) [b](mailto:a@b.c) [c](#d) [e](//f.g/h)\n"), NOTHING);
        assert_eq!(targets("[^1]: a footnote\n"), NOTHING);
    }

    #[test]
    fn links_in_code_are_ignored() {
        assert_eq!(targets("```\n[a](b.md)\n```\n[c](d.md)\n"), ["4 d.md"]);
        assert_eq!(targets("~~~~ md\n~~~\n[a](b.md)\n~~~~\n[c](d.md)\n"), ["5 d.md"]);
        assert_eq!(targets("`[a](b.md)` and ``c`[d](e.md)`` [f](g.md)\n"), ["1 g.md"]);
        assert_eq!(targets("a lone ` and [a](b.md)\n"), ["1 b.md"]);
    }

    #[test]
    fn link_to_a_missing_file_is_found_with_its_line() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR"));
        let mut findings = Vec::new();
        let content = "[here](links.rs) [up](../main.rs) [root](/Cargo.toml)\n[gone](gone.md)\n";
        check(root, Path::new("src/tidy/notes.md"), content, &mut findings);
        let found: Vec<String> = findings.iter().map(Finding::to_string).collect();
        assert_eq!(
            found,
            [
                "src/tidy/notes.md:2: links to `gone.md`, but src/tidy/gone.md does not exist: correct the link"
            ]
        );
    }
}
