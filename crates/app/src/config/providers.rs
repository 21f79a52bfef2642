//! Providers of OpenID Connect: from texts to values.

use std::path::Path;

use trunkline_console::Provider;
use trunkline_types::Secret;

use super::check::Check;
use super::console::is_loopback;
use super::layers::variable;
use super::raw::RawProvider;
use crate::files;

const KEY: &str = "console.provider";
/// Most providers: each is a button on the sign-in page.
const MAX_PROVIDERS: usize = 20;
/// Longest secret that is read from a file.
const MAX_SECRET_BYTES: u64 = 4_096;
/// Longest word, name and address.
const MAX_ID_CHARACTERS: usize = 32;
const MAX_NAME_CHARACTERS: usize = 60;
const MAX_TEXT_CHARACTERS: usize = 500;
/// What is asked for beside `openid`, where nothing else is said.
const SCOPES: [&str; 2] = ["email", "profile"];

impl Check<'_> {
    pub(super) fn providers(&mut self, raw: &[RawProvider]) -> Option<Vec<Provider>> {
        if raw.len() > MAX_PROVIDERS {
            self.say(KEY, format!("there may be at most {MAX_PROVIDERS}"));
            return None;
        }
        let mut providers: Vec<Provider> = Vec::new();
        for one in raw {
            let read = provider(one).and_then(|read| {
                let twice = providers.iter().any(|known| known.id == read.id);
                if twice {
                    return Err("has the id of another".to_owned());
                }
                Ok(read)
            });
            // A word that is wrong may be anything, so only what could be one is repeated.
            let shortened: String = one.id.chars().take(MAX_ID_CHARACTERS).collect();
            let read = read.map_err(|problem| format!("{shortened:?} {problem}"));
            providers.extend(self.take(KEY, read));
        }
        (providers.len() == raw.len()).then_some(providers)
    }
}

fn provider(raw: &RawProvider) -> Result<Provider, String> {
    let legal = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    if !(1..=MAX_ID_CHARACTERS).contains(&raw.id.len()) || !raw.id.chars().all(legal) {
        return Err(format!(
            "needs an id of 1 to {MAX_ID_CHARACTERS} small letters, digits and dashes: it stands in addresses"
        ));
    }
    let name = raw.name.trim();
    let is_line = !name.chars().any(char::is_control);
    if !(1..=MAX_NAME_CHARACTERS).contains(&name.chars().count()) || !is_line {
        return Err(format!(
            "needs a name of 1 to {MAX_NAME_CHARACTERS} characters"
        ));
    }
    let is_bounded = |text: &str| (1..=MAX_TEXT_CHARACTERS).contains(&text.len());
    if !is_bounded(&raw.client_id) {
        return Err("needs a client_id".to_owned());
    }
    let lower = raw
        .allowed_domains
        .iter()
        .map(|domain| domain.to_lowercase());
    let scopes = match &raw.scopes {
        Some(scopes) => scopes.clone(),
        None => SCOPES.map(str::to_owned).to_vec(),
    };
    Ok(Provider {
        id: raw.id.clone(),
        name: name.to_owned(),
        issuer: issuer(&raw.issuer)?,
        client_id: raw.client_id.clone(),
        client_secret: secret(raw)?,
        scopes,
        allowed_domains: lower.collect(),
        makes_people: raw.makes_people,
    })
}

/// Kept exactly as it was written: it is compared with what the provider calls itself, slash and all.
fn issuer(text: &str) -> Result<String, String> {
    let url = url::Url::parse(text).ok().filter(|url| {
        let plain = url.username().is_empty() && url.password().is_none();
        let bare = url.query().is_none() && url.fragment().is_none();
        plain && bare && text.len() <= MAX_TEXT_CHARACTERS
    });
    let is_private = url
        .as_ref()
        .is_some_and(|url| url.scheme() == "https" || (url.scheme() == "http" && is_loopback(url)));
    if is_private {
        return Ok(text.to_owned());
    }
    Err("needs an issuer such as https://accounts.example.com, over https".to_owned())
}

fn secret(raw: &RawProvider) -> Result<Secret, String> {
    let (file, name) = (&raw.client_secret_file, &raw.client_secret_variable);
    let given = [
        raw.client_secret.is_some(),
        !file.is_empty(),
        !name.is_empty(),
    ];
    if given.iter().filter(|is_given| **is_given).count() != 1 {
        let ways = "client_secret, client_secret_file or client_secret_variable";
        return Err(format!("needs one of {ways}, and not two"));
    }
    let secret = if let Some(secret) = &raw.client_secret {
        secret.clone()
    } else if file.is_empty() {
        let problem = || format!("names the variable {name:?}, which is not set");
        variable(name).ok_or_else(problem)?
    } else {
        let read = files::read_bounded(Path::new(file), MAX_SECRET_BYTES);
        let text = read.map_err(|error| format!("cannot read {file:?}: {error}"))?;
        Secret::new(text.trim().to_owned())
    };
    if secret.reveal().is_empty() {
        return Err("has an empty client secret".to_owned());
    }
    Ok(secret)
}
