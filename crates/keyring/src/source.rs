//! Where a keyring document comes from: the hook for a key service, and a text given by the
//! executable. The file is in `file.rs`.

use trunkline_types::{Secret, SecretBytes};

use crate::SourceError;

/// Gives the text of a keyring document, already unwrapped.
///
/// This is the hook for a key service: an implementation keeps the document wrapped under the
/// service's key, asks the service to unwrap it and returns the plain document, or
/// [`SourceError::KeyService`]. It is asked at start and at every reload, never for a call of a
/// customer; it may block, so call it off the async threads.
pub trait RootKeySource: Send + Sync {
    /// The document, at most [`crate::MAX_DOCUMENT_BYTES`].
    fn read(&self) -> Result<SecretBytes, SourceError>;
}

/// A document given as text, in either spelling: what the executable found in its configuration.
#[derive(Debug, Clone)]
pub struct TextSource {
    text: Secret,
}

// === impl TextSource ===

impl TextSource {
    #[must_use]
    pub fn new(text: Secret) -> Self {
        Self { text }
    }
}

impl RootKeySource for TextSource {
    fn read(&self) -> Result<SecretBytes, SourceError> {
        Ok(SecretBytes::new(self.text.reveal().as_bytes().to_vec()))
    }
}
