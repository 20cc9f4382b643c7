use proptest::prelude::*;

use super::*;

const NOW: u64 = 1_800_000_000;

fn name(text: &str) -> Name {
    Name::new(text).expect("a plain name")
}

fn token(key: &IssuerKey) -> String {
    key.sign(&Claims::issue(name("arena-1"), name("ada"), NOW, 600))
}

#[test]
fn a_verified_token_returns_the_signed_claims() {
    let key = IssuerKey::generate();
    let claims = Claims::issue(name("arena-1"), name("ada"), NOW, 600);
    assert_eq!(key.id().verify(&key.sign(&claims), NOW + 599), Ok(claims));
}

#[test]
fn the_longest_token_is_within_the_limit() {
    let key = IssuerKey::generate();
    let longest = "x".repeat(NAME_BYTES_MAX);
    let token = key.sign(&Claims::issue(name(&longest), name(&longest), NOW, u64::MAX));
    assert!(token.len() <= TOKEN_CHARS_MAX, "{}", token.len());
    assert!(key.id().verify(&token, NOW).is_ok());
}

#[test]
fn any_flipped_bit_is_refused() {
    let key = IssuerKey::generate();
    let token = token(&key);
    let bytes = URL_SAFE_NO_PAD.decode(&token).expect("base64url");
    for bit in 0..bytes.len() * 8 {
        let mut changed = bytes.clone();
        changed[bit / 8] ^= 1 << (bit % 8);
        let refused = key.id().verify(&URL_SAFE_NO_PAD.encode(changed), NOW);
        assert!(matches!(refused, Err(TokenRefused::WrongKey | TokenRefused::Malformed)), "bit {bit}");
    }
    for bit in 0..token.len() * 8 {
        let mut changed = token.clone().into_bytes();
        changed[bit / 8] ^= 1 << (bit % 8);
        let Ok(changed) = String::from_utf8(changed) else { continue };
        assert!(key.id().verify(&changed, NOW).is_err(), "bit {bit} of the text");
    }
}

#[test]
fn refusals_explain_themselves() {
    let key = IssuerKey::generate();
    let token = token(&key);
    let message = |refused: Result<Claims, TokenRefused>| refused.expect_err("refused").to_string();
    assert!(message(key.id().verify(&token, NOW + 900)).contains("expired 5 minutes ago"));
    assert!(message(IssuerKey::generate().id().verify(&token, NOW)).contains("another key"));
    assert!(message(key.id().verify_for(Some("pit"), &token, NOW)).contains("for the room arena-1"));
    assert!(key.id().verify_for(Some("arena-1"), &token, NOW).is_ok());
    assert!(key.id().verify_for(None, &token, NOW).is_ok());
    assert!(message(key.id().verify(&token, NOW - 3_600)).contains("in 60 minutes"));
    assert!(message(key.id().verify("hello", NOW)).contains("not a token"));
    assert!(message(key.id().verify(&"A".repeat(100_000), NOW)).contains("not a token"));
    assert!(message(key.id().verify("", NOW)).contains("no token"));
}

#[test]
fn a_key_file_is_private_and_never_overwritten() {
    let folder = std::env::temp_dir().join(format!("evenkeel-token-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a folder");
    let path = folder.join("issuer.key");
    let _ = std::fs::remove_file(&path);
    assert!(matches!(IssuerKey::load(&path), Err(KeyFileError::Missing { .. })));
    let key = IssuerKey::generate();
    key.save(&path).expect("saved");
    assert_eq!(IssuerKey::load(&path).expect("loaded").id(), key.id());
    assert!(matches!(key.save(&path), Err(KeyFileError::Exists { .. })));
    assert!(matches!(key.save(&folder.join("none").join("issuer.key")), Err(KeyFileError::NoFolder { .. })));
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        let mode = std::fs::metadata(&path).expect("a file").permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o644)).expect("changed");
        assert!(matches!(IssuerKey::load(&path), Err(KeyFileError::Exposed { .. })));
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o600)).expect("changed");
    }
    std::fs::write(&path, "hello\n").expect("written");
    assert!(matches!(IssuerKey::load(&path), Err(KeyFileError::NotAKey { .. })));
    std::fs::remove_dir_all(&folder).expect("removed");
}

#[test]
fn an_issuer_id_parses_from_its_text_form() {
    let id = IssuerKey::generate().id();
    assert_eq!(IssuerId::parse(&id.to_string()), Ok(id));
    assert!(IssuerId::parse("hello").is_err());
}

proptest! {
    #[test]
    fn parsing_never_panics(text in ".{0,600}") {
        let id = IssuerKey::generate().id();
        prop_assert!(id.verify(&text, NOW).is_err());
    }

    #[test]
    fn names_consist_of_allowed_characters(text in ".{0,80}") {
        let is_plain = !text.is_empty() && text.len() <= 64
            && text.chars().all(|c| c.is_ascii_alphanumeric() || "._-".contains(c));
        prop_assert_eq!(Name::new(&text).is_ok(), is_plain);
    }
}
