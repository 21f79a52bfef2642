//! Validation of a channel before it is written.

use std::collections::{BTreeMap, BTreeSet};

use super::{
    BASE_URL_MAX_CHARACTERS, COST_MAX_BYTES, CostBook, HEADER_VALUE_MAX_CHARACTERS,
    HINT_MAX_CHARACTERS, MAX_CREDENTIALS, MAX_HEADERS, MAX_MODELS, NewChannel, NewCredential,
    PRIORITY_MAX, SEALED_CREDENTIAL_MAX_BYTES, SEALED_PROXY_MAX_BYTES, WEIGHT_MAX,
};
use crate::policy::AUTO_GROUP;
use crate::validation::{FieldError, LIMIT_MAX, Problem, check_name, check_word, check_words, cut};

/// Headers that the gateway sets itself: those of the request, and those that carry credentials.
const OUR_HEADERS: [&str; 19] = [
    "accept-encoding",
    "api-key",
    "authorization",
    "connection",
    "content-encoding",
    "content-length",
    "content-type",
    "cookie",
    "expect",
    "host",
    "keep-alive",
    "proxy-authorization",
    "proxy-connection",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
    "x-api-key",
    "x-goog-api-key",
];

/// A channel's fields in the form in which they are kept.
pub(super) struct Checked {
    pub(super) base_url: Option<String>,
    pub(super) groups: Vec<String>,
    pub(super) extra_headers: BTreeMap<String, String>,
}

/// The fields of a channel, but for its credentials.
pub(super) fn channel(new: &NewChannel<'_>) -> Result<Checked, FieldError> {
    check_name("name", new.name)?;
    check_word("provider", new.provider)?;
    if let Some(region) = new.region {
        check_word("region", region)?;
    }
    if let Some(residency) = new.residency {
        check_word("residency", residency)?;
    }
    in_range(
        "priority",
        i64::from(new.priority),
        0,
        i64::from(PRIORITY_MAX),
    )?;
    in_range("weight", i64::from(new.weight), 1, i64::from(WEIGHT_MAX))?;
    limit("requests_per_minute", new.requests_per_minute)?;
    limit("concurrent_calls", new.concurrent_calls)?;
    models(new.models)?;
    if let Some(proxy) = new.proxy {
        sealed("proxy", proxy, SEALED_PROXY_MAX_BYTES)?;
    }
    if let Some(cost) = new.cost {
        CostBook::from_json(cost)?;
        // Spelled by PostgreSQL it has a space more behind every comma and colon.
        if cost.to_string().len().saturating_mul(2) > COST_MAX_BYTES {
            let be = "shorter: it is kept in at most 262144 bytes";
            return Err(FieldError::new("cost", Problem::Must { be }));
        }
    }
    let groups = check_words("groups", new.groups.to_vec())?;
    if groups.iter().any(|group| group == AUTO_GROUP) {
        return Err(FieldError::new("groups", Problem::Auto));
    }
    Ok(Checked {
        base_url: new.base_url.map(base_url).transpose()?,
        groups,
        extra_headers: headers(new.extra_headers)?,
    })
}

fn base_url(text: &str) -> Result<String, FieldError> {
    let wrong = |problem| FieldError::new("base_url", problem);
    if text.chars().count() > BASE_URL_MAX_CHARACTERS {
        let most = BASE_URL_MAX_CHARACTERS;
        return Err(wrong(Problem::TooLong { most }));
    }
    let rest = ["https://", "http://"]
        .iter()
        .find_map(|scheme| text.strip_prefix(scheme));
    // No other character, so no password, query or second address can hide in it.
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~:[]/%".contains(&byte);
    let legal = rest
        .is_some_and(|rest| !rest.starts_with('/') && !rest.is_empty() && rest.bytes().all(plain));
    if !legal {
        let be =
            "an address such as https://api.example.com/v1, without a user, a query or a fragment";
        return Err(wrong(Problem::Must { be }));
    }
    Ok(text.trim_end_matches('/').to_owned())
}

