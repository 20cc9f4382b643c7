//! Seed inputs, which spare a target from discovering its format: the messages of `vectors/wire.json` and
//! `vectors/sync-ms.json`, the settings of `docs/relay.md`, the files of `scenarios/`, and hand-written examples of the other formats.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result};
use serde_json::Value;

/// A token that never expires, signed by the target's key.
const TOKEN: &[u8] = b"\0\0\0\0RUsxB2FyZW5hLTEDYWRhAAAAAAAAAAD__________wcHBwcHBwcHBwcHBwcHBwcCAIfk1rduTBXJsMLtx7LlsR1WQItV_TEWSd8EF39zjEaG7si2KAEsbwJL-3hCoKLIleyJ-KCFBldpk0neKPpUnQM";
/// The key file's text, and the public key.
const KEYS: [&[u8]; 2] = [
    b"\0\0\0\0evenkeel-issuer-key-1:AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA\n",
    b"\0\0\0\0O2onvM62pC1io6jQKm8Nc2UyFXcd4kOmOsBIoYtZ2ik",
];
/// The first bytes of a client and of a relay, and the welcome message that starts a player.
const GREETINGS: [&[u8]; 3] = [
    b"\x00EVK\x01\x02\0\0\0hi\0\0\0\0",
    b"\x01EVK\x01\x06\0\x01\x05\x80\xda\xc4\x09\x02\0\0\0hi",
    b"\x02\x01\x05\x80\xda\xc4\x09",
];
/// Certificates up to their dates, in both date formats, and a hash.
const CERTIFICATES: [&[u8]; 3] = [
    b"\x30\x30\x30\x2e\xa0\x03\x02\x01\x02\x02\x01\x01\x30\0\x30\0\x30\x1e\
      \x17\x0d260101000000Z\x17\x0d260114235959Z",
    b"\x30\x2f\x30\x2d\x02\x01\x01\x30\0\x30\0\x30\x22\
      \x18\x0f19700101000000Z\x18\x0f99991231235959Z",
    b"00:11:22:33:44:55:66:77:88:99:AA:BB:CC:DD:EE:FF:00:11:22:33:44:55:66:77:88:99:AA:BB:CC:DD:EE:FF",
];
/// An answer of a relay's local HTTP, and requests that may change something.
const LOCAL: [&[u8]; 3] = [
    b"\0\0HTTP/1.1 200 OK\r\n\r\n\
      {\"sha256\":[\"00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff\"]}",
    b"\x01\x00localhost:7878\nhttp://localhost:7878",
    b"\x01\x01[::1]:7878",
];
/// A recording of tanks and one of delays.
const TRACES: [&str; 2] = [
    "t_s,tank,status,x,y,z,vx,vy,vz,turn_rate_rad_s\n\
     0,3,1,391.42,213.1,0,14.2,20.5,0,0.8\n\
     0.5,4,1,-10,20,0,1,-2,0,0\n\
     0.7,3,1,397,229,0,2.7,24.9,0,0.6\n\
     1.5,4,1,-9,18,0,1,-2,0,0\n\
     1.6,4,0,-9,18,0,0,0,0,0\n\
     4,4,1,50,60,0,0,0,0,0\n\
     5,4,1,51,60,0,1,0,0,0\n",
    "t_s,delay_ms\n0,5\n1.5,20\n60,0.25\n",
];
/// A scenario with the keys that no file in `scenarios/` has.
const SCENARIO: &str = "topology = \"relay\"\nuplink_ms = 5\nclock = \"session\"\nwarmup_s = 1\n\
    owner.clock = { offset_ms = -3 }\nmotion = { kind = \"circular\" }\n\
    dr = { kind = \"circular\", placement = \"one-way-delay\" }\n\
    [[receiver]]\nname = \"a\"\ndelay_ms = 10\njitter = { kind = \"trace\", file = \"a.csv\" }\n\
    loss = { kind = \"gilbert-elliott\", good_mean_s = 9, bad_mean_s = 1, loss_good = 0, loss_bad = 0.5 }\n\
    duplicate = 0.1\nreorder = { share = 0.1, extra_ms = 5 }\n\
    rate = { bytes_per_s = 1e4, queue_bytes = 1e4 }\njoins_s = 1\nleaves_s = 9\n\
    steps = [{ at_s = 2, delay_ms = 20 }]\ndelay_back_ms = 4\nloss_back = 0.1\n\
    clock = { offset_ms = 5, skew_ppm = 30, steps = [{ at_s = 3, by_ms = -2 }] }\nclaims_extra_ms = 1\n";

/// What the names of seeds begin with.
pub(super) const PREFIX: &str = "vector-";

