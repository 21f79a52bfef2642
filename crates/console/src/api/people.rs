//! What resources about people share: roles as words, a new sign-in, a password that was given.

use std::net::IpAddr;

use axum::response::{IntoResponse as _, Response};
use http::HeaderMap;
use http::header::SET_COOKIE;
use trunkline_db::Tx;
use trunkline_store::attempt_counters::{self, Attempt};
use trunkline_store::people::{
    self, Allowed, AttemptDevice, Counted, LoginAttempt, LoginLimits, NewSignIn, Person, PersonId,
    Role, TokenHash,
};
use trunkline_types::{AccountId, RANDOM_BYTES, Secret, uuid_v7};
use uuid::Uuid;

use crate::browser_binding::{self, Browser};
use crate::error::{ApiError, ConsoleErrorCode};
use crate::json_body::Caller;
pub(crate) use crate::request_bodies::RoleName;
use crate::session_cookie;
use crate::shared::Shared;
use crate::tokens::{Token, sha256};

/// An IPv6 site may make this many times the attempts of one of its networks.
const SITE_TIMES: i32 = 8;
const HOUR_SECONDS: i64 = 3_600;

/// A sign-in that was written.
pub(crate) struct NewSession {
    pub(crate) token: Token,
    /// Known from now on: failed attempts of others do not lock it out.
    pub(crate) browser: Browser,
}

// === impl RoleName ===

impl From<Role> for RoleName {
    fn from(role: Role) -> Self {
        match role {
            Role::Owner => Self::Owner,
            Role::Admin => Self::Admin,
            Role::Developer => Self::Developer,
            Role::Billing => Self::Billing,
            Role::Viewer => Self::Viewer,
        }
    }
}

impl From<RoleName> for Role {
    fn from(word: RoleName) -> Self {
        match word {
            RoleName::Owner => Self::Owner,
            RoleName::Admin => Self::Admin,
            RoleName::Developer => Self::Developer,
            RoleName::Billing => Self::Billing,
            RoleName::Viewer => Self::Viewer,
        }
    }
}

// === impl NewSession ===

impl NewSession {
    /// Writes a new sign-in of a person who has just proved who they are, in the caller's transaction.
    pub(crate) async fn write(
        shared: &Shared,
        tx: &mut Tx,
        person: PersonId,
        account: Option<AccountId>,
        caller: &Caller,
        headers: &HeaderMap,
    ) -> Result<Self, ApiError> {
        Self::write_as(shared, tx, person, account, caller, headers, true).await
    }

    /// The same of a person who is believed because they were signed in: not with money and secrets.
    pub(crate) async fn write_untrusted(
        shared: &Shared,
        tx: &mut Tx,
        person: PersonId,
        account: Option<AccountId>,
        caller: &Caller,
        headers: &HeaderMap,
    ) -> Result<Self, ApiError> {
        Self::write_as(shared, tx, person, account, caller, headers, false).await
    }

    /// The one that the request came with, if it had one, ends: a cookie that was planted before is
    /// worth nothing after.
    pub(crate) async fn write_as(
        shared: &Shared,
        tx: &mut Tx,
        person: PersonId,
        account: Option<AccountId>,
        caller: &Caller,
        headers: &HeaderMap,
        is_stepped_up: bool,
    ) -> Result<Self, ApiError> {
        let token = Token::fresh(shared.random.as_ref())?;
        // Who is believed because they were signed in has given the second factor there.
        let mut factor_given = false;
        if let Some(old) = session_cookie::token(&shared.settings, headers)
            && let Some(old) = people::find_sign_in(tx, &old).await?
        {
            people::end(tx, old.person, old.id).await?;
            factor_given = old.person == person && old.second_factor_given;
        }
        let new = NewSignIn {
            id: fresh_id(shared)?,
            token: &token.hash,
            person,
            account,
            is_stepped_up,
            address: &caller.address.to_string(),
            agent: &caller.agent,
        };
        people::sign_in(tx, &new).await?;
        if factor_given {
            people::note_second_factor(tx, new.id).await?;
        }
        let browser = Browser::of(shared, headers)?;
        // With a second factor, a device is known once it was given.
        if factor_given || people::second_factor(tx, person, true).await?.is_none() {
            people::remember_device(tx, &hash_of_device(person, &browser.hash)).await?;
        }
        tracing::info!(person.id = person.number(), "sign-in succeeded");
        Ok(Self { token, browser })
    }
}

