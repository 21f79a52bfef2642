//! Media that we hold for a caller, handed to an upstream: images as data where it takes data, clips by our own
//! link where it can follow that, else as data where it takes them so. What is stored with a task has the link; the data are put in when it is sent.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use futures_util::StreamExt as _;
use serde_json::Value;
use trunkline_blobs::{MediaPath, ObjectPath, verify};
use trunkline_generation::video::Outbound;
use trunkline_generation::video::upstreams::{MediaForm, Protocol};

use super::content::LinkSigner;
use crate::services::Services;

/// Largest file that is put into a body; a larger one goes by its link.
pub(super) const MAX_INLINE_BYTES: u64 = 10_000_000;
/// Texts of a body that are looked at.
const MAX_TEXTS: usize = 1_000;

/// What is sent, with our own files in the form that the upstream takes.
pub(super) async fn inline_media(
    services: &Services,
    mut sent: Outbound,
    protocol: &Protocol,
) -> Outbound {
    let clips = match services.settings.vendors_reach_links {
        true => MediaForm::Link,
        false => protocol.clips,
    };
    if (protocol.media, clips) == (MediaForm::Link, MediaForm::Link) {
        return sent;
    }
    let mut links = Vec::new();
    for value in sent.body.values() {
        own_links(services, value, &mut links);
    }
    for link in links {
        let Some(path) = own_object(services, &link) else {
            continue;
        };
        if let Some(text) = Box::pin(inline_object(services, &path, protocol.media, clips)).await {
            let values = sent.body.values_mut();
            values.for_each(|value| replace(value, &link, &text));
        }
    }
    sent
}

fn own_links(services: &Services, value: &Value, found: &mut Vec<String>) {
    match value {
        Value::String(text) => {
            let ours = text.starts_with(&services.settings.public_url);
            if ours && found.len() < MAX_TEXTS && !found.contains(text) {
                found.push(text.clone());
            }
        }
        Value::Array(list) => list
            .iter()
            .for_each(|value| own_links(services, value, found)),
        Value::Object(map) => map
            .values()
            .for_each(|value| own_links(services, value, found)),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// The upload behind a link of ours that holds.
fn own_object(services: &Services, link: &str) -> Option<ObjectPath> {
    let path = link.strip_prefix(&services.settings.public_url)?;
    match verify(&LinkSigner(&services.keyring), path, services.now()).ok()? {
        MediaPath::Object(object) => Some(object),
        MediaPath::Task(_) => None,
    }
}

async fn inline_object(
    services: &Services,
    path: &ObjectPath,
    images: MediaForm,
    clips: MediaForm,
) -> Option<String> {
    let mut fetched = services.media.get(path, None).await.ok()?;
    let kind = fetched.metadata.content_type.as_str();
    let form = if kind.starts_with("video/") {
        clips
    } else {
        images
    };
    if form == MediaForm::Link || fetched.metadata.bytes > MAX_INLINE_BYTES {
        return None;
    }
    let mut bytes = Vec::new();
    while let Some(piece) = fetched.stream.next().await {
        bytes.extend_from_slice(&piece.ok()?);
    }
    let text = STANDARD.encode(bytes);
    match form {
        MediaForm::DataUri => {
            let kind = fetched.metadata.content_type.as_str();
            Some(format!("data:{kind};base64,{text}"))
        }
        MediaForm::BareBase64 => Some(text),
        MediaForm::Link => None,
    }
}

/// Puts a text in the place of a link, wherever that stands.
pub(super) fn replace(value: &mut Value, link: &str, text: &str) {
    match value {
        Value::String(known) if known == link => text.clone_into(known),
        Value::Array(list) => list.iter_mut().for_each(|value| replace(value, link, text)),
        Value::Object(map) => map
            .values_mut()
            .for_each(|value| replace(value, link, text)),
        Value::String(_) | Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}
