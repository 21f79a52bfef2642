//! Credentials and proxies from where the operator keeps them. No text of an error here repeats what was read.

use std::io::{self, Read as _};
use std::path::Path;

use anyhow::{Context as _, bail};
use trunkline_console::operations::channel_secrets::{
    CREDENTIAL_MAX_BYTES, SealedCredential, seal_checked, seal_proxy,
};
use trunkline_keyring::Keyring;
use trunkline_types::Secret;
use trunkline_upstream::Auth;

use crate::cli::{KeySources, Labelled};
use crate::config::variable;
use crate::files;

/// Longest address of a proxy.
const PROXY_MAX_BYTES: u64 = 1_024;

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
        all.push(seal_checked(keyring, channel, label, text, auth)?);
    }
    for Labelled { label, place } in &sources.key_files {
        let text = read_file(Path::new(place), longest())
            .with_context(|| format!("the file {place} of credential {label:?} cannot be read"))?;
        all.push(seal_checked(keyring, channel, label, &text, auth)?);
    }
    for Labelled { label, place } in &sources.key_variables {
        let text = variable(place)
            .with_context(|| format!("the variable {place} of credential {label:?} is not set"))?;
        all.push(seal_checked(keyring, channel, label, &text, auth)?);
    }
    if let Some(label) = &sources.key_stdin {
        let text = read_stdin().context("the credential cannot be read from standard input")?;
        all.push(seal_checked(keyring, channel, label, &text, auth)?);
    }
    if all.is_empty() {
        bail!("a channel needs a credential: add --key-file, --key-env or --key-stdin");
    }
    Ok(all)
}

/// Reads, checks and seals the address of a proxy.
pub(super) fn read_proxy(keyring: &Keyring, channel: &str, file: &Path) -> anyhow::Result<Vec<u8>> {
    let text = read_file(file, PROXY_MAX_BYTES).context("the proxy's file cannot be read")?;
    seal_proxy(keyring, channel, &text).context("the proxy's file is invalid")
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