/// The answer with a cookie for the browser to keep.
pub(crate) fn with_token(shared: &Shared, mut answered: Response, token: &Secret) -> Response {
    if let Some(line) = session_cookie::keep(&shared.settings, token) {
        answered.headers_mut().append(SET_COOKIE, line);
    }
    answered
}

/// The answer with the word to forget it.
pub(crate) fn without_token(shared: &Shared, mut answered: Response) -> Response {
    if let Some(line) = session_cookie::forget(&shared.settings) {
        answered.headers_mut().append(SET_COOKIE, line);
    }
    answered
}

/// An answer without a body.
pub(crate) fn done() -> Response {
    http::StatusCode::NO_CONTENT.into_response()
}

fn fresh_id(shared: &Shared) -> Result<Uuid, ApiError> {
    let mut random = [0; RANDOM_BYTES];
    shared.random.fill(&mut random)?;
    Ok(uuid_v7(shared.clock.now(), random))
}

/// Where a password was given.
#[derive(Clone, Copy)]
pub(crate) enum GivenIn<'a> {
    /// In a browser, which may have a cookie of an earlier sign-in.
    Browser(&'a HeaderMap),
    /// In a session of the person.
    Session(Uuid),
}

/// The person of an address and a password. Whatever is wrong, the answer and its time are the same:
/// one hash is made for a stranger, a wrong password and a locked address alike.
pub(crate) async fn person_of(
    shared: &Shared,
    email: &str,
    password: &Secret,
    caller: &Caller,
    given: GivenIn<'_>,
) -> Result<Person, ApiError> {
    let person = match people::check_email("email", email) {
        Ok(email) => {
            let mut session = shared.people.session().await?;
            people::by_email(&mut session, &email).await?
        }
        // An invalid address has no account.
        Err(_) => None,
    };
    let person = person.filter(|person| person.disabled_at.is_none());
    let (address, network) = (sha256(email.as_bytes()), network_of(caller.address));
    let id = person.as_ref().map(|person| person.id);
    let device = device_hash(shared, id, given);
    let tried = LoginAttempt {
        address: &address,
        network: &network,
        device: match (&device, given) {
            (None, _) => AttemptDevice::Unknown,
            (Some(hash), GivenIn::Browser(_)) => AttemptDevice::Claimed(hash),
            (Some(hash), GivenIn::Session(_)) => AttemptDevice::Session(hash),
        },
    };
    let counted = count(shared, tried, caller).await?;
    let hash = person.as_ref().and_then(|person| person.password.as_ref());
    let right = shared.passwords.is_right(password, hash).await?;
    let is_open = matches!(counted.allowed, Allowed::Yes);
    let person = person.filter(|_| right && is_open);
    let person = person.ok_or_else(sign_in_failed)?;
    let mut tx = shared.people.begin().await?;
    let done = people::clear_attempts(&mut tx, &counted).await;
    tx.finish(done).await?;
    Ok(person)
}

