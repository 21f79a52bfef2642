//! Object storage for finished videos, images and uploads: a directory or any S3-compatible store.
//!
//! Writes are streamed, hashed and limited; reads are streams of the whole object or a range. Names start with the
//! day, so that retention works on whole days. Signed links are here too.
//!
//! This crate must not know: the environment, the keyring (the implementation of [`LinkKeys`] signs links, that of
//! [`ObjectSeal`] seals content), the database, the customers' HTTP API, or the current time.
#![cfg_attr(
    not(test),
    deny(
        clippy::arithmetic_side_effects,
        clippy::as_conversions,
        clippy::float_arithmetic,
        clippy::string_slice,
        clippy::cast_possible_truncation
    )
)]

mod backend;
mod budget;
mod content_type;
mod error;
mod http_client;
mod link;
mod media;
mod metadata;
mod orphans;
mod path;
mod put;
mod range;
mod retention;
mod seal;
mod settings;
mod upload;

pub use content_type::{ContentType, ContentTypeError, MAX_CONTENT_TYPE_CHARACTERS};
pub use error::{MediaError, PutError};
pub use link::{
    LinkError, LinkKeys, MAX_LINK_CHARACTERS, SigningFailed, read_saving, saving, sign, verify,
};
pub use media::{Fetched, Media, Source};
pub use metadata::Metadata;
pub use path::{MediaPath, TaskName};
pub use path::{ObjectPath, PATH_RANDOM_BYTES, PathError, TASK_CHARACTERS, TaskPath};
pub use put::PART_BYTES;
pub use range::{MAX_RANGE_CHARACTERS, RangeAnswer, if_range_holds, read_range};
pub use retention::{MAX_SWEPT, Swept};
pub use seal::{ObjectSeal, SALT_BYTES, SealedPiece};
pub use settings::{DEFAULT_KEPT, DEFAULT_TIME_LIMIT, MediaSettings, Place, S3Settings};