/// Adds a target's seeds to its working corpus, which keeps the inputs found in earlier runs.
pub(super) fn write(root: &Path, target: &str) -> Result<()> {
    let corpus = super::working_corpus(root, target);
    fs::create_dir_all(&corpus).with_context(|| format!("cannot make {}", corpus.display()))?;
    let read =
        |path: &str| fs::read_to_string(root.join(path)).with_context(|| format!("cannot read {path}"));
    let owned = |seeds: &[&[u8]]| seeds.iter().map(|seed| seed.to_vec()).collect();
    let seeds = match target {
        "wire" => messages(&read("vectors/wire.json")?)?,
        "sync_ms" => messages(&read("vectors/sync-ms.json")?)?,
        "config" => settings(&read("docs/relay.md")?),
        "scenario" => scenarios(&root.join("scenarios"))?,
        "trace" => TRACES.iter().map(|text| text.as_bytes().to_vec()).collect(),
        "token" => owned(&[TOKEN, KEYS[0], KEYS[1]]),
        "greeting" => owned(&GREETINGS),
        "certificate" => owned(&CERTIFICATES),
        "local" => owned(&LOCAL),
        _ => Vec::new(),
    };
    for (number, seed) in seeds.iter().enumerate() {
        fs::write(corpus.join(format!("{PREFIX}{number:03}")), seed)?;
    }
    Ok(())
}

/// The scenarios of the folder and [`SCENARIO`], without comments, each with a recording appended.
fn scenarios(folder: &Path) -> Result<Vec<Vec<u8>>> {
    let mut paths = Vec::new();
    for entry in fs::read_dir(folder).with_context(|| format!("cannot read {}", folder.display()))? {
        paths.push(entry?.path());
    }
    paths.sort();
    let mut seeds = vec![[SCENARIO, "\n---\n", TRACES[1]].concat().into_bytes()];
    for path in paths.iter().filter(|path| path.extension().is_some_and(|ext| ext == "toml")) {
        let text = fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))?;
        let lines = text.lines().map(|line| line.split('#').next().unwrap_or_default().trim_end());
        let lines: Vec<&str> = lines.filter(|line| !line.is_empty()).collect();
        seeds.push([&lines.join("\n"), "\n---\n", TRACES[0]].concat().into_bytes());
    }
    Ok(seeds)
}

/// The TOML examples of a document without their comments: each as a whole, and each table.
fn settings(document: &str) -> Vec<Vec<u8>> {
    let shown = document.split("```toml\n").skip(1).filter_map(|rest| rest.split("```").next());
    let mut seeds = Vec::new();
    for text in shown {
        let lines = text.lines().map(|line| line.split('#').next().unwrap_or_default().trim_end());
        let lines: Vec<&str> = lines.filter(|line| !line.contains("\"...\"")).collect();
        let text = lines.join("\n");
        seeds.extend(text.split("\n\n").map(|table| table.as_bytes().to_vec()));
        seeds.push(text.into_bytes());
    }
    seeds
}

/// The bytes of the file's messages, valid or not. A fuzzer never runs those above its limit.
fn messages(vectors: &str) -> Result<Vec<Vec<u8>>> {
    let document: Value = serde_json::from_str(vectors).context("the vectors are not JSON")?;
    let lists = ["messages", "refused"].into_iter().filter_map(|key| document[key].as_array());
    let texts = lists.flatten().filter_map(|message| message["hex"].as_str());
    let texts = texts.filter(|hex| hex.len() <= 2 * super::LEN_MAX);
    texts.map(|hex| unhex(hex).with_context(|| format!("the vectors hold `{hex}`"))).collect()
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
        assert_eq!(messages(file).expect("the file is valid"), [vec![1, 255], vec![], vec![10]]);
    }

    #[test]
    fn every_protocol_has_messages_short_enough_for_a_seed() {
        for file in ["vectors/wire.json", "vectors/sync-ms.json"] {
            let text = fs::read_to_string(crate::workspace_root().join(file)).expect("the file exists");
            let seeds = messages(&text).expect("the file is valid");
            assert!(seeds.len() > 10, "{file} has {} seeds", seeds.len());
        }
    }

    #[test]
    fn invalid_hex_is_named() {
        for hex in ["0", "0g"] {
            let file = format!(r#"{{"messages": [{{"hex": "{hex}"}}]}}"#);
            assert!(messages(&file).expect_err("the file is invalid").to_string().contains(hex));
        }
    }

    #[test]
    fn settings_are_seeds_without_comments() {
        let document = "# A relay\n```toml\na = 1   # one\nkey = \"...\"\n\n[b]   # two\nc = 3\n```\nmore\n";
        let seeds = settings(document);
        assert_eq!(seeds, [&b"a = 1"[..], b"[b]\nc = 3", b"a = 1\n\n[b]\nc = 3"]);
    }

    #[test]
    fn project_files_are_short_enough_for_a_seed() {
        let root = crate::workspace_root();
        let document = fs::read_to_string(root.join("docs/relay.md")).expect("the file exists");
        for seeds in [settings(&document), scenarios(&root.join("scenarios")).expect("the folder exists")] {
            assert!(seeds.len() > 1 && seeds.iter().all(|seed| seed.len() <= crate::fuzz::LEN_MAX));
        }
    }
}
