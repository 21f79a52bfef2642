//! Linked clips whose length makes a price: copied into the media store, measured there and sent as our own link.
//! What was measured is what the upstream gets, whatever the server of the clip answers to others.

use std::io;
use std::time::Duration;

use futures_util::{StreamExt as _, stream};
use trunkline_blobs::{ContentType, ObjectPath, PutError, Source, verify};
use trunkline_generation::video::{Container, MediaFacts, ProbeTarget};
use trunkline_upstream::safe_fetch::{FetchRequest, FetchResponse};

use super::content::LinkSigner;
use super::request::PricedVideo;
use super::{form, inline_media, measure};
use crate::caller::Caller;
use crate::error::{ApiError, ErrorCode};
use crate::services::Services;

/// Above the largest clip that a family accepts.
const MAX_CLIP_BYTES: u64 = 256_000_000;
/// For one clip: its client waits for it.
const WITHIN: Duration = Duration::from_secs(60);

/// A clip as it was measured for the price.
pub(super) struct MeasuredClip {
    pub(super) target: ProbeTarget,
    pub(super) facts: MediaFacts,
}

/// Copies that are not needed if the video is not accepted.
#[derive(Default)]
pub(super) struct ClipCopies(Vec<ObjectPath>);

impl ClipCopies {
    /// Deletes the copies. What cannot be deleted now is swept like other media.
    pub(super) async fn forget(self, services: &Services) {
        for path in self.0 {
            drop(services.media.delete(&path).await);
        }
    }
}

/// Copies the linked clips that were measured, and names the copies in what is sent. Nothing is charged yet.
pub(super) async fn mirror_clips(
    services: &Services,
    video: &mut PricedVideo,
) -> Result<ClipCopies, ApiError> {
    let mut copies = ClipCopies::default();
    for clip in std::mem::take(&mut video.clips) {
        if clip.facts.millis.is_none() || is_ours(services, &clip.target.url) {
            continue;
        }
        let copied = mirror(services, &video.call.caller, &clip, &mut copies).await;
        let link = match copied {
            Ok(link) => link,
            Err(error) => {
                copies.forget(services).await;
                return Err(error);
            }
        };
        let sent = video.plan.outbound.body.values_mut();
        sent.for_each(|value| inline_media::replace(value, &clip.target.url, &link));
    }
    Ok(copies)
}

/// No caller decides what a link of ours leads to.
fn is_ours(services: &Services, url: &str) -> bool {
    let path = url.strip_prefix(&services.settings.public_url);
    path.is_some_and(|path| verify(&LinkSigner(&services.keyring), path, services.now()).is_ok())
}

/// Our link to a copy of a clip that measures what the price was made of.
async fn mirror(
    services: &Services,
    caller: &Caller,
    clip: &MeasuredClip,
    copies: &mut ClipCopies,
) -> Result<String, ApiError> {
    let unreadable = |why: &str| {
        let text = format!(
            "the clip cannot be copied: {why}; it is copied so that the vendor gets what the price was \
             made of; nothing was charged"
        );
        ApiError::new(ErrorCode::Invalid("invalid_request"), text).at(&clip.target.param)
    };
    let fetcher = services.fetcher.of(caller.account.id.number());
    let ask = FetchRequest {
        range: None,
        max_bytes: MAX_CLIP_BYTES,
        within: WITHIN,
    };
    let answer = fetcher.get(&clip.target.url, ask).await;
    let mut answer = answer.map_err(|_| unreadable("its server does not answer"))?;
    if !answer.status.is_success() {
        return Err(unreadable("its server does not have it any more"));
    }
    let kind = match clip.facts.container {
        Some(Container::Mp4) => "video/mp4",
        Some(Container::Mov) => "video/quicktime",
        Some(Container::Other) | None => "application/octet-stream",
    };
    let kind = ContentType::parse(kind).map_err(|_| ApiError::unavailable())?;
    let path = form::mint_path(services, caller, &kind)?;
    let stored = services
        .media
        .put(&path, pieces(&mut answer), &kind, MAX_CLIP_BYTES);
    match Box::pin(stored).await {
        Ok(_) => {}
        Err(PutError::TooLarge { .. } | PutError::SourceBroke(_)) => {
            return Err(unreadable(
                "it is larger than 256 MB, or slower than a minute",
            ));
        }
        Err(error @ (PutError::OverBudget { .. } | PutError::Store(_))) => {
            tracing::error!(%error, "linked clip: storing the copy failed");
            return Err(ApiError::unavailable());
        }
    }
    copies.0.push(path.clone());
    if measure::measure_stored(services, &path).await != Some(clip.facts) {
        return Err(unreadable("its server sent another one than a moment ago"));
    }
    form::sign_object(services, path)
}

/// As the media store takes it.
fn pieces(answer: &mut FetchResponse) -> Source<'_> {
    let pieces = stream::unfold(Some(answer), |state| async move {
        let answer = state?;
        match answer.piece().await {
            Ok(None) => None,
            Ok(Some(piece)) => Some((Ok(piece), Some(answer))),
            Err(error) => Some((Err(io::Error::other(error.to_string())), None)),
        }
    });
    pieces.boxed()
}
