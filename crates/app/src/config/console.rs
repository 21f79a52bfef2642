//! The console: from texts to values.

use std::net::{IpAddr, SocketAddr};

use trunkline_console::{Provider, SignUp, Trial};
use trunkline_store::validation::NAME_MAX_CHARACTERS;
use trunkline_types::{Money, Secret};

use super::Edge;
use super::check::{Check, in_range};
use super::raw::RawConsole;

/// Longest life of trial credit that can be set, ten years.
const MAX_TRIAL_DAYS: i64 = 3_650;
/// Most grants a day that can be set.
const MAX_TRIALS_PER_DAY: i64 = 1_000_000;

/// The console's listener and what people find there.
#[derive(Debug)]
pub(crate) struct Console {
    pub(crate) listen: SocketAddr,
    /// Where people open it: no path, no slash at its end.
    pub(crate) dash_url: String,
    pub(crate) name: String,
    pub(crate) sign_up: SignUp,
    /// The model in examples of the documentation.
    pub(crate) docs_model: String,
    pub(crate) trial: Option<Trial>,
    /// Where else people sign in.
    pub(crate) providers: Vec<Provider>,
    /// A login of the role console; none for that of `database.url`.
    pub(crate) database_url: Option<Secret>,
}

impl Check<'_> {
    pub(super) fn console(&mut self, raw: &RawConsole, edge: Option<&Edge>) -> Option<Console> {
        let listen = self.address("console.listen", &raw.listen);
        let dash_url = self.dash_url(&raw.public_url, listen, edge);
        let name = raw.name.trim();
        let good = (1..=NAME_MAX_CHARACTERS).contains(&name.chars().count())
            && !name.chars().any(char::is_control);
        let problem = format!("must be one line of 1 to {NAME_MAX_CHARACTERS} characters");
        let name = self.take("console.name", good.then(|| name.to_owned()).ok_or(problem));
        let sign_up = SignUp::ALL
            .into_iter()
            .find(|one| one.as_str() == raw.sign_up)
            .ok_or_else(|| "must be closed, invitation or open".to_owned());
        let sign_up = self.take("console.sign_up", sign_up);
        let plain = |name: &str| {
            (1..=NAME_MAX_CHARACTERS).contains(&name.len())
                && name
                    .chars()
                    .all(|c| c.is_ascii_alphanumeric() || "-._:/".contains(c))
        };
        let model = Some(raw.docs_model.clone()).filter(|name| plain(name));
        let problem = "must be the name of a model, such as gpt-5-mini".to_owned();
        let docs_model = self.take("console.docs_model", model.ok_or(problem));
        let trial = self.trial(raw);
        let providers = self.providers(&raw.provider);
        let database_url = self.database_url(
            "console.database_url",
            "console.database_url_file",
            &raw.database_url,
            &raw.database_url_file,
        );
        Some(Console {
            listen: listen?,
            dash_url: dash_url?,
            name: name?,
            sign_up: sign_up?,
            docs_model: docs_model?,
            trial: trial?,
            providers: providers?,
            database_url: database_url?,
        })
    }

    fn dash_url(
        &mut self,
        text: &str,
        listen: Option<SocketAddr>,
        edge: Option<&Edge>,
    ) -> Option<String> {
        let key = "console.public_url";
        if text.is_empty() {
            let listen = listen?;
            if !listen.ip().is_loopback() {
                let text = format!(
                    "must be set because console.listen {listen} is not a loopback address: links and cookies are made of it"
                );
                self.say(key, text);
                return None;
            }
            let shared = edge.filter(|edge| edge.listen == listen);
            let scheme = shared
                .and_then(|edge| edge.tls.as_ref())
                .map_or("http", |_| "https");
            return Some(format!("{scheme}://{listen}"));
        }
        let text = text.trim_end_matches('/');
        let url = url::Url::parse(text).ok().filter(|url| {
            let plain = url.username().is_empty() && url.password().is_none();
            let bare = url.path() == "/" && url.query().is_none() && url.fragment().is_none();
            plain && bare && url.host_str().is_some_and(|host| !host.is_empty())
        });
        let is_local = url.as_ref().is_some_and(is_loopback);
        match url.as_ref().map(url::Url::scheme) {
            Some("https") => Some(text.to_owned()),
            Some("http") if is_local => Some(text.to_owned()),
            Some("http") => {
                self.say(
                    key,
                    "must begin with https:// because people type passwords there; a proxy in front can speak it"
                        .to_owned(),
                );
                None
            }
            Some(_) | None => {
                self.say(
                    key,
                    "must be an address without a path, such as https://console.example.com"
                        .to_owned(),
                );
                None
            }
        }
    }

    /// Outer none: a finding was made. Inner none: nothing is given.
    fn trial(&mut self, raw: &RawConsole) -> Option<Option<Trial>> {
        let mut count = |key: &str, value: i64, most: i64| {
            let number = self.take(key, in_range(value, 1, most));
            number.and_then(|number| u32::try_from(number).ok())
        };
        let days = count("console.trial_days", raw.trial_days, MAX_TRIAL_DAYS);
        let per_day = count(
            "console.trial_per_day",
            raw.trial_per_day,
            MAX_TRIALS_PER_DAY,
        );
        if raw.trial_amount_usd.is_empty() {
            return days.zip(per_day).map(|_| None);
        }
        let amount = raw.trial_amount_usd.parse::<Money>().ok();
        let amount = amount.filter(|amount| *amount > Money::ZERO);
        let problem = "must be an amount such as 0.20, or empty for none".to_owned();
        let amount = self.take("console.trial_amount_usd", amount.ok_or(problem));
        Some(Some(Trial {
            amount: amount?,
            days: days?,
            per_day: per_day?,
        }))
    }
}

/// Whether an address names this machine.
pub(crate) fn is_loopback(url: &url::Url) -> bool {
    match url.host() {
        Some(url::Host::Ipv4(four)) => IpAddr::V4(four).is_loopback(),
        Some(url::Host::Ipv6(six)) => IpAddr::V6(six).is_loopback(),
        Some(url::Host::Domain(name)) => name == "localhost" || name.ends_with(".localhost"),
        None => false,
    }
}
