//! Pictures between a vendor and a caller: fetched, looked at, kept as ours or written into the answer.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use futures_util::{StreamExt as _, stream};
use serde_json::{Value, json};
use tokio::time::Instant;
use trunkline_blobs::{ContentType, MediaPath, ObjectPath, PATH_RANDOM_BYTES, sign};
use trunkline_generation::images::{Image, ImageSource};
use trunkline_upstream::safe_fetch::FetchRequest;

use crate::caller::Caller;
use crate::error::ApiError;
use crate::operations::video::LinkSigner;
use crate::services::Services;

/// Pictures that are fetched and kept at one time, for one call.
const AT_ONCE: usize = 4;
/// How often a vendor's link is asked.
const TRIES: u32 = 3;

/// The pictures as the answer shows them, in their order. One that cannot be had in time is left out:
/// it is not delivered, and so not charged.
pub(super) async fn host_images(
    services: &Services,
    caller: &Caller,
    images: Vec<Image>,
    ends: Instant,
    wants_base64: bool,
) -> Vec<Value> {
    let hosted = stream::iter(images).map(|image| async move {
        let showing = host_image(services, caller, image, wants_base64);
        let hosted = tokio::time::timeout_at(ends, showing).await;
        match hosted.unwrap_or_else(|_| Err("the call has no time left".to_owned())) {
            Ok(entry) => Some(entry),
            Err(why) => {
                tracing::warn!(why, "images: fetching or storing an image failed");
                None
            }
        }
    });
    let hosted: Vec<Option<Value>> = hosted.buffered(AT_ONCE).collect().await;
    hosted.into_iter().flatten().collect()
}

async fn host_image(
    services: &Services,
    caller: &Caller,
    image: Image,
    wants_base64: bool,
) -> Result<Value, String> {
    let bytes = match image.at {
        ImageSource::Held(bytes) => bytes,
        ImageSource::Link(link) => fetch_image(services, caller, &link).await?,
    };
    let kind = kind_of(&bytes).ok_or("what the upstream sent is no picture")?;
    // A link would lead to a stored file.
    let keeps_nothing = caller.key.policy.fields().zero_retention;
    let (url, base64) = if wants_base64 || keeps_nothing {
        (String::new(), STANDARD.encode(&bytes))
    } else {
        (
            store_image(services, caller, kind, bytes).await?,
            String::new(),
        )
    };
    let mut entry = json!({ "url": url, "b64_json": base64 });
    if let (Some(prompt), Some(fields)) = (image.revised_prompt, entry.as_object_mut()) {
        fields.insert("revised_prompt".to_owned(), Value::String(prompt));
    }
    Ok(entry)
}

/// What a vendor's link leads to.
async fn fetch_image(services: &Services, caller: &Caller, link: &str) -> Result<Bytes, String> {
    let ask = FetchRequest {
        range: None,
        max_bytes: services.settings.generation.max_picture_bytes,
        within: services.settings.accept.body_wait,
    };
    let fetcher = services.fetcher.of(caller.account.id.number());
    let mut why = String::new();
    for _ in 0..TRIES {
        let fetched = async {
            let mut answer = fetcher.get(link, ask).await?;
            if !answer.status.is_success() {
                let status = answer.status.as_u16();
                return Ok(Err(format!("the vendor's link answers {status}")));
            }
            answer.whole().await.map(Ok)
        };
        let fetched: Result<_, trunkline_upstream::safe_fetch::FetchError> = fetched.await;
        match fetched {
            Ok(Ok(bytes)) => return Ok(bytes),
            Ok(Err(status)) => why = status,
            Err(error) => why = error.to_string(),
        }
    }
    Err(why)
}

/// Keeps a picture and signs our link to it.
async fn store_image(
    services: &Services,
    caller: &Caller,
    kind: &str,
    bytes: Bytes,
) -> Result<String, String> {
    let kind = ContentType::parse(kind).map_err(|error| error.to_string())?;
    let path = mint_path(services, caller, &kind).map_err(|error| error.message)?;
    let put = services.media.put_bytes(&path, bytes, &kind).await;
    put.map_err(|error| error.to_string())?;
    sign_link(services, path).map_err(|error| error.message)
}

/// A fresh place in the media store.
pub(super) fn mint_path(
    services: &Services,
    caller: &Caller,
    kind: &ContentType,
) -> Result<ObjectPath, ApiError> {
    let account = &caller.account;
    let mut random = [0; PATH_RANDOM_BYTES];
    let filled = services.fill_random(&mut random);
    filled.ok_or_else(ApiError::unavailable)?;
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
pub(super) fn sign_link(services: &Services, path: ObjectPath) -> Result<String, ApiError> {
    let settings = &services.settings;
    let life = i64::try_from(settings.generation.link_life.as_secs()).unwrap_or(i64::MAX);
    let ends = services.now().plus_seconds(life);
    let link = sign(
        &LinkSigner(&services.keyring),
        &MediaPath::Object(path),
        ends,
    );
    let link = link.map_err(|_| ApiError::unavailable())?;
    Ok(format!("{}{link}", settings.public_url))
}

/// What a picture is, by its first bytes.
pub(super) fn kind_of(bytes: &[u8]) -> Option<&'static str> {
    let at =
        |from: usize, sign: &[u8]| bytes.get(from..).is_some_and(|rest| rest.starts_with(sign));
    if at(0, b"\x89PNG\r\n\x1a\n") {
        Some("image/png")
    } else if at(0, b"\xff\xd8\xff") {
        Some("image/jpeg")
    } else if at(0, b"RIFF") && at(8, b"WEBP") {
        Some("image/webp")
    } else if at(0, b"GIF8") {
        Some("image/gif")
    } else {
        None
    }
}
