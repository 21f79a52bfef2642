//! The cookie that a browser keeps. Over TLS its name begins with `__Host-`, which browsers take only
//! from this very host, for all of it, with `Secure`; over plain HTTP, which is a developer's own
//! machine, it has a plain name and no `Secure`.

use http::header::COOKIE;
use http::{HeaderMap, HeaderValue};
use trunkline_store::people::{ABSOLUTE_LIFE_SECONDS, TokenHash};
use trunkline_types::Secret;

use crate::settings::ConsoleSettings;
use crate::tokens;

const OVER_TLS: &str = "__Host-trunkline";
const PLAIN: &str = "trunkline";

/// The hash of the token that a request brings; none if it brings none that could be one.
pub(crate) fn token(settings: &ConsoleSettings, headers: &HeaderMap) -> Option<TokenHash> {
    let name = name(settings);
    let lines = headers.get_all(COOKIE).iter();
    let texts = lines.filter_map(|line| line.to_str().ok());
    let mut pairs = texts.flat_map(|line| line.split(';'));
    let value = pairs.find_map(|pair| {
        let (own, value) = pair.trim().split_once('=')?;
        (own == name).then_some(value)
    })?;
    tokens::hash_of(value)
}

/// Whether a request brings one at all, good or not.
pub(crate) fn is_there(settings: &ConsoleSettings, headers: &HeaderMap) -> bool {
    let name = name(settings);
    let lines = headers.get_all(COOKIE).iter();
    let texts = lines.filter_map(|line| line.to_str().ok());
    let mut pairs = texts.flat_map(|line| line.split(';'));
    pairs.any(|pair| pair.trim().split('=').next() == Some(name))
}

/// What tells a browser to keep a token.
pub(crate) fn keep(settings: &ConsoleSettings, token: &Secret) -> Option<HeaderValue> {
    line(settings, token.reveal(), ABSOLUTE_LIFE_SECONDS)
}

/// What tells a browser to forget it.
pub(crate) fn forget(settings: &ConsoleSettings) -> Option<HeaderValue> {
    line(settings, "", 0)
}

fn line(settings: &ConsoleSettings, value: &str, seconds: i64) -> Option<HeaderValue> {
    let secure = if settings.is_https() { "; Secure" } else { "" };
    let name = name(settings);
    let text = format!("{name}={value}; Path=/; Max-Age={seconds}; HttpOnly; SameSite=Lax{secure}");
    let mut line = HeaderValue::from_str(&text).ok()?;
    line.set_sensitive(true);
    Some(line)
}

fn name(settings: &ConsoleSettings) -> &'static str {
    if settings.is_https() { OVER_TLS } else { PLAIN }
}
