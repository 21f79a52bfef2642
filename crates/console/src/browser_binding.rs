//! The cookie that names a browser. A flow must end in the browser that started it, and failed sign-ins of
//! others do not lock out a browser that was signed in before. It authenticates nothing by itself.

use axum::response::Response;
use http::header::{COOKIE, SET_COOKIE};
use http::{HeaderMap, HeaderValue};
use trunkline_store::people::TokenHash;

use crate::error::ApiError;
use crate::settings::ConsoleSettings;
use crate::shared::Shared;
use crate::tokens::{self, Token};

const OVER_TLS: &str = "__Host-trunkline-browser";
const PLAIN: &str = "trunkline-browser";
/// The longest that browsers keep a cookie.
const LIFE_SECONDS: i64 = 400 * 86_400;

pub(crate) struct Browser {
    pub(crate) hash: TokenHash,
    /// What it is to keep, if it had nothing.
    fresh: Option<Token>,
}

/// The browser of a request, by its cookie; none if it brings none.
pub(crate) fn known(settings: &ConsoleSettings, headers: &HeaderMap) -> Option<TokenHash> {
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

const fn name_of(is_https: bool) -> &'static str {
    if is_https { OVER_TLS } else { PLAIN }
}

fn name(settings: &ConsoleSettings) -> &'static str {
    name_of(settings.is_https())
}

// === impl Browser ===

impl Browser {
    /// The browser of a request; one that is new is given a cookie.
    pub(crate) fn of(shared: &Shared, headers: &HeaderMap) -> Result<Self, ApiError> {
        if let Some(hash) = known(&shared.settings, headers) {
            return Ok(Self { hash, fresh: None });
        }
        let token = Token::fresh(shared.random.as_ref())?;
        Ok(Self {
            hash: token.hash,
            fresh: Some(token),
        })
    }

    /// The answer, with the cookie for a browser that is new.
    pub(crate) fn keep(&self, settings: &ConsoleSettings, mut answered: Response) -> Response {
        let Some(token) = &self.fresh else {
            return answered;
        };
        let secure = if settings.is_https() { "; Secure" } else { "" };
        let text = format!(
            "{}={}; Path=/; Max-Age={LIFE_SECONDS}; HttpOnly; SameSite=Lax{secure}",
            name(settings),
            token.text.reveal()
        );
        if let Ok(mut line) = HeaderValue::from_str(&text) {
            line.set_sensitive(true);
            answered.headers_mut().append(SET_COOKIE, line);
        }
        answered
    }
}
