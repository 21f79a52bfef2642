//! The keyring document: the root keys of the live generations, how the first is made and how the
//! next takes its place.
//!
//! What it looks like as text is told in `document/text.rs`; where it is kept, in `source.rs` and
//! `file.rs`.

use trunkline_types::{SecretBytes, Timestamp};
use zeroize::Zeroizing;

use crate::{
    DocumentError, Generation, GenerationId, Generations, RandomSource, RootKeySource, SourceError,
};

mod text;

const ROOT_KEY_BYTES: usize = 32;

/// The root keys of one or two live generations. Prints without them.
#[derive(Debug, Clone)]
pub struct Document {
    pub(crate) current: RootKey,
    pub(crate) previous: Option<RootKey>,
}

/// The root key of one generation.
#[derive(Debug, Clone)]
pub(crate) struct RootKey {
    pub(crate) generation: Generation,
    pub(crate) key: SecretBytes,
}

#[derive(Debug, Clone)]
pub struct Rotated {
    /// The document with the new current generation.
    pub document: Document,
    /// The generation that is live no more: what only it can open is lost from now on.
    pub retired: Option<GenerationId>,
}

// === impl Document ===

impl Document {
    /// A document with a first generation.
    pub fn generate(now: Timestamp, random: &dyn RandomSource) -> Result<Self, DocumentError> {
        let current = RootKey::generate(GenerationId::FIRST, now, random)?;
        Self::checked(current, None)
    }

    /// A document with a new current generation. The one that was current is still readable, the one
    /// that was previous is dropped.
    pub fn rotate(
        &self,
        now: Timestamp,
        random: &dyn RandomSource,
    ) -> Result<Rotated, DocumentError> {
        let id = self.current.generation.id.next();
        let current = RootKey::generate(id.ok_or(DocumentError::Exhausted)?, now, random)?;
        let document = Self::checked(current, Some(self.current.clone()))?;
        let retired = self.previous.as_ref().map(|root| root.generation.id);
        Ok(Rotated { document, retired })
    }

    /// Reads a document from where it is kept. Blocks while the source does.
    pub fn from_source(source: &dyn RootKeySource) -> Result<Self, SourceError> {
        Ok(Self::parse(source.read()?.reveal())?)
    }

    #[must_use]
    pub fn generations(&self) -> Generations {
        Generations {
            current: self.current.generation,
            previous: self.previous.as_ref().map(|root| root.generation),
        }
    }

    fn checked(current: RootKey, previous: Option<RootKey>) -> Result<Self, DocumentError> {
        if let Some(previous) = &previous {
            let older = previous.generation.id < current.generation.id;
            if !older || previous.key.reveal() == current.key.reveal() {
                return Err(DocumentError::Order);
            }
        }
        Ok(Self { current, previous })
    }
}

// === impl RootKey ===

impl RootKey {
    fn generate(
        id: GenerationId,
        now: Timestamp,
        random: &dyn RandomSource,
    ) -> Result<Self, DocumentError> {
        let mut key = Zeroizing::new(vec![0; ROOT_KEY_BYTES]);
        random.fill(&mut key)?;
        // The text keeps whole seconds, so a document that was never written does too.
        let created_at = moment_of_seconds(now.seconds());
        let key = SecretBytes::new(std::mem::take(&mut *key));
        Self::checked(id, Some(created_at), key)
    }

    /// Refuses keys of another length, and one byte repeated: a placeholder that was never filled
    /// in, or a random source that is broken.
    fn checked(
        id: GenerationId,
        created_at: Option<Timestamp>,
        key: SecretBytes,
    ) -> Result<Self, DocumentError> {
        let bytes = key.reveal();
        let repeated = bytes.iter().all(|byte| Some(byte) == bytes.first());
        if bytes.len() != ROOT_KEY_BYTES || repeated {
            return Err(DocumentError::Key { generation: id });
        }
        let generation = Generation { id, created_at };
        Ok(Self { generation, key })
    }
}

fn moment_of_seconds(seconds: i64) -> Timestamp {
    Timestamp::from_micros(0).plus_seconds(seconds)
}