/// Counted before the password is looked at, and committed: many at once are many. A network or an IPv6
/// site that is out of attempts is refused.
async fn count<'a>(
    shared: &Shared,
    tried: LoginAttempt<'a>,
    caller: &Caller,
) -> Result<Counted<'a>, ApiError> {
    let mut tx = shared.people.begin().await?;
    let done = people::record_attempt(&mut tx, tried, &LoginLimits::DEFAULT).await;
    let counted = tx.finish(done).await?;
    if let Allowed::NetworkIsOut { after_seconds } = counted.allowed {
        return Err(ApiError::too_many_attempts(after_seconds));
    }
    if let Some(site) = site_of(caller.address)
        && !counted.is_of_known_device()
        && !attempt_counters::take(&shared.people, Attempt::SignInFromSite, &site).await?
    {
        return Err(ApiError::too_many_attempts(HOUR_SECONDS));
    }
    Ok(counted)
}

/// What the attempts of a known device or a session are counted by.
fn device_hash(shared: &Shared, person: Option<PersonId>, given: GivenIn<'_>) -> Option<TokenHash> {
    let person = person?;
    match given {
        GivenIn::Browser(headers) => {
            let cookie = browser_binding::known(&shared.settings, headers)?;
            Some(hash_of_device(person, &cookie))
        }
        GivenIn::Session(id) => Some(hash_of_device(person, &sha256(id.as_bytes()))),
    }
}

pub(crate) fn hash_of_device(person: PersonId, cookie: &TokenHash) -> TokenHash {
    let mut both = person.number().to_be_bytes().to_vec();
    both.extend_from_slice(cookie);
    sha256(&both)
}

/// One text for a wrong password, an unknown address and a locked one.
pub(crate) fn sign_in_failed() -> ApiError {
    let text = "wrong email or password, or too many attempts; after five failed attempts the address \
                is locked for some minutes";
    ApiError::new(ConsoleErrorCode::SignInFailed, text)
}

/// The network of an address, hashed: what one household or office has.
fn network_of(address: IpAddr) -> TokenHash {
    match address.to_canonical() {
        IpAddr::V4(four) => {
            let [a, b, c, _] = four.octets();
            sha256(&[4, a, b, c])
        }
        IpAddr::V6(six) => {
            let [a, b, c, d, e, f, g, h, ..] = six.octets();
            sha256(&[6, a, b, c, d, e, f, g, h])
        }
    }
}

/// The network of an IPv6 site, hashed: a provider gives one customer a /48 of 65,536 networks.
fn site_of(address: IpAddr) -> Option<TokenHash> {
    match address.to_canonical() {
        IpAddr::V4(_) => None,
        IpAddr::V6(six) => {
            let [a, b, c, d, e, f, ..] = six.octets();
            Some(sha256(&[48, a, b, c, d, e, f]))
        }
    }
}

/// Counts an attempt of the caller's network, and of the IPv6 site that it is in. False if one of them has
/// none left.
pub(crate) async fn take_of_network(
    shared: &Shared,
    what: Attempt,
    address: IpAddr,
) -> Result<bool, ApiError> {
    let people = &shared.people;
    if let Some(site) = site_of(address)
        && !attempt_counters::take_wide(people, what, &site, SITE_TIMES).await?
    {
        return Ok(false);
    }
    Ok(attempt_counters::take(people, what, &network_of(address)).await?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_site_is_a_slash_48_of_version_6() {
        let site = |text: &str| site_of(text.parse().unwrap());
        assert_eq!(site("192.0.2.1"), None);
        assert_eq!(site("2001:db8:1:2::1"), site("2001:db8:1:ffff::2"));
        assert_ne!(site("2001:db8:1::1"), site("2001:db8:2::1"));
    }

    #[test]
    fn a_network_is_a_slash_24_or_a_slash_64() {
        let network = |text: &str| network_of(text.parse().unwrap());
        assert_eq!(network("192.0.2.1"), network("192.0.2.254"));
        assert_eq!(network("192.0.2.1"), network("::ffff:192.0.2.7"));
        assert_ne!(network("192.0.2.1"), network("192.0.3.1"));
        assert_eq!(network("2001:db8::1"), network("2001:db8::ffff:1:2:3"));
        assert_ne!(network("2001:db8::1"), network("2001:db8:0:1::1"));
    }
}
