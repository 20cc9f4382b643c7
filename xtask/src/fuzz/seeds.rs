//! What a target begins with: the messages of `vectors/wire.json`, so that it need not discover the format.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result};
use serde_json::Value;

/// The target that takes messages as they are.
const WIRE: &str = "wire";

/// Puts the seeds of a target into its corpus; what it found itself in earlier runs stays there.
pub(super) fn write(root: &Path, target: &str) -> Result<()> {
    let corpus = root.join("fuzz/corpus").join(target);
    fs::create_dir_all(&corpus).with_context(|| format!("cannot make {}", corpus.display()))?;
    if target != WIRE {
        return Ok(());
    }
    let vectors =
        fs::read_to_string(root.join("vectors/wire.json")).context("cannot read vectors/wire.json")?;
    for (number, seed) in seeds(&vectors)?.iter().enumerate() {
        fs::write(corpus.join(format!("vector-{number:03}")), seed)?;
    }
    Ok(())
}

/// The bytes of every message of the file, also of those that are refused.
fn seeds(vectors: &str) -> Result<Vec<Vec<u8>>> {
    let document: Value = serde_json::from_str(vectors).context("vectors/wire.json is not JSON")?;
    let lists = ["messages", "refused"].into_iter().filter_map(|key| document[key].as_array());
    let texts = lists.flatten().filter_map(|message| message["hex"].as_str());
    texts.map(|hex| unhex(hex).with_context(|| format!("vectors/wire.json holds `{hex}`"))).collect()
}

fn unhex(hex: &str) -> Option<Vec<u8>> {
    let digits: Option<Vec<u32>> = hex.chars().map(|digit| digit.to_digit(16)).collect();
    let digits = digits.filter(|digits| digits.len().is_multiple_of(2))?;
    Some(digits.chunks(2).map(|pair| (pair[0] * 16 + pair[1]) as u8).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_message_is_a_seed() {
        let file = r#"{"messages": [{"hex": "01ff"}], "refused": [{"hex": ""}, {"hex": "0a"}]}"#;
        assert_eq!(seeds(file).expect("it is fine"), [vec![1, 255], vec![], vec![10]]);
    }

    #[test]
    fn what_is_not_hex_is_named() {
        for hex in ["0", "0g"] {
            let file = format!(r#"{{"messages": [{{"hex": "{hex}"}}]}}"#);
            assert!(seeds(&file).expect_err("it is wrong").to_string().contains(hex));
        }
    }
}
