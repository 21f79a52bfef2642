//! Upstream credentials: a fixed header, a signature per request, or an access token that is fetched and cached.
//! No secret is in any error or `Debug`.

mod google;
mod kling;
mod sigv4;

use std::fmt;

use http::{HeaderName, HeaderValue, header};
use trunkline_types::{Secret, Timestamp};

use self::google::ServiceAccount;
use self::kling::KeyPair;
use self::sigv4::Keys;
use crate::client::{Client, Outgoing, SendError};
use crate::providers::Auth;

/// A parsed credential, used for many calls. Keep it for as long as the credential is valid: it caches access
/// tokens.
pub struct Credential(Kind);

enum Kind {
    /// The same header on every call.
    Fixed {
        name: HeaderName,
        value: HeaderValue,
        secret: Secret,
    },
    SigV4(Keys),
    Google(Box<ServiceAccount>),
    Kling(KeyPair),
}

/// Why a credential cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum OpenError {
    /// It contains a character that is illegal in a header.
    #[error("the credential cannot stand in a header; it may have a line end in it")]
    NotAHeader,
    /// An AWS credential in another form.
    #[error("an AWS credential is written ACCESS_KEY_ID:SECRET[:SESSION_TOKEN][@REGION]")]
    NotAws,
    /// Not the JSON of a service account.
    #[error("a Google credential is the JSON file of a service account: {0}")]
    NotGoogle(&'static str),
}

// === impl Credential ===

impl Credential {
    /// Parses a credential for a provider's authentication scheme.
    pub fn new(auth: &Auth, secret: &Secret) -> Result<Self, OpenError> {
        Ok(Self(match auth {
            Auth::Bearer => fixed(header::AUTHORIZATION, bearer(secret)?, secret),
            Auth::Header(name) => {
                let name = HeaderName::from_bytes(name.as_bytes());
                let name = name.map_err(|_| OpenError::NotAHeader)?;
                fixed(name, sensitive(secret.reveal())?, secret)
            }
            Auth::SigV4(service) => Kind::SigV4(Keys::read(service, secret)?),
            Auth::GoogleServiceAccount => Kind::Google(Box::new(ServiceAccount::read(secret)?)),
            Auth::KlingToken => match KeyPair::read(secret) {
                Some(keys) => Kind::Kling(keys),
                None => fixed(header::AUTHORIZATION, bearer(secret)?, secret),
            },
        }))
    }

    /// The authentication headers of one call that is otherwise complete. They replace headers of the same names. An
    /// access token is fetched through the call's own proxy and within its first-byte deadline; without a token the
    /// call cannot be sent.
    pub async fn headers(
        &self,
        client: &Client,
        call: &Outgoing<'_>,
        now: Timestamp,
    ) -> Result<Vec<(HeaderName, HeaderValue)>, SendError> {
        match &self.0 {
            Kind::Fixed { name, value, .. } => Ok(vec![(name.clone(), value.clone())]),
            Kind::SigV4(keys) => keys.headers(call, now),
            Kind::Google(account) => {
                let token = account.token(client, call, now).await?;
                let value = bearer(&token).map_err(|_| {
                    SendError::NotSent("the token cannot stand in a header".to_owned())
                })?;
                Ok(vec![(header::AUTHORIZATION, value)])
            }
            Kind::Kling(keys) => {
                let value = bearer(&keys.token(now)).map_err(|_| {
                    SendError::NotSent("the token cannot stand in a header".to_owned())
                })?;
                Ok(vec![(header::AUTHORIZATION, value)])
            }
        }
    }

    /// Every text to redact from messages. Tokens change, so call this for each message.
    #[must_use]
    pub fn secrets(&self) -> Vec<Secret> {
        match &self.0 {
            Kind::Fixed { secret, .. } => vec![secret.clone()],
            Kind::SigV4(keys) => keys.secrets(),
            Kind::Google(account) => account.secrets(),
            Kind::Kling(keys) => keys.secrets(),
        }
    }
}

impl fmt::Debug for Credential {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match &self.0 {
            Kind::Fixed { .. } => "Credential(a header)",
            Kind::SigV4(_) => "Credential(an AWS key)",
            Kind::Google(_) => "Credential(a service account)",
            Kind::Kling(_) => "Credential(a pair of keys)",
        })
    }
}

fn fixed(name: HeaderName, value: HeaderValue, secret: &Secret) -> Kind {
    Kind::Fixed {
        name,
        value,
        secret: secret.clone(),
    }
}

fn bearer(secret: &Secret) -> Result<HeaderValue, OpenError> {
    sensitive(&format!("Bearer {}", secret.reveal()))
}

fn sensitive(text: &str) -> Result<HeaderValue, OpenError> {
    let mut value = HeaderValue::from_str(text).map_err(|_| OpenError::NotAHeader)?;
    value.set_sensitive(true);
    Ok(value)
}

#[cfg(test)]
mod tests;
