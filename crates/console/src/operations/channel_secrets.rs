//! Credentials and proxies of channels into their seals, and out again for the one who calls. No text of an error
//! here repeats a secret.

use trunkline_keyring::{Binding, Keyring, Purpose, SealError};
use trunkline_store::channels::{
    Channel, Credential, NewCredential, credential_context, proxy_context,
};
use trunkline_types::Secret;
use trunkline_upstream::{Auth, Credential as UpstreamCredential, Provider, Providers, Proxy};

/// Longest credential: far above any key, far below what a header may be.
pub const CREDENTIAL_MAX_BYTES: usize = 4_096;
/// From so many characters on, the last four give nothing away.
const HINT_NEEDS_CHARACTERS: usize = 16;
const HINT_CHARACTERS: usize = 4;
/// Characters of a name that an error repeats.
const SHOWN_CHARACTERS: usize = 100;

/// Why a secret of a channel is not used.
#[derive(Debug, thiserror::Error)]
pub enum ChannelSecretError {
    #[error(
        "there is no provider {name:?}; there are {known}, and a file in providers.folder adds one"
    )]
    UnknownProvider { name: String, known: String },
    #[error("provider {provider} has no base URL, and the channel has none")]
    NoAddress { provider: String },
    #[error("credential {label:?} must have 1 to {CREDENTIAL_MAX_BYTES} characters")]
    Length { label: String },
    #[error("credential {label:?} must be one line of visible ASCII characters")]
    NotALine { label: String },
    #[error("credential {label:?} cannot be used: {why}")]
    Unusable { label: String, why: String },
    #[error("the proxy's address cannot be used: {why}")]
    Proxy { why: String },
    #[error("{what} cannot be opened: another keyring sealed it, or it was altered")]
    Unopened { what: String },
    #[error(transparent)]
    Seal(#[from] SealError),
}

/// A credential as it is kept.
pub struct SealedCredential {
    pub label: String,
    pub sealed: Vec<u8>,
    pub hint: String,
}

/// A provider by its name.
pub fn known_provider<'a>(
    providers: &'a Providers,
    name: &str,
) -> Result<&'a Provider, ChannelSecretError> {
    providers.get(name).ok_or_else(|| {
        let known: Vec<&str> = providers.names().collect();
        ChannelSecretError::UnknownProvider {
            name: name.chars().take(SHOWN_CHARACTERS).collect(),
            known: known.join(", "),
        }
    })
}

/// Refuses a channel that would have no address.
pub fn check_address(
    providers: &Providers,
    provider: &str,
    base_url: Option<&str>,
) -> Result<(), ChannelSecretError> {
    let provider = known_provider(providers, provider)?;
    if provider.base_url.is_none() && base_url.is_none() {
        let provider = provider.name.clone();
        return Err(ChannelSecretError::NoAddress { provider });
    }
    Ok(())
}

/// A credential that the provider's authentication can use.
pub fn check_credential(
    auth: &Auth,
    label: &str,
    text: &Secret,
) -> Result<Secret, ChannelSecretError> {
    let text = text.reveal().trim();
    let label = || label.chars().take(SHOWN_CHARACTERS).collect::<String>();
    if text.is_empty() || text.len() > CREDENTIAL_MAX_BYTES {
        return Err(ChannelSecretError::Length { label: label() });
    }
    let is_line = text.bytes().all(|byte| byte.is_ascii_graphic());
    match auth {
        Auth::Bearer | Auth::Header(_) | Auth::SigV4(_) | Auth::KlingToken if !is_line => {
            return Err(ChannelSecretError::NotALine { label: label() });
        }
        // A file of JSON has lines.
        Auth::Bearer
        | Auth::Header(_)
        | Auth::SigV4(_)
        | Auth::KlingToken
        | Auth::GoogleServiceAccount => {}
    }
    let text = Secret::new(text.to_owned());
    let usable = UpstreamCredential::new(auth, &text);
    usable.map_err(|error| ChannelSecretError::Unusable {
        label: label(),
        why: error.to_string(),
    })?;
    Ok(text)
}

/// Checks and seals a credential of a channel.
pub fn seal_checked(
    keyring: &Keyring,
    channel: &str,
    label: &str,
    text: &Secret,
    auth: &Auth,
) -> Result<SealedCredential, ChannelSecretError> {
    let text = check_credential(auth, label, text)?;
    seal(keyring, channel, label, &text)
}

/// Seals a credential that was checked.
pub fn seal(
    keyring: &Keyring,
    channel: &str,
    label: &str,
    text: &Secret,
) -> Result<SealedCredential, ChannelSecretError> {
    let text = text.reveal();
    let context = credential_context(channel, label);
    let binding = Binding::of_operator(&context);
    Ok(SealedCredential {
        label: label.to_owned(),
        sealed: keyring.seal(Purpose::Credentials, &binding, text.as_bytes())?,
        hint: hint(text),
    })
}