fn models(models: &BTreeMap<String, String>) -> Result<(), FieldError> {
    if models.is_empty() {
        return Err(FieldError::new("models", Problem::Empty));
    }
    at_most("models", models.len(), MAX_MODELS)?;
    for (public, upstream) in models {
        check_word("models", public)?;
        check_word("models", upstream)?;
    }
    Ok(())
}

fn headers(headers: &BTreeMap<String, String>) -> Result<BTreeMap<String, String>, FieldError> {
    let field = "extra_headers";
    at_most(field, headers.len(), MAX_HEADERS)?;
    let mut kept = BTreeMap::new();
    for (name, value) in headers {
        let name = header_name(name)?;
        // Never repeated in an error: it may contain a secret by mistake.
        let legal = value
            .bytes()
            .all(|byte| byte == b' ' || byte.is_ascii_graphic())
            && value.trim() == value;
        if !legal || value.is_empty() {
            let be = "name=value with a value of visible ASCII characters";
            return Err(FieldError::new(field, Problem::Must { be }));
        }
        if value.len() > HEADER_VALUE_MAX_CHARACTERS {
            let most = HEADER_VALUE_MAX_CHARACTERS;
            return Err(FieldError::new(field, Problem::TooLong { most }));
        }
        if kept.insert(name.clone(), value.clone()).is_some() {
            let excerpt = cut(&name);
            return Err(FieldError::new(field, Problem::Twice { excerpt }));
        }
    }
    Ok(kept)
}

fn header_name(name: &str) -> Result<String, FieldError> {
    let field = "extra_headers";
    check_word(field, name)?;
    let token = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte);
    if !name.bytes().all(token) {
        let be = "headers whose names are letters, digits and -";
        return Err(FieldError::new(field, Problem::Must { be }));
    }
    let name = name.to_ascii_lowercase();
    if OUR_HEADERS.contains(&name.as_str()) {
        let excerpt = cut(&name);
        return Err(FieldError::new(field, Problem::OurHeader { excerpt }));
    }
    Ok(name)
}

pub(super) fn credentials(credentials: &[NewCredential<'_>]) -> Result<(), FieldError> {
    let field = "credentials";
    if credentials.is_empty() {
        return Err(FieldError::new(field, Problem::Empty));
    }
    at_most(field, credentials.len(), MAX_CREDENTIALS)?;
    let mut labels = BTreeSet::new();
    for credential in credentials {
        check_name("label", credential.label)?;
        sealed(field, credential.sealed, SEALED_CREDENTIAL_MAX_BYTES)?;
        if credential.hint.is_empty() || credential.hint.chars().count() > HINT_MAX_CHARACTERS {
            let most = HINT_MAX_CHARACTERS;
            return Err(FieldError::new("hint", Problem::TooLong { most }));
        }
        if !labels.insert(credential.label) {
            let excerpt = cut(credential.label);
            return Err(FieldError::new(field, Problem::Twice { excerpt }));
        }
    }
    Ok(())
}

fn sealed(field: &'static str, bytes: &[u8], most: usize) -> Result<(), FieldError> {
    if bytes.is_empty() {
        return Err(FieldError::new(field, Problem::Empty));
    }
    if bytes.len() > most {
        return Err(FieldError::new(field, Problem::TooLong { most }));
    }
    Ok(())
}

fn at_most(field: &'static str, count: usize, most: usize) -> Result<(), FieldError> {
    if count > most {
        return Err(FieldError::new(field, Problem::TooMany { most }));
    }
    Ok(())
}

fn limit(field: &'static str, limit: Option<i64>) -> Result<(), FieldError> {
    limit.map_or(Ok(()), |limit| in_range(field, limit, 1, LIMIT_MAX))
}

fn in_range(field: &'static str, value: i64, least: i64, most: i64) -> Result<(), FieldError> {
    if !(least..=most).contains(&value) {
        return Err(FieldError::new(field, Problem::OutOfRange { least, most }));
    }
    Ok(())
}
