//! Credentials and proxies from where the operator keeps them into their seals, and out again for the
//! one who calls. No text of an error here repeats what was read.

use std::io::{self, Read as _};
use std::path::Path;

use anyhow::{Context as _, bail};
use trunkline_keyring::{Binding, Keyring, Purpose};
use trunkline_store::channels::{Channel, Credential, credential_context, proxy_context};
use trunkline_types::Secret;
use trunkline_upstream::{Auth, Credential as UpstreamCredential, Proxy};

use crate::cli::{KeySources, Labelled};
use crate::config::variable;
use crate::files;

/// Longest credential: far above any key, far below what a header may be.
const CREDENTIAL_MAX_BYTES: usize = 4_096;
/// Longest address of a proxy.
const PROXY_MAX_BYTES: u64 = 1_024;
/// From so many characters on, the last four give nothing away.
const HINT_NEEDS_CHARACTERS: usize = 16;
const HINT_CHARACTERS: usize = 4;

/// A credential as it is kept.
pub(super) struct SealedCredential {
    pub(super) label: String,
    pub(super) sealed: Vec<u8>,
    pub(super) hint: String,
}

/// Reads and seals every credential the command line names, and the one that was typed.
pub(super) fn read(
    keyring: &Keyring,
    channel: &str,
    sources: &KeySources,
    typed: Option<(&str, &Secret)>,
    auth: &Auth,
) -> anyhow::Result<Vec<SealedCredential>> {
    let mut all = Vec::new();
    if let Some((label, text)) = typed {
        all.push(checked_and_sealed(keyring, channel, label, text, auth)?);
    }
    for Labelled { label, place } in &sources.key_files {
        let text = read_file(Path::new(place), longest())
            .with_context(|| format!("the file {place} of credential {label:?} cannot be read"))?;
        all.push(seal(
            keyring,
            channel,
            label,
            &checked(auth, label, &text)?,
        )?);
    }
    for Labelled { label, place } in &sources.key_variables {
        let text = variable(place)
            .with_context(|| format!("the variable {place} of credential {label:?} is not set"))?;
        all.push(seal(
            keyring,
            channel,
            label,
            &checked(auth, label, &text)?,
        )?);
    }
    if let Some(label) = &sources.key_stdin {
        let text = read_stdin().context("the credential cannot be read from standard input")?;
        all.push(seal(
            keyring,
            channel,
            label,
            &checked(auth, label, &text)?,
        )?);
    }
    if all.is_empty() {
        bail!("a channel needs a credential: add --key-file, --key-env or --key-stdin");
    }
    Ok(all)
}

/// Reads, checks and seals the address of a proxy.
pub(super) fn read_proxy(keyring: &Keyring, channel: &str, file: &Path) -> anyhow::Result<Vec<u8>> {
    let text = read_file(file, PROXY_MAX_BYTES).context("the proxy's file cannot be read")?;
    let text = Secret::new(text.reveal().trim().to_owned());
    Proxy::read(&text).context("the proxy's file is invalid")?;
    seal_proxy(keyring, channel, &text)
}

pub(super) fn seal_proxy(
    keyring: &Keyring,
    channel: &str,
    text: &Secret,
) -> anyhow::Result<Vec<u8>> {
    let context = proxy_context(channel);
    let sealed = keyring.seal(
        Purpose::Credentials,
        &Binding::of_operator(&context),
        text.reveal().as_bytes(),
    )?;
    Ok(sealed)
}

/// A credential of a channel, opened.
pub(super) fn open(
    keyring: &Keyring,
    channel: &Channel,
    credential: &Credential,
) -> anyhow::Result<Secret> {
    let context = credential_context(&channel.name, &credential.label);
    open_text(keyring, &context, &credential.sealed)
        .with_context(|| format!("credential {:?} cannot be opened", credential.label))
}