/// Sealed credentials as rows to write.
#[must_use]
pub fn as_new(sealed: &[SealedCredential]) -> Vec<NewCredential<'_>> {
    let each = sealed.iter().map(|credential| NewCredential {
        label: &credential.label,
        sealed: &credential.sealed,
        hint: &credential.hint,
    });
    each.collect()
}

/// Checks and seals the address of a proxy.
pub fn seal_proxy(
    keyring: &Keyring,
    channel: &str,
    text: &Secret,
) -> Result<Vec<u8>, ChannelSecretError> {
    let text = Secret::new(text.reveal().trim().to_owned());
    read_proxy(&text)?;
    let context = proxy_context(channel);
    let binding = Binding::of_operator(&context);
    Ok(keyring.seal(Purpose::Credentials, &binding, text.reveal().as_bytes())?)
}

/// A credential of a channel, opened.
pub fn open(
    keyring: &Keyring,
    channel: &Channel,
    credential: &Credential,
) -> Result<Secret, ChannelSecretError> {
    let context = credential_context(&channel.name, &credential.label);
    let what = format!("credential {:?}", credential.label);
    open_text(keyring, &context, &credential.sealed, what)
}

/// The proxy of a channel, opened.
pub fn open_proxy(
    keyring: &Keyring,
    channel: &Channel,
) -> Result<Option<Proxy>, ChannelSecretError> {
    let text = open_proxy_text(keyring, channel)?;
    text.as_ref().map(read_proxy).transpose()
}

/// The address of a channel's proxy, opened.
pub fn open_proxy_text(
    keyring: &Keyring,
    channel: &Channel,
) -> Result<Option<Secret>, ChannelSecretError> {
    let Some(sealed) = &channel.proxy else {
        return Ok(None);
    };
    let context = proxy_context(&channel.name);
    let what = "the proxy's address".to_owned();
    open_text(keyring, &context, sealed, what).map(Some)
}

/// The secrets of a channel, sealed for another one of the name `new`.
pub fn reseal_for(
    keyring: &Keyring,
    channel: &Channel,
    new: &str,
) -> Result<(Option<Vec<u8>>, Vec<SealedCredential>), ChannelSecretError> {
    let proxy = open_proxy_text(keyring, channel)?;
    let proxy = proxy
        .map(|text| seal_proxy(keyring, new, &text))
        .transpose()?;
    let sealed = channel.credentials.iter().map(|one| {
        let text = open(keyring, channel, one)?;
        seal(keyring, new, &one.label, &text)
    });
    Ok((proxy, sealed.collect::<Result<_, ChannelSecretError>>()?))
}

/// The last four characters, none of a short one.
#[must_use]
pub fn hint(text: &str) -> String {
    let count = text.chars().count();
    let skipped = if count < HINT_NEEDS_CHARACTERS {
        count
    } else {
        count.saturating_sub(HINT_CHARACTERS)
    };
    std::iter::once('…')
        .chain(text.chars().skip(skipped))
        .collect()
}

fn read_proxy(text: &Secret) -> Result<Proxy, ChannelSecretError> {
    Proxy::read(text).map_err(|error| ChannelSecretError::Proxy {
        why: error.to_string(),
    })
}

fn open_text(
    keyring: &Keyring,
    context: &[u8],
    sealed: &[u8],
    what: String,
) -> Result<Secret, ChannelSecretError> {
    let binding = Binding::of_operator(context);
    let opened = keyring.open(Purpose::Credentials, &binding, sealed).ok();
    let text = opened.and_then(|bytes| String::from_utf8(bytes.reveal().to_vec()).ok());
    text.map(Secret::new)
        .ok_or(ChannelSecretError::Unopened { what })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hint_is_the_last_four_characters_of_a_long_credential_only() {
        assert_eq!(hint("sk-0123456789abc"), "…9abc");
        assert_eq!(hint("sk-0123456789ab"), "…");
        assert_eq!(hint(""), "…");
    }

    #[test]
    fn a_credential_the_provider_cannot_use_is_refused_and_not_quoted() {
        let aws = Auth::SigV4("bedrock".to_owned());
        let check = |auth: &Auth, text: &str| {
            let checked = check_credential(auth, "main", &Secret::new(text.to_owned()));
            checked.map(|text| text.reveal().to_owned())
        };
        assert_eq!(check(&Auth::Bearer, " sk-1\n").unwrap(), "sk-1");
        assert_eq!(
            check(&aws, "AKID:secret@eu-west-1\n").unwrap(),
            "AKID:secret@eu-west-1"
        );
        for (auth, text, words) in [
            (&Auth::Bearer, "canary 1", "one line of visible ASCII"),
            (&aws, "canary", "ACCESS_KEY_ID:SECRET"),
            (&aws, "canary:1\n2", "one line of visible ASCII"),
            (
                &Auth::GoogleServiceAccount,
                "{\n\"canary\": 1 }",
                "must be JSON with type",
            ),
            (&Auth::GoogleServiceAccount, "", "must have 1 to"),
        ] {
            let message = check(auth, text).unwrap_err().to_string();
            assert!(
                message.contains(words) && !message.contains("canary"),
                "{message}"
            );
        }
    }
}
