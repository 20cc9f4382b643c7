//! Who was caught cheating, and the proof in words and bytes.

use std::fmt::Write;

use evenkeel_neo::{Proof, Session, Signed, Statement};
use serde_json::{Value, json};

/// A peer that was proved to have cheated.
#[derive(Clone, Debug)]
pub(crate) struct Caught {
    /// Its key.
    pub(crate) key: [u8; 32],
    /// When this peer learned of it, in Unix milliseconds.
    pub(crate) at_unix_ms: i64,
    /// The two signed statements.
    pub(crate) proof: Proof,
}

impl Caught {
    /// What the page shows; the proof is checked anew.
    pub(crate) fn to_json(&self, session: Session) -> Value {
        json!({
            "key": hex(&self.key),
            "at_unix_ms": self.at_unix_ms,
            "is_valid": self.proof.is_valid(session),
            "statements": [statement_json(&self.proof.first), statement_json(&self.proof.second)],
            "bytes": hex(&self.proof.to_bytes()),
        })
    }
}

fn statement_json(signed: &Signed) -> Value {
    let (kind, kinds, number, content) = match &signed.statement {
        Statement::Commitments { slot, newest, earlier } => {
            let earlier =
                earlier.map(|(back, hash)| format!(", and {} to the move before by {back}", hex(&hash.0)));
            let text = format!("{}{}", hex(&newest.0), earlier.unwrap_or_default());
            ("commitment to move", "commitments to move", *slot, text)
        }
        Statement::State { number, bytes, .. } => ("state change", "state changes", *number, hex(bytes)),
        Statement::Tempo { ballot, choice } => {
            ("vote on tempo", "votes on tempo", *ballot, choice.to_string())
        }
    };
    json!({ "kind": kind, "kinds": kinds, "number": number, "content": content, "signature": hex(&signed.signature.0) })
}

/// Bytes in hexadecimal.
pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::with_capacity(2 * bytes.len()), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}
