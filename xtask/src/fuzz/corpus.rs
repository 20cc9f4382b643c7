//! The corpora in the repository: of each target a few small inputs that reach most of what its runs have found, from which
//! runs start.
//!
//! A fuzzer tells what each of its inputs reaches. Of all inputs, in the repository or found since, those are kept one after
//! the other that reach the most new features for their size, until the limits are met. Seeds, which are not kept as files,
//! come first.

use std::collections::{BTreeMap, BTreeSet, BinaryHeap};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use anyhow::{Context, Result, bail};

use super::seeds;
use crate::tidy::Finding;

/// Where the corpora are.
const FOLDER: &str = "fuzz/corpus";
/// The most inputs of a target.
const FILES_MAX: usize = 64;
/// The most bytes of a target's inputs.
const BYTES_MAX: u64 = 48 * 1024;
/// What a file costs beside its bytes.
const FILE_COST: u64 = 32;

/// An input and what it reaches.
#[derive(Debug)]
struct Input {
    path: PathBuf,
    size: u64,
    features: Vec<u64>,
}

impl Input {
    fn is_seed(&self) -> bool {
        self.path.file_name().is_some_and(|name| name.to_string_lossy().starts_with(seeds::PREFIX))
    }
}

/// Where a target's inputs are in the repository.
pub(super) fn tracked(root: &Path, target: &str) -> PathBuf {
    root.join(FOLDER).join(target)
}

/// Chooses a target's inputs anew.
pub(super) fn minimize(root: &Path, target: &str) -> Result<()> {
    let inputs = measure(root, target)?;
    let all: BTreeSet<u64> = inputs.iter().flat_map(|input| input.features.iter().copied()).collect();
    let chosen = choose(&inputs);
    let kept: BTreeMap<_, _> = chosen
        .iter()
        .filter_map(|input| Some((input.path.file_name()?.to_owned(), fs::read(&input.path).ok()?)))
        .collect();
    let folder = tracked(root, target);
    if folder.is_dir() {
        fs::remove_dir_all(&folder).with_context(|| format!("cannot replace {}", folder.display()))?;
    }
    fs::create_dir_all(&folder).with_context(|| format!("cannot make {}", folder.display()))?;
    for (name, bytes) in &kept {
        fs::write(folder.join(name), bytes)?;
    }
    let seeds = inputs.iter().filter(|input| input.is_seed());
    let reached: BTreeSet<u64> =
        seeds.chain(chosen.iter().copied()).flat_map(|input| input.features.iter().copied()).collect();
    let bytes: u64 = chosen.iter().map(|input| input.size).sum();
    println!(
        "xtask: fuzz {target}: {} of {} inputs, {bytes} bytes, reach {} of {} features",
        kept.len(),
        inputs.len(),
        reached.len(),
        all.len()
    );
    Ok(())
}

/// Lets the fuzzer tell what each input reaches.
fn measure(root: &Path, target: &str) -> Result<Vec<Input>> {
    let scratch = root.join("target/fuzz-merge").join(target);
    if scratch.is_dir() {
        fs::remove_dir_all(&scratch)?;
    }
    let merged = scratch.join("merged");
    fs::create_dir_all(&merged).with_context(|| format!("cannot make {}", merged.display()))?;
    let told = scratch.join("told");
    let tracked = tracked(root, target);
    let mut merge = super::program(root, target)?;
    merge
        .args(["-set_cover_merge=1".to_owned(), format!("-merge_control_file={}", told.display())])
        .args([format!("-max_len={}", super::LEN_MAX), format!("-artifact_prefix={}/", scratch.display())])
        .arg(merged)
        .args(tracked.is_dir().then_some(tracked))
        .arg(super::working_corpus(root, target))
        .stderr(Stdio::null());
    let status = merge.status().with_context(|| format!("cannot start the fuzz target {target}"))?;
    if !status.success() {
        bail!("fuzz target {target} cannot run its corpus ({status}): `cargo xtask fuzz {target}` says why");
    }
    let told = fs::read_to_string(&told).with_context(|| format!("cannot read {}", told.display()))?;
    parse(&told).with_context(|| format!("fuzz target {target} does not tell what its inputs reach"))
}

/// Reads the fuzzer's list: the number of files, of which how many are in the first corpus, their paths, and then a line for the
/// size and one for the features of each.
fn parse(told: &str) -> Option<Vec<Input>> {
    let mut lines = told.lines();
    let count: usize = lines.next()?.trim().parse().ok()?;
    lines.next()?;
    let paths: Vec<&str> = lines.by_ref().take(count).collect();
    let input = |path: &&str| Input { path: PathBuf::from(path), size: 0, features: Vec::new() };
    let mut inputs: Vec<Input> = paths.iter().map(input).collect();
    for line in lines {
        let mut words = line.split_whitespace();
        let kind = words.next()?;
        let input = inputs.get_mut(words.next()?.parse::<usize>().ok()?)?;
        match kind {
            "STARTED" => input.size = words.next()?.parse().ok()?,
            "FT" => input.features = words.map(|word| word.parse().ok()).collect::<Option<_>>()?,
            _ => {}
        }
    }
    Some(inputs)
}

