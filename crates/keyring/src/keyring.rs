//! The keys in use: derived once from a document, held until dropped, then wiped.
//!
//! How they seal is told in `rows.rs`, `ids.rs` and `signatures.rs`.

use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, PoisonError, RwLock};

use hkdf::Hkdf;
use sha2::Sha256;
use trunkline_types::SecretBytes;

use crate::document::RootKey;
use crate::{
    Document, DocumentError, Generation, GenerationId, Generations, OpenError, Purpose,
    RandomSource, RootKeySource, SourceError, token,
};

const DERIVED_KEY_BYTES: usize = 32;

/// Seals, opens, signs and verifies with the keys of one or two generations. Clones share their keys, so a
/// rotated document that one of them takes over counts for all; the last one wipes them.
#[derive(Clone)]
pub struct Keyring {
    shared: Arc<Shared>,
    pub(crate) random: Arc<dyn RandomSource>,
}

struct Shared {
    keys: RwLock<Arc<Keys>>,
    /// Rows that could not be opened, by purpose.
    unopened: [AtomicU64; Purpose::ALL.len()],
}

/// The keys of a document.
pub(crate) struct Keys {
    pub(crate) current: GenerationKeys,
    previous: Option<GenerationKeys>,
}

/// All keys derived from one root key.
pub(crate) struct GenerationKeys {
    pub(crate) generation: Generation,
    /// For ids alone: the deterministic mode shows which plaintexts are equal, so no other purpose
    /// may use it.
    pub(crate) ids: SecretBytes,
    /// For the roots of accounts' hash chains alone: the seed of an Ed25519 key.
    statements: SecretBytes,
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
pub(crate) struct PurposeKeys {
    pub(crate) rows: SecretBytes,
    pub(crate) signatures: SecretBytes,
}

// === impl Keyring ===

impl Keyring {
    /// Derives all keys of a document. Outside tests `random` is [`crate::SystemRandom`].
    pub fn new(document: &Document, random: Arc<dyn RandomSource>) -> Result<Self, DocumentError> {
        let shared = Arc::new(Shared {
            keys: RwLock::new(Arc::new(Keys::derive(document)?)),
            unopened: Default::default(),
        });
        Ok(Self { shared, random })
    }

    /// Takes over a rotated document, here and in every clone. False if it has the generations that are in
    /// use. A document whose current generation is older than the one in use is refused: what was sealed
    /// meanwhile would be lost.
    pub fn replace(&self, document: &Document) -> Result<bool, DocumentError> {
        let (before, after) = (self.generations(), document.generations());
        let ids = |of: Generations| (of.current.id, of.previous.map(|previous| previous.id));
        if ids(before) == ids(after) {
            return Ok(false);
        }
        if after.current.id < before.current.id {
            return Err(DocumentError::Older {
                found: after.current.id,
                used: before.current.id,
            });
        }
        let keys = Arc::new(Keys::derive(document)?);
        let held = self.shared.keys.write();
        *held.unwrap_or_else(PoisonError::into_inner) = keys;
        Ok(true)
    }

    pub(crate) fn keys(&self) -> Arc<Keys> {
        let held = self.shared.keys.read();
        Arc::clone(&held.unwrap_or_else(PoisonError::into_inner))
    }

    /// A row could not be opened.
    pub(crate) fn count_unopened(&self, purpose: Purpose) {
        if let Some(count) = self.shared.unopened.get(purpose.place()) {
            count.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Rows that could not be opened since the process started, by purpose.
    #[must_use]
    pub fn unopened(&self) -> Vec<(Purpose, u64)> {
        let counts = self.shared.unopened.iter();
        let counts = counts.map(|count| count.load(Ordering::Relaxed));
        Purpose::ALL.into_iter().zip(counts).collect()
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
        let keys = self.keys();
        Generations {
            current: keys.current.generation,
            previous: keys.previous.as_ref().map(|keys| keys.generation),
        }
    }

    /// The seed of the Ed25519 key of the current generation, which signs roots and statements of accounts. Customers
    /// check with the public half, so that is stored and published: it outlives its generation.
    #[must_use]
    pub fn statement_seed(&self) -> SecretBytes {
        self.keys().current.statements.clone()
    }

    /// The bytes with which every token of the current generation begins.
    #[must_use]
    pub fn token_header(&self) -> [u8; 3] {
        token::header_of(self.keys().current.generation.id)
    }

    /// The generation that a row's token names; none for what is no token.
    #[must_use]
    pub fn generation_of(token: &[u8]) -> Option<GenerationId> {
        token::split(token)
            .ok()
            .map(|(generation, _, _)| generation)
    }
}

impl Keys {
    fn derive(document: &Document) -> Result<Self, DocumentError> {
        let previous = document.previous.as_ref();
        Ok(Self {
            current: GenerationKeys::derive(&document.current)?,
            previous: previous.map(GenerationKeys::derive).transpose()?,
        })
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
        let Generations { current, previous } = self.generations();
        formatter
            .debug_struct("Keyring")
            .field("current", &current.id.number())
            .field("previous", &previous.map(|one| one.id.number()))
            .finish_non_exhaustive()
    }
}

// === impl GenerationKeys ===

impl GenerationKeys {
    fn derive(root: &RootKey) -> Result<Self, DocumentError> {
        let hkdf = Hkdf::<Sha256>::new(None, root.key.reveal());
        Ok(Self {
            generation: root.generation,
            ids: derive_key(&hkdf, Purpose::SealedIds, "aes-256-gcm-siv")?,
            statements: derive_named(&hkdf, "statements", "ed25519")?,
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
    derive_named(hkdf, purpose.as_str(), mode)
}

fn derive_named(hkdf: &Hkdf<Sha256>, name: &str, mode: &str) -> Result<SecretBytes, DocumentError> {
    let info = format!("trunkline/v1/{name}/{mode}");
    let mut key = vec![0; DERIVED_KEY_BYTES];
    hkdf.expand(info.as_bytes(), &mut key)
        .map_err(|_| DocumentError::Derivation)?;
    Ok(SecretBytes::new(key))
}
