//! Files in the media store are sealed with a key that lies in the database, sealed by the keyring.

use std::sync::Arc;

use trunkline_blobs::{ObjectSeal, SALT_BYTES, SealedPiece};
use trunkline_db::{Database, DbError};
use trunkline_keyring::{
    Binding, FileKey, FilePiece, Keyring, OpenError, Purpose, RandomSource as _, SealError,
    SystemRandom,
};
use trunkline_store::media_keys::{self, MediaKey};

use crate::keyring_state::KeyringLags;

/// Why files cannot be sealed.
#[derive(Debug, thiserror::Error)]
pub enum MediaSealError {
    #[error(transparent)]
    Db(#[from] DbError),
    #[error("a new key of files cannot be sealed: {0}")]
    Seal(#[from] SealError),
    #[error("the key of files does not open with this keyring: {0}")]
    Open(#[from] OpenError),
    #[error(transparent)]
    Lags(KeyringLags),
    #[error("the key of files is damaged")]
    Damaged,
}

/// Seals files of the media store.
#[derive(Debug)]
struct MediaSeal(FileKey);

impl ObjectSeal for MediaSeal {
    fn salt(&self) -> Option<[u8; SALT_BYTES]> {
        let mut salt = [0; SALT_BYTES];
        SystemRandom.fill(&mut salt).ok().map(|()| salt)
    }

    fn seal(&self, piece: &SealedPiece<'_>, plain: &[u8]) -> Option<Vec<u8>> {
        self.0.seal(&piece_of(piece), plain).ok()
    }

    fn open(&self, piece: &SealedPiece<'_>, sealed: &[u8]) -> Option<Vec<u8>> {
        self.0.open(&piece_of(piece), sealed).ok()
    }
}

const fn piece_of<'a>(piece: &SealedPiece<'a>) -> FilePiece<'a> {
    FilePiece {
        name: piece.object,
        salt: piece.salt,
        index: piece.index,
        is_last: piece.is_last,
    }
}

/// What seals the files of this installation. The first node makes its key. A key whose keyring is lost is replaced by
/// another one, and what it sealed stays unreadable.
pub async fn media_seal(
    data: &Database,
    keyring: &Keyring,
) -> Result<Arc<dyn ObjectSeal>, MediaSealError> {
    let mut session = data.session().await?;
    let found = media_keys::newest(&mut session).await?;
    if let Some(key) = &found {
        match opened(keyring, key) {
            Ok(key) => return Ok(Arc::new(MediaSeal(key))),
            Err(MediaSealError::Open(error)) => {
                check_generation(keyring, key)?;
                tracing::error!(
                    %error,
                    "media store: the key of its files does not open; files stored so far are unreadable"
                );
            }
            Err(error) => return Err(error),
        }
    }
    let id = found.map_or(0, |key| key.id).saturating_add(1);
    let context = media_keys::context(id);
    let fresh = FileKey::generate(&SystemRandom)?;
    let binding = Binding::of_operator(&context);
    let sealed = keyring.seal(Purpose::Credentials, &binding, fresh.reveal())?;
    media_keys::insert(&mut session, &MediaKey { id, sealed }).await?;
    // Another node may have been faster.
    let stored = media_keys::newest(&mut session).await?;
    let key = opened(keyring, &stored.ok_or(MediaSealError::Damaged)?)?;
    Ok(Arc::new(MediaSeal(key)))
}

fn opened(keyring: &Keyring, key: &MediaKey) -> Result<FileKey, MediaSealError> {
    let context = media_keys::context(key.id);
    let binding = Binding::of_operator(&context);
    let opened = keyring.open(Purpose::Credentials, &binding, &key.sealed)?;
    FileKey::from_bytes(opened).ok_or(MediaSealError::Damaged)
}

/// A key that a newer keyring sealed is not lost: this node lags.
fn check_generation(keyring: &Keyring, key: &MediaKey) -> Result<(), MediaSealError> {
    let own = keyring.generations().current.id.number();
    let newest = Keyring::generation_of(&key.sealed).map_or(0, |id| id.number());
    if newest > own {
        let (own, newest) = (i64::from(own), i64::from(newest));
        return Err(MediaSealError::Lags(KeyringLags { own, newest }));
    }
    Ok(())
}
