//! Credentials that are ready to be shown: a header that is made once, a signature that is made for
//! each call, or a token that is fetched and kept for a while. No secret is in any error or `Debug`.

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

/// A credential, opened once and used for many calls. Keep it as long as the credential lives: a
/// token that was fetched lives in it.
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
    /// It holds something that no header may.
    #[error("the credential cannot stand in a header; it may have a line end in it")]
    NotAHeader,
    /// An AWS credential of another shape.
    #[error("an AWS credential is written ACCESS_KEY_ID:SECRET[:SESSION_TOKEN][@REGION]")]
    NotAws,
    /// Not the JSON of a service account.
    #[error("a Google credential is the JSON file of a service account: {0}")]
    NotGoogle(&'static str),
}

// === impl Credential ===

impl Credential {
    /// Opens a credential as a provider wants it shown.
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

    /// The headers that show it, for one call that is complete but for them. They replace headers of
    /// the same names. A token that must be fetched goes the call's own way out and within its time
    /// to the first byte; without one the call cannot be sent.
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

    /// Every text that no message may hold. Tokens come and go, so ask when a message is cleaned.
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
