//! The keys in use: derived once from a document, held until dropped, then wiped.
//!
//! How they seal is told in `rows.rs`, `ids.rs` and `signatures.rs`.

use std::fmt;
use std::sync::Arc;

use hkdf::Hkdf;
use sha2::Sha256;
use trunkline_types::SecretBytes;

use crate::document::RootKey;
use crate::{
    Document, DocumentError, Generation, GenerationId, Generations, OpenError, Purpose,
    RandomSource, RootKeySource, SourceError, token,
};

const DERIVED_KEY_BYTES: usize = 32;

/// Seals, opens, signs and verifies with the keys of one or two generations. A clone holds keys of its
/// own, wiped with it.
#[derive(Clone)]
pub struct Keyring {
    pub(crate) current: GenerationKeys,
    previous: Option<GenerationKeys>,
    pub(crate) random: Arc<dyn RandomSource>,
}

/// All keys derived from one root key.
#[derive(Clone)]
pub(crate) struct GenerationKeys {
    pub(crate) generation: Generation,
    /// For ids alone: the deterministic mode shows which plaintexts are equal, so no other purpose
    /// may use it.
    pub(crate) ids: SecretBytes,
    credentials: PurposeKeys,
    sealed_ids: PurposeKeys,
    quotes: PurposeKeys,
    media_links: PurposeKeys,
    cookies: PurposeKeys,
    idempotent_answers: PurposeKeys,
    tasks: PurposeKeys,
    webhooks: PurposeKeys,
    emails: PurposeKeys,
}

/// The keys of one purpose. The bytes are kept and not the ciphers made of them, because only the
/// bytes are sure to be wiped.
#[derive(Clone)]
pub(crate) struct PurposeKeys {
    pub(crate) rows: SecretBytes,
    pub(crate) signatures: SecretBytes,
}

// === impl Keyring ===

impl Keyring {
    /// Derives all keys of a document. Outside tests `random` is [`crate::SystemRandom`].
    pub fn new(document: &Document, random: Arc<dyn RandomSource>) -> Result<Self, DocumentError> {
        let current = GenerationKeys::derive(&document.current)?;
        let previous = match &document.previous {
            Some(root) => Some(GenerationKeys::derive(root)?),
            None => None,
        };
        Ok(Self {
            current,
            previous,
            random,
        })
    }

    /// Reads a document from where it is kept and derives its keys. Blocks while the source does.
    pub fn load(
        source: &dyn RootKeySource,
        random: Arc<dyn RandomSource>,
    ) -> Result<Self, SourceError> {
        let document = Document::from_source(source)?;
        Ok(Self::new(&document, random)?)
    }

    #[must_use]
    pub fn generations(&self) -> Generations {
        Generations {
            current: self.current.generation,
            previous: self.previous.as_ref().map(|keys| keys.generation),
        }
    }

    /// Whether a row's token is under the previous generation and should be sealed anew before the
    /// next rotation retires it. Says nothing about whether the token opens.
    #[must_use]
    pub fn needs_reseal(&self, token: &[u8]) -> bool {
        match (token::split(token), &self.previous) {
            (Ok((generation, _, _)), Some(previous)) => generation == previous.generation.id,
            (Ok(_), None) | (Err(_), Some(_) | None) => false,
        }
    }

    /// The keys of exactly the generation a token names.
    pub(crate) fn keys_of(&self, generation: GenerationId) -> Result<&GenerationKeys, OpenError> {
        let previous = self.previous.as_ref();
        std::iter::once(&self.current)
            .chain(previous)
            .find(|keys| keys.generation.id == generation)
            .ok_or(OpenError::UnknownGeneration)
    }
}

impl fmt::Debug for Keyring {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let previous = self.previous.as_ref();
        formatter
            .debug_struct("Keyring")
            .field("current", &self.current.generation.id.number())
            .field(
                "previous",
                &previous.map(|keys| keys.generation.id.number()),
            )
            .finish()
    }
}

// === impl GenerationKeys ===

impl GenerationKeys {
    fn derive(root: &RootKey) -> Result<Self, DocumentError> {
        let hkdf = Hkdf::<Sha256>::new(None, root.key.reveal());
        Ok(Self {
            generation: root.generation,
            ids: derive_key(&hkdf, Purpose::SealedIds, "aes-256-gcm-siv")?,
            credentials: PurposeKeys::derive(&hkdf, Purpose::Credentials)?,
            sealed_ids: PurposeKeys::derive(&hkdf, Purpose::SealedIds)?,
            quotes: PurposeKeys::derive(&hkdf, Purpose::Quotes)?,
            media_links: PurposeKeys::derive(&hkdf, Purpose::MediaLinks)?,
            cookies: PurposeKeys::derive(&hkdf, Purpose::Cookies)?,
            idempotent_answers: PurposeKeys::derive(&hkdf, Purpose::IdempotentAnswers)?,
            tasks: PurposeKeys::derive(&hkdf, Purpose::Tasks)?,
            webhooks: PurposeKeys::derive(&hkdf, Purpose::Webhooks)?,
            emails: PurposeKeys::derive(&hkdf, Purpose::Emails)?,
        })
    }

    pub(crate) fn of(&self, purpose: Purpose) -> &PurposeKeys {
        match purpose {
            Purpose::Credentials => &self.credentials,
            Purpose::SealedIds => &self.sealed_ids,
            Purpose::Quotes => &self.quotes,
            Purpose::MediaLinks => &self.media_links,
            Purpose::Cookies => &self.cookies,
            Purpose::IdempotentAnswers => &self.idempotent_answers,
            Purpose::Tasks => &self.tasks,
            Purpose::Webhooks => &self.webhooks,
            Purpose::Emails => &self.emails,
        }
    }
}

// === impl PurposeKeys ===

impl PurposeKeys {
    fn derive(hkdf: &Hkdf<Sha256>, purpose: Purpose) -> Result<Self, DocumentError> {
        Ok(Self {
            rows: derive_key(hkdf, purpose, "aes-256-gcm")?,
            signatures: derive_key(hkdf, purpose, "hmac-sha256")?,
        })
    }
}

/// One key for one purpose in one mode: a key never serves two algorithms.
fn derive_key(
    hkdf: &Hkdf<Sha256>,
    purpose: Purpose,
    mode: &str,
) -> Result<SecretBytes, DocumentError> {
    let info = format!("trunkline/v1/{}/{mode}", purpose.as_str());
    let mut key = vec![0; DERIVED_KEY_BYTES];
    hkdf.expand(info.as_bytes(), &mut key)
        .map_err(|_| DocumentError::Derivation)?;
    Ok(SecretBytes::new(key))
}
