//! The page's files and the documentation that it links to, embedded in the program: it needs no other server.

use std::borrow::Cow;

use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use evenkeel_serve::error_response;

/// The page loads nothing from elsewhere, and is cross-origin isolated for the browser's finest timer.
const HEADERS: [(header::HeaderName, HeaderValue); 5] = [
    (header::CACHE_CONTROL, HeaderValue::from_static("no-cache")),
    (
        header::CONTENT_SECURITY_POLICY,
        HeaderValue::from_static(
            "default-src 'self'; connect-src 'self' https://127.0.0.1:*; base-uri 'none'; \
             frame-ancestors 'none'",
        ),
    ),
    (header::HeaderName::from_static("cross-origin-opener-policy"), HeaderValue::from_static("same-origin")),
    (
        header::HeaderName::from_static("cross-origin-embedder-policy"),
        HeaderValue::from_static("require-corp"),
    ),
    (header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff")),
];

/// The response with an embedded file.
pub(super) fn asset(path: &str) -> Response {
    respond(path, evenkeel_web::file(path))
}

/// The response with a page of the documentation, as text.
pub(super) fn docs(path: &str) -> Response {
    respond(path, evenkeel_web::file(&format!("docs/{path}")))
}

fn respond(path: &str, file: Option<Cow<'static, [u8]>>) -> Response {
    let Some(file) = file else {
        return error_response(StatusCode::NOT_FOUND, &format!("no such file: {path}"));
    };
    let kind = match path.rsplit_once('.').map(|(_, end)| end) {
        Some("html") => "text/html; charset=utf-8",
        Some("css") => "text/css; charset=utf-8",
        Some("js") => "text/javascript; charset=utf-8",
        Some("svg") => "image/svg+xml",
        // Browsers show Markdown only as plain text.
        Some("md") => "text/plain; charset=utf-8",
        _ => "application/octet-stream",
    };
    ([(header::CONTENT_TYPE, kind)], HEADERS, file).into_response()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn serves_the_documentation_as_text() {
        let answer = docs("even.md");
        assert_eq!(answer.status(), StatusCode::OK);
        assert_eq!(answer.headers()[header::CONTENT_TYPE], "text/plain; charset=utf-8");
        assert_eq!(docs("img/spread.svg").status(), StatusCode::NOT_FOUND);
    }

    #[test]
    fn serves_the_page_but_not_its_tests() {
        for (path, kind) in [
            ("arena/index.html", "text/html; charset=utf-8"),
            ("arena/main.js", "text/javascript; charset=utf-8"),
            ("client/worker.js", "text/javascript; charset=utf-8"),
        ] {
            let answer = asset(path);
            assert_eq!(answer.status(), StatusCode::OK, "{path}");
            assert_eq!(answer.headers()[header::CONTENT_TYPE], kind);
        }
        for path in ["", "arena", "test/mock.py", "../Cargo.toml", "arena/../../Cargo.toml"] {
            assert_eq!(asset(path).status(), StatusCode::NOT_FOUND, "{path}");
        }
    }
}
