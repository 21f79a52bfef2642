//! A request for a video as a form: OpenAI's libraries send one. Fields become fields; a file goes into
//! the media store, and on as our own link.

mod brackets;

use std::convert::Infallible;

use bytes::Bytes;
use futures_util::stream;
use multer::{Constraints, Multipart, SizeLimit};
use serde_json::{Map, Value, json};
use sha2::{Digest as _, Sha256};
use trunkline_media::{ContentType, MediaPath, ObjectPath, PATH_RANDOM_BYTES, sign};
use trunkline_video::Ask;

use self::brackets::Misplaced;
use super::content::LinkSigner;
use crate::caller::Caller;
use crate::error::{ApiError, ErrorCode, refused};
use crate::services::Services;

/// Parts of one form.
const MAX_PARTS: usize = 64;
/// Bytes of a field that is no file.
const MAX_FIELD_BYTES: u64 = 1_000_000;

impl Services {
    /// Reads a form. Beside the request comes what it is known by when it is sent again: a file counts
    /// by its content, not by the link it got.
    pub(crate) async fn read_video_form(
        &self,
        caller: &Caller,
        boundary: &str,
        body: Bytes,
    ) -> Result<(Ask, Bytes), ApiError> {
        let most = u64::try_from(body.len()).unwrap_or(u64::MAX);
        let limits = SizeLimit::new().whole_stream(most).per_field(most);
        let constraints = Constraints::new().size_limit(limits);
        let whole = stream::iter([Ok::<Bytes, Infallible>(body)]);
        let mut form = Multipart::with_constraints(whole, boundary, constraints);
        let (mut fields, mut known_by) = (Map::new(), Map::new());
        let mut parts = 0_usize;
        while let Some(part) = form.next_field().await.map_err(|error| wrong(&error))? {
            parts = parts.saturating_add(1);
            let name = part.name().unwrap_or_default().to_owned();
            if parts > MAX_PARTS || name.is_empty() {
                return Err(invalid(
                    "the form has too many parts, or one without a name",
                ));
            }
            let is_file = part.file_name().is_some();
            let kind = part.content_type().map(ToString::to_string);
            let bytes = part.bytes().await.map_err(|error| wrong(&error))?;
            let misplaced = |why| misplaced(&name, why);
            if is_file {
                let hash = format!("{:x?}", Sha256::digest(&bytes).as_slice());
                let hash = json!({ "file": hash });
                brackets::place(&mut known_by, &name, hash).map_err(misplaced)?;
                let link = self.keep_upload(caller, kind.as_deref(), bytes).await?;
                brackets::place(&mut fields, &name, Value::String(link)).map_err(misplaced)?;
            } else {
                let value = text_of(&name, &bytes)?;
                brackets::place(&mut known_by, &name, value.clone()).map_err(misplaced)?;
                brackets::place(&mut fields, &name, value).map_err(misplaced)?;
            }
        }
        let ask = Ask::of(fields).map_err(refused)?;
        Ok((ask, Bytes::from(Value::Object(known_by).to_string())))
    }

    /// Puts an upload into the store and returns our link to it.
    async fn keep_upload(
        &self,
        caller: &Caller,
        kind: Option<&str>,
        bytes: Bytes,
    ) -> Result<String, ApiError> {
        let kind = ContentType::parse(kind.unwrap_or("application/octet-stream"));
        let kind = kind.map_err(|_| invalid("the content type of a file cannot be read"))?;
        let mut random = [0; PATH_RANDOM_BYTES];
        let inner = &self.inner;
        inner
            .fill_random(&mut random)
            .ok_or_else(ApiError::unavailable)?;
        let account = &caller.account;
        let path = ObjectPath::mint(inner.now(), account.shard, account.id, random, &kind);
        let put = inner.media.put_bytes(&path, bytes, &kind).await;
        put.map_err(|error| {
            tracing::error!(%error, "an upload could not be kept");
            ApiError::new(
                ErrorCode::Unavailable,
                "the file cannot be kept right now; nothing was charged",
            )
        })?;
        let life = i64::try_from(inner.settings.video.link_life.as_secs()).unwrap_or(i64::MAX);
        let ends = inner.now().plus_seconds(life);
        let link = sign(&LinkSigner(self.keyring()), &MediaPath::Object(path), ends);
        let link = link.map_err(|_| ApiError::unavailable())?;
        Ok(format!("{}{link}", inner.settings.public_url))
    }
}

/// A field of a form: `metadata` and `images` are JSON, a length is a number, the rest is text or stands
/// in brackets.
fn text_of(name: &str, bytes: &Bytes) -> Result<Value, ApiError> {
    if u64::try_from(bytes.len()).unwrap_or(u64::MAX) > MAX_FIELD_BYTES {
        return Err(invalid("a field of the form is too long").at(name));
    }
    let text = std::str::from_utf8(bytes);
    let text = text.map_err(|_| invalid("a field of the form is not UTF-8").at(name))?;
    match name {
        "metadata" | "images" => serde_json::from_str(text)
            .map_err(|_| invalid("this field of the form must be JSON").at(name)),
        "duration" => Ok(text
            .parse::<i64>()
            .map_or_else(|_| json!(text), |number| json!(number))),
        name if brackets::has(name) => Ok(brackets::value_of(text)),
        _ => Ok(json!(text)),
    }
}

fn misplaced(name: &str, why: Misplaced) -> ApiError {
    let text = match why {
        Misplaced::Twice => "a field stands twice in the form",
        Misplaced::Name => {
            "the name of a field of the form leads nowhere; `metadata` may be one field of JSON"
        }
    };
    invalid(text).at(name)
}

fn invalid(text: &str) -> ApiError {
    ApiError::new(ErrorCode::Invalid("invalid_request"), text)
}

fn wrong(error: &multer::Error) -> ApiError {
    invalid(&format!("the form cannot be read: {error}"))
}
