//! The browser client, the pages and the documentation, embedded.
//!
//! ```
//! let client = evenkeel_web::file("client/index.js").expect("an embedded file");
//! assert!(client.starts_with(b"/**"));
//! ```

use std::borrow::Cow;

use rust_embed::RustEmbed;

#[derive(RustEmbed)]
#[folder = "."]
#[include = "client/*"]
#[include = "arena/*"]
#[include = "eater/*"]
#[include = "example/*"]
struct WebAssets;

/// A folder of its own, because `docs` is a symbolic link that debug builds would not follow out of `web/`.
#[derive(RustEmbed)]
#[folder = "docs"]
#[include = "*.md"]
struct Docs;

/// Returns the file at this path below `web/`; `None` if there is none.
#[must_use]
pub fn file(path: &str) -> Option<Cow<'static, [u8]>> {
    let file = match path.strip_prefix("docs/") {
        Some(page) => Docs::get(page),
        None => WebAssets::get(path),
    };
    file.map(|file| file.data)
}
