//! Any text parses as a token or a key or is rejected. A valid token is rejected after any change.

#![no_main]

use std::sync::LazyLock;

use evenkeel_core::Wire;
use evenkeel_fuzz::feed::Feed;
use evenkeel_fuzz::wire::check_wire;
use evenkeel_net::token::{Claims, IssuerId, IssuerKey, Name, TOKEN_CHARS_MAX, TokenRefused};
use libfuzzer_sys::fuzz_target;

/// A fixed key, so that crashes are reproducible.
static KEY: LazyLock<IssuerKey> = LazyLock::new(|| {
    let secret = "A".repeat(43);
    IssuerKey::parse(&format!("evenkeel-issuer-key-1:{secret}\n")).expect("a key")
});
/// Characters to put into a token, within and outside of its alphabet.
const CHARACTERS: &[u8] = b"AEQgwZaz09-_+/=. \n%\x00";
const CHANGES_MAX: usize = 4;

/// Checks a text that was not signed.
fn check_text(text: &str, now: u64) {
    if let Ok(claims) = KEY.id().verify(text, now) {
        // A message has exactly one valid signature, so only a signed token gets here.
        assert_eq!(KEY.sign(&claims), text, "a second form of a token");
    }
    if let Ok(id) = IssuerId::parse(text) {
        assert_eq!(id.to_string(), text.trim(), "a second form of a public key");
        let _ = id.verify(&KEY.sign(&claims(&mut Feed::new(&[]))), now);
    }
    if let Some(key) = IssuerKey::parse(text) {
        assert!(!format!("{key:?}").contains(text.trim()), "a secret is printed");
    }
}

/// Claims read from the feed.
fn claims(feed: &mut Feed<'_>) -> Claims {
    let mut name = || {
        let len = 1 + feed.below(64);
        let name: String = (0..len).map(|_| char::from(feed.pick(b"aZ09._-"))).collect();
        Name::new(&name).expect("a plain name")
    };
    let (room, name) = (name(), name());
    let (issued_at, expires_at) = (feed.long() as u64, feed.long() as u64);
    let seats = feed.short() as u16;
    Claims { room, name, issued_at, expires_at, id: [feed.byte(); 16], seats }
}

/// Checks that a signed token verifies to its claims for as long as it is valid.
fn check_signed(claims: &Claims, token: &str, now: u64) {
    assert!(token.len() <= TOKEN_CHARS_MAX, "{} characters", token.len());
    match KEY.id().verify(token, now) {
        Ok(seen) => {
            assert_eq!(seen, *claims);
            assert!(now < claims.expires_at, "it expired before {now}: {claims:?}");
        }
        Err(TokenRefused::Expired { seconds }) => assert_eq!(claims.expires_at + seconds, now),
        Err(TokenRefused::NotYet { seconds }) => assert_eq!(now + seconds, claims.issued_at),
        Err(other) => panic!("{other}: {claims:?}"),
    }
}

/// Checks that a changed token is refused.
fn check_changed(token: &str, feed: &mut Feed<'_>) {
    let mut changed = token.as_bytes().to_vec();
    for _ in 0..=feed.below(CHANGES_MAX) {
        let at = (feed.short() as u16 as usize) % (changed.len() + 1);
        match feed.below(5) {
            0 if at < changed.len() => changed[at] = feed.pick(CHARACTERS),
            1 if at < changed.len() => changed[at] ^= 1 << feed.below(8),
            2 => changed.insert(at, feed.pick(CHARACTERS)),
            3 => changed.truncate(at),
            _ => changed.rotate_left(at),
        }
    }
    let Ok(changed) = String::from_utf8(changed) else { return };
    if changed == token {
        return;
    }
    let refused = KEY.id().verify(&changed, 0);
    let is_changed = TokenRefused::OtherKey;
    let is_none = matches!(refused, Err(TokenRefused::NotAToken | TokenRefused::Missing));
    assert!(is_none || refused == Err(is_changed), "{refused:?} for {changed}");
}

fuzz_target!(|bytes: &[u8]| {
    let Some((which, bytes)) = bytes.split_first() else { return };
    let mut feed = Feed::new(bytes);
    match which % 4 {
        0 => {
            let now = feed.long() as u64;
            if let Ok(text) = std::str::from_utf8(feed.slice(usize::MAX)) {
                check_text(text, now);
            }
        }
        1 => {
            if let Some((claims, len)) = check_wire::<Claims>(bytes) {
                let seat = std::str::from_utf8(&bytes[len..]).ok();
                let player = claims.player(seat);
                let words = player.map_or_else(|refused| refused.to_string(), |name| name.to_string());
                assert!(!words.is_empty());
            }
        }
        2 => {
            let claims = claims(&mut feed);
            let mut emitted = Vec::new();
            claims.emit(&mut emitted);
            assert_eq!(check_wire::<Claims>(&emitted), Some((claims.clone(), emitted.len())));
            check_signed(&claims, &KEY.sign(&claims), feed.long() as u64);
        }
        _ => {
            let token = KEY.sign(&claims(&mut feed));
            check_changed(&token, &mut feed);
        }
    }
});