pub(super) fn open_proxy(keyring: &Keyring, channel: &Channel) -> anyhow::Result<Option<Proxy>> {
    let text = open_proxy_text(keyring, channel)?;
    Ok(text.as_ref().map(Proxy::read).transpose()?)
}

/// The address of a channel's proxy, opened.
pub(super) fn open_proxy_text(
    keyring: &Keyring,
    channel: &Channel,
) -> anyhow::Result<Option<Secret>> {
    let Some(sealed) = &channel.proxy else {
        return Ok(None);
    };
    let text = open_text(keyring, &proxy_context(&channel.name), sealed)
        .context("the proxy's address cannot be opened")?;
    Ok(Some(text))
}

fn open_text(keyring: &Keyring, context: &[u8], sealed: &[u8]) -> anyhow::Result<Secret> {
    let binding = Binding::of_operator(context);
    let opened = keyring.open(Purpose::Credentials, &binding, sealed)?;
    let text = std::str::from_utf8(opened.reveal()).context("what was sealed is not a text")?;
    Ok(Secret::new(text.to_owned()))
}

/// A credential that the provider's way in can use.
fn checked(auth: &Auth, label: &str, text: &Secret) -> anyhow::Result<Secret> {
    let text = text.reveal().trim();
    if text.is_empty() || text.len() > CREDENTIAL_MAX_BYTES {
        bail!("credential {label:?} must have 1 to {CREDENTIAL_MAX_BYTES} characters");
    }
    let is_line = text.bytes().all(|byte| byte.is_ascii_graphic());
    match auth {
        Auth::Bearer | Auth::Header(_) | Auth::SigV4(_) | Auth::KlingToken if !is_line => {
            bail!("credential {label:?} must be one line of visible ASCII characters");
        }
        // A file of JSON has lines.
        Auth::Bearer
        | Auth::Header(_)
        | Auth::SigV4(_)
        | Auth::KlingToken
        | Auth::GoogleServiceAccount => {}
    }
    let text = Secret::new(text.to_owned());
    UpstreamCredential::new(auth, &text)
        .with_context(|| format!("credential {label:?} cannot be used"))?;
    Ok(text)
}

/// Checks and seals a credential that is at hand.
pub(super) fn checked_and_sealed(
    keyring: &Keyring,
    channel: &str,
    label: &str,
    text: &Secret,
    auth: &Auth,
) -> anyhow::Result<SealedCredential> {
    seal(keyring, channel, label, &checked(auth, label, text)?)
}

pub(super) fn seal(
    keyring: &Keyring,
    channel: &str,
    label: &str,
    text: &Secret,
) -> anyhow::Result<SealedCredential> {
    let text = text.reveal();
    let context = credential_context(channel, label);
    let binding = Binding::of_operator(&context);
    Ok(SealedCredential {
        label: label.to_owned(),
        sealed: keyring.seal(Purpose::Credentials, &binding, text.as_bytes())?,
        hint: hint(text),
    })
}

/// The last four characters, none of a short one.
pub(in crate::commands) fn hint(text: &str) -> String {
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

fn longest() -> u64 {
    // One more byte, for a line break behind it.
    u64::try_from(CREDENTIAL_MAX_BYTES.saturating_add(2)).unwrap_or(u64::MAX)
}

fn read_file(path: &Path, most: u64) -> io::Result<Secret> {
    files::read_bounded(path, most).map(Secret::new)
}

fn read_stdin() -> io::Result<Secret> {
    let mut text = String::new();
    // One byte above the bound is enough to be refused for its length.
    io::stdin()
        .lock()
        .take(longest().saturating_add(1))
        .read_to_string(&mut text)?;
    Ok(Secret::new(text))
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
            let checked = checked(auth, "main", &Secret::new(text.to_owned()));
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
            let message = format!("{:#}", check(auth, text).unwrap_err());
            assert!(
                message.contains(words) && !message.contains("canary"),
                "{message}"
            );
        }
    }
}