/// The inputs to keep. What an input adds only shrinks as others are kept, so the one on top of the heap is the best if it
/// still adds what it did.
fn choose(inputs: &[Input]) -> Vec<&Input> {
    let seeds = inputs.iter().filter(|input| input.is_seed());
    let mut reached: BTreeSet<u64> = seeds.flat_map(|input| input.features.iter().copied()).collect();
    let worth = |input: &Input, reached: &BTreeSet<u64>| {
        let new = input.features.iter().filter(|feature| !reached.contains(feature)).count() as u64;
        1_000 * new / (input.size + FILE_COST)
    };
    let others = inputs.iter().enumerate().filter(|(_, input)| !input.is_seed());
    let mut heap: BinaryHeap<_> = others.map(|(at, input)| (worth(input, &reached), at)).collect();
    let (mut chosen, mut bytes) = (Vec::new(), 0);
    while let Some((before, at)) = heap.pop() {
        let input = &inputs[at];
        let now = worth(input, &reached);
        if now == 0 || bytes + input.size > BYTES_MAX {
            continue;
        }
        if now < before {
            heap.push((now, at));
            continue;
        }
        reached.extend(&input.features);
        bytes += input.size;
        chosen.push(input);
        if chosen.len() == FILES_MAX {
            break;
        }
    }
    chosen
}

/// Checks that the corpora in the repository are of targets, and small.
pub(crate) fn check(root: &Path, files: &BTreeSet<PathBuf>, findings: &mut Vec<Finding>) -> Result<()> {
    let targets = super::targets(root)?;
    let mut sums: BTreeMap<&Path, (usize, u64)> = BTreeMap::new();
    for path in files.iter().filter(|path| path.starts_with(FOLDER)) {
        let folder = path.parent().unwrap_or(path);
        let sum = sums.entry(folder).or_default();
        let size =
            fs::metadata(root.join(path)).with_context(|| format!("cannot read {}", path.display()))?;
        *sum = (sum.0 + 1, sum.1 + size.len());
    }
    for (folder, (count, bytes)) in sums {
        let name = folder.strip_prefix(FOLDER).unwrap_or(folder).display().to_string();
        if !targets.contains(&name) {
            findings.push(Finding::new(folder, 1, "is a corpus of no fuzz target: remove it"));
        }
        if count > FILES_MAX || bytes > BYTES_MAX {
            let what = format!(
                "{count} files of {bytes} bytes, at most {FILES_MAX} of {BYTES_MAX} are allowed: \
                 run `cargo xtask fuzz --minimize {name}`"
            );
            findings.push(Finding::new(folder, 1, what));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn input(name: &str, size: u64, features: &[u64]) -> Input {
        Input { path: PathBuf::from(name), size, features: features.to_vec() }
    }

    fn names<'a>(chosen: &[&'a Input]) -> Vec<&'a str> {
        chosen.iter().filter_map(|input| input.path.to_str()).collect()
    }

    #[test]
    fn fuzzers_list_is_read() {
        let told = "2\n1\n/a/x\n/b/y\nSTARTED 0 5\nFT 0 1 2\nCOV 0 9\nSTARTED 1 0\nFT 1\nCOV 1\n";
        let inputs = parse(told).expect("it is a list");
        assert_eq!((inputs[0].size, &inputs[0].features[..]), (5, &[1, 2][..]));
        assert_eq!((inputs[1].path.as_path(), inputs[1].features.len()), (Path::new("/b/y"), 0));
        assert!(parse("2\n1\n/a/x\n/b/y\nFT 2 1\n").is_none(), "there is no third file");
    }

    #[test]
    fn small_inputs_that_reach_much_come_first_and_those_that_add_nothing_are_dropped() {
        let inputs = [
            input("large", 900, &[1, 2, 3, 4, 5]),
            input("small", 8, &[1, 2, 3, 4]),
            input("equal", 8, &[1, 2, 3]),
            input("seed/vector-000", 8, &[6, 7]),
            input("known", 1, &[6]),
        ];
        assert_eq!(names(&choose(&inputs)), ["small", "large"]);
    }

    #[test]
    fn limits_hold() {
        let many: Vec<Input> = (0..100).map(|number| input("a", 10, &[number])).collect();
        assert_eq!(choose(&many).len(), FILES_MAX);
        let long: Vec<Input> = (0..100).map(|number| input("a", BYTES_MAX / 10, &[number])).collect();
        let bytes: u64 = choose(&long).iter().map(|input| input.size).sum();
        assert!(bytes <= BYTES_MAX);
    }

    #[test]
    fn large_corpora_and_those_of_no_target_are_named() {
        let root = std::env::temp_dir().join(format!("evenkeel-corpus-{}", std::process::id()));
        let folders = ["fuzz/corpus/wire", "fuzz/corpus/gone"].map(|folder| root.join(folder));
        folders.iter().for_each(|folder| fs::create_dir_all(folder).expect("a folder"));
        fs::write(root.join("fuzz/Cargo.toml"), "path = \"fuzz_targets/wire.rs\"\n").expect("a file");
        let files: BTreeSet<PathBuf> = ["fuzz/corpus/wire/a", "fuzz/corpus/gone/b"].map(PathBuf::from).into();
        fs::write(root.join("fuzz/corpus/wire/a"), vec![0; 1 + BYTES_MAX as usize]).expect("a file");
        fs::write(root.join("fuzz/corpus/gone/b"), "x").expect("a file");
        let mut findings = Vec::new();
        check(&root, &files, &mut findings).expect("the files are there");
        fs::remove_dir_all(&root).expect("it is gone");
        let words: Vec<String> = findings.iter().map(ToString::to_string).collect();
        assert!(words[0].starts_with("fuzz/corpus/gone:1: is a corpus of no fuzz target"), "{words:?}");
        assert!(words[1].contains("1 files of 49153 bytes, at most 64 of 49152"), "{words:?}");
    }
}
