//! Linked clips whose length makes a price: copied into the media store, measured there, and sent as our own link
//! or as data. What was measured is what the upstream gets, whatever the server of the clip answers to others.

use std::io;
use std::time::Duration;

use futures_util::{StreamExt as _, stream};
use trunkline_blobs::{ContentType, ObjectPath, PutError, Source, verify};
use trunkline_generation::video::upstreams::{MediaForm, protocol_of};
use trunkline_generation::video::{Container, KnownMedia, MediaFacts, Plan, ProbeTarget};
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

/// How a linked clip goes to the vendor.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ClipDelivery {
    /// Our link to a copy.
    CopyByLink,
    /// A copy as data, within its bound.
    CopyAsData,
    /// Its own link. What the vendor gets is not known before, so it is billed by the vendor's count.
    OwnLink,
}

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

impl MeasuredClip {
    /// Those of the targets that were measured.
    pub(super) fn of(targets: Vec<ProbeTarget>, measured: &KnownMedia) -> Vec<Self> {
        let found = targets.into_iter().filter_map(|target| {
            let facts = measured.of(&target.url)?;
            Some(Self { target, facts })
        });
        found.collect()
    }
}

impl ClipDelivery {
    pub(super) fn of(services: &Services, caller: &Caller, plan: &Plan) -> Self {
        if caller.key.policy.fields().zero_retention {
            return Self::OwnLink;
        }
        if services.settings.vendors_reach_links {
            return Self::CopyByLink;
        }
        let protocol = protocol_of(&plan.outbound.protocol);
        match protocol.map_or(MediaForm::Link, |protocol| protocol.clips) {
            MediaForm::DataUri | MediaForm::BareBase64 => Self::CopyAsData,
            MediaForm::Link => Self::OwnLink,
        }
    }

    /// The largest clip that is measured for a price, by what its server states.
    pub(super) const fn max_stated_bytes(self) -> Option<u64> {
        match self {
            Self::CopyByLink | Self::OwnLink => None,
            Self::CopyAsData => Some(inline_media::MAX_INLINE_BYTES),
        }
    }

    /// The largest copy.
    const fn max_bytes(self) -> u64 {
        match self {
            Self::CopyByLink | Self::OwnLink => MAX_CLIP_BYTES,
            Self::CopyAsData => inline_media::MAX_INLINE_BYTES,
        }
    }
}

/// Copies the linked clips that were measured, and names the copies in what is sent. Nothing is charged yet.
pub(super) async fn mirror_clips(
    services: &Services,
    video: &mut PricedVideo,
) -> Result<ClipCopies, ApiError> {
    let mut copies = ClipCopies::default();
    let max_bytes = ClipDelivery::of(services, &video.call.caller, &video.plan).max_bytes();
    for clip in std::mem::take(&mut video.clips) {
        if clip.facts.millis.is_none() || is_ours(services, &clip.target.url) {
            continue;
        }
        let copying = copy(services, &video.call.caller, &clip, max_bytes);
        let copied = match copying.await {
            Ok(path) => {
                copies.0.push(path.clone());
                check_copy(services, &clip, path).await
            }
            Err(error) => Err(error),
        };
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

fn unreadable(clip: &MeasuredClip, why: &str) -> ApiError {
    let text = format!(
        "the clip cannot be copied: {why}; it is copied so that the vendor gets what the price was made of; \
         nothing was charged"
    );
    ApiError::new(ErrorCode::Invalid("invalid_request"), text).at(&clip.target.param)
}

/// Copies a clip into the media store.
async fn copy(
    services: &Services,
    caller: &Caller,
    clip: &MeasuredClip,
    max_bytes: u64,
) -> Result<ObjectPath, ApiError> {
    let fetcher = services.fetcher.of(caller.account.id.number());
    let ask = FetchRequest {
        range: None,
        max_bytes,
        within: WITHIN,
    };
    let answer = fetcher.get(&clip.target.url, ask).await;
    let mut answer = answer.map_err(|_| unreadable(clip, "its server does not answer"))?;
    if !answer.status.is_success() {
        return Err(unreadable(clip, "its server does not have it any more"));
    }
    let kind = match clip.facts.container {
        Some(Container::Mp4) => "video/mp4",
        Some(Container::Mov) => "video/quicktime",
        Some(Container::Other) | None => "application/octet-stream",
    };
    let kind = ContentType::parse(kind).map_err(|_| ApiError::unavailable())?;
    let path = form::mint_path(services, caller, &kind)?;
    let source = pieces(&mut answer);
    let stored = services.media.put(&path, source, &kind, max_bytes);
    match Box::pin(stored).await {
        Ok(_) => Ok(path),
        Err(PutError::TooLarge { .. } | PutError::SourceBroke(_)) => {
            let most = max_bytes / 1_000_000;
            let why = format!("it is larger than {most} MB, or slower than a minute");
            Err(unreadable(clip, &why))
        }
        Err(error @ (PutError::OverBudget { .. } | PutError::Store(_))) => {
            tracing::error!(%error, "linked clip: storing the copy failed");
            Err(ApiError::unavailable())
        }
    }
}

/// Our link to a copy, which must measure what the price was made of.
async fn check_copy(
    services: &Services,
    clip: &MeasuredClip,
    path: ObjectPath,
) -> Result<String, ApiError> {
    if measure::measure_stored(services, &path).await != Some(clip.facts) {
        let why = "its server sent another one than a moment ago";
        return Err(unreadable(clip, why));
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
