//! A request for a video as a form: OpenAI's libraries send one. Fields become fields; a file goes into
//! the media store, and on as our own link.

mod brackets;

use bytes::Bytes;
use serde_json::{Map, Value, json};
use trunkline_blobs::{ContentType, MediaPath, ObjectPath, PATH_RANDOM_BYTES, sign};

use self::brackets::BracketError;
use super::content::LinkSigner;
use super::request::VideoBody;
use crate::caller::Caller;
use crate::error::{ApiError, ErrorCode};
use crate::form::{Content, Form, file_hash, invalid};
use crate::services::Services;

/// Puts the files of a form into the media store, and reads its fields.
pub(super) async fn store_video_form(
    services: &Services,
    caller: &Caller,
    form: Form,
) -> Result<VideoBody, ApiError> {
    let (mut fields, mut known_by) = (Map::new(), Map::new());
    for part in form.parts {
        let name = part.name;
        let misplaced = |why| misplaced(&name, why);
        match part.content {
            Content::File {
                content_type,
                bytes,
                ..
            } => {
                if caller.key.policy.fields().zero_retention {
                    return Err(not_stored(&name));
                }
                let hash = json!({ "file": file_hash(&bytes) });
                brackets::place(&mut known_by, &name, hash).map_err(misplaced)?;
                let link = store_upload(services, caller, content_type.as_deref(), bytes);
                let link = Value::String(link.await?);
                brackets::place(&mut fields, &name, link).map_err(misplaced)?;
            }
            Content::Text(text) => {
                let value = value_of(&name, &text)?;
                brackets::place(&mut known_by, &name, value.clone()).map_err(misplaced)?;
                brackets::place(&mut fields, &name, value).map_err(misplaced)?;
            }
        }
    }
    let known_by = Bytes::from(Value::Object(known_by).to_string());
    Ok(VideoBody::Form { fields, known_by })
}

/// Puts an upload into the store and returns our link to it.
async fn store_upload(
    services: &Services,
    caller: &Caller,
    kind: Option<&str>,
    bytes: Bytes,
) -> Result<String, ApiError> {
    let kind = ContentType::parse(kind.unwrap_or("application/octet-stream"));
    let kind = kind.map_err(|_| invalid("the content type of a file cannot be read"))?;
    let path = mint_path(services, caller, &kind)?;
    let put = services.media.put_bytes(&path, bytes, &kind).await;
    put.map_err(|error| {
        tracing::error!(%error, "upload: storing the file failed");
        ApiError::new(
            ErrorCode::Unavailable,
            "the file cannot be stored right now; nothing was charged",
        )
    })?;
    sign_object(services, path)
}

/// A new name in the media store.
pub(super) fn mint_path(
    services: &Services,
    caller: &Caller,
    kind: &ContentType,
) -> Result<ObjectPath, ApiError> {
    let mut random = [0; PATH_RANDOM_BYTES];
    services
        .fill_random(&mut random)
        .ok_or_else(ApiError::unavailable)?;
    let account = &caller.account;
    let now = services.now();
    Ok(ObjectPath::mint(
        now,
        account.shard,
        account.id,
        random,
        kind,
    ))
}

/// Our link to something in the media store.
pub(super) fn sign_object(services: &Services, path: ObjectPath) -> Result<String, ApiError> {
    let life = i64::try_from(services.settings.video.link_life.as_secs()).unwrap_or(i64::MAX);
    let ends = services.now().plus_seconds(life);
    let link = sign(
        &LinkSigner(&services.keyring),
        &MediaPath::Object(path),
        ends,
    );
    let link = link.map_err(|_| ApiError::unavailable())?;
    Ok(format!("{}{link}", services.settings.public_url))
}

/// A field of a form: `metadata` and `images` are JSON, a length is a number, the rest is text or stands
/// in brackets.
fn value_of(name: &str, text: &str) -> Result<Value, ApiError> {
    match name {
        "metadata" | "images" => {
            serde_json::from_str(text).map_err(|_| invalid("this form field must be JSON").at(name))
        }
        "duration" => Ok(text
            .parse::<i64>()
            .map_or_else(|_| json!(text), |number| json!(number))),
        name if brackets::has(name) => Ok(brackets::value_of(text)),
        _ => Ok(json!(text)),
    }
}

/// A file would have to be stored until the vendor has fetched it.
fn not_stored(name: &str) -> ApiError {
    let text = "this API key keeps nothing (`zero_retention`), and a file would be stored for the vendor; send a \
                link to it instead, or use another API key; nothing was charged";
    invalid(text).at(name)
}

fn misplaced(name: &str, why: BracketError) -> ApiError {
    let text = match why {
        BracketError::Twice => "the form contains a field twice",
        BracketError::Name => "invalid form field name; `metadata` may be one field of JSON",
    };
    invalid(text).at(name)
}
