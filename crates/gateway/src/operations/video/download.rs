//! A finished file under way from its upstream: by its link, through the guarded fetcher, or from
//! behind the vendor's own endpoint with the channel's credential.

use std::io;
use std::time::Duration;

use bytes::Bytes;
use futures_util::StreamExt as _;
use futures_util::stream;
use http::{HeaderMap, HeaderName, HeaderValue, StatusCode};
use tokio::sync::mpsc;
use trunkline_blobs::Source;
use trunkline_generation::video::upstreams::{JobRef, Polled};
use trunkline_store::tasks::{self, Task};
use trunkline_upstream::UpstreamResponse;
use trunkline_upstream::safe_fetch::{ByteRange, FetchRequest, FetchResponse};

use super::encryption;
use super::poll::{self, UpstreamFileRef};
use crate::services::Services;
use crate::vendors;

pub(super) const WITHIN: Duration = Duration::from_secs(900);

pub(super) enum Fetching {
    Linked(Box<FetchResponse>),
    Behind(Box<UpstreamResponse>),
}

impl Fetching {
    /// Opens a task's file, or a part of it.
    pub(super) async fn open(
        services: &Services,
        task: &Task,
        range: Option<HeaderValue>,
    ) -> Result<Self, String> {
        let sealed = task
            .file
            .as_deref()
            .ok_or("the upstream's file is not known")?;
        let file_ref: Option<UpstreamFileRef> =
            encryption::open_for_task(services, task.account, task.id, sealed);
        match file_ref.ok_or("the upstream's link cannot be opened")? {
            UpstreamFileRef::Link(link) => {
                let ask = FetchRequest {
                    range: range.as_ref().and_then(part_of),
                    max_bytes: services.settings.max_file_bytes,
                    within: WITHIN,
                };
                let fetcher = services.fetcher.of(task.account.number());
                let answer = fetcher.get(&link, ask).await;
                let answer = answer.map_err(|error| error.to_string())?;
                good(answer.status).map(|()| Self::Linked(Box::new(answer)))
            }
            UpstreamFileRef::Behind { at_host, path } => {
                let (_, channel) =
                    poll::serving_channel(services, task).ok_or("its channel is gone")?;
                let credential =
                    poll::credential_for(task, &channel).ok_or("its credential is gone")?;
                let mut call = UpstreamFileRef::call(at_host, &path);
                let range = range.and_then(|value| value.to_str().map(str::to_owned).ok());
                call.headers.extend(range.map(|range| (RANGE_NAME, range)));
                let answer = vendors::open(services, &channel, credential, &call, WITHIN).await;
                let answer = answer.map_err(|error| error.to_string())?;
                good(answer.status).map(|()| Self::Behind(Box::new(answer)))
            }
        }
    }

    pub(super) fn status(&self) -> StatusCode {
        match self {
            Self::Linked(answer) => answer.status,
            Self::Behind(answer) => answer.status,
        }
    }

    pub(super) fn header(&self, name: &HeaderName) -> Option<&HeaderValue> {
        self.headers().get(name)
    }

    fn headers(&self) -> &HeaderMap {
        match self {
            Self::Linked(answer) => &answer.headers,
            Self::Behind(answer) => &answer.headers,
        }
    }

    async fn piece(&mut self) -> Result<Option<Bytes>, String> {
        match self {
            Self::Linked(answer) => answer.piece().await.map_err(|error| error.to_string()),
            Self::Behind(answer) => answer.piece().await.map_err(|error| error.to_string()),
        }
    }

    /// Hands every piece to a reader.
    pub(super) async fn pass_on(mut self, pieces: mpsc::Sender<Bytes>) {
        while let Ok(Some(piece)) = self.piece().await {
            if pieces.send(piece).await.is_err() {
                return;
            }
        }
    }

    /// As the media store takes it.
    pub(super) fn source(&mut self) -> Source<'_> {
        let pieces = stream::unfold(Some(self), |state| async move {
            let fetching = state?;
            match fetching.piece().await {
                Ok(None) => None,
                Ok(Some(piece)) => Some((Ok(piece), Some(fetching))),
                Err(why) => Some((Err(io::Error::other(why)), None)),
            }
        });
        pieces.boxed()
    }
}

const RANGE_NAME: &str = "range";

/// Asks the upstream for the file's address once more: links do not live long.
pub(super) async fn renew_link(services: &Services, task: &Task) {
    let (Some((protocol, channel)), Some(upstream)) =
        (poll::serving_channel(services, task), &task.upstream)
    else {
        return;
    };
    let Some(credential) = poll::credential_for(task, &channel) else {
        return;
    };
    let handle = JobRef {
        id: upstream.clone(),
        endpoint: task.endpoint.clone(),
    };
    let polled = poll::query_status(services, protocol, &channel, credential, &handle).await;
    let Polled::Done { file, .. } = polled else {
        return;
    };
    let file_ref = UpstreamFileRef::of(&file);
    let Some(sealed) = encryption::seal_for_task(services, task.account, task.id, &file_ref) else {
        return;
    };
    let written = async {
        let mut session = services.data.session().await?;
        tasks::update_file(&mut session, task.id, &sealed).await
    };
    if let Err(error) = written.await {
        tracing::warn!(%error, "video task: storing the vendor's new link failed");
    }
}

fn good(status: StatusCode) -> Result<(), String> {
    if status.is_success() {
        Ok(())
    } else {
        Err(format!("the upstream answered {}", status.as_u16()))
    }
}

/// A part with both ends; others are answered with the whole.
fn part_of(value: &HeaderValue) -> Option<ByteRange> {
    let text = value.to_str().ok()?.strip_prefix("bytes=")?;
    let (first, last) = text.split_once('-')?;
    let (first, last): (u64, u64) = (first.parse().ok()?, last.parse().ok()?);
    ByteRange::new(first, last.checked_sub(first)?.checked_add(1)?)
}

#[cfg(test)]
mod tests {
    use http::header::RANGE;

    use super::*;

    #[test]
    fn the_name_of_the_header_is_the_real_one() {
        assert_eq!(RANGE, RANGE_NAME);
    }

    #[test]
    fn only_a_part_with_two_ends_is_passed_on() {
        let part = |text: &str| part_of(&HeaderValue::from_str(text).unwrap());
        assert_eq!(part("bytes=0-9"), ByteRange::new(0, 10));
        assert_eq!(part("bytes=5-"), None);
        assert_eq!(part("bytes=9-3"), None);
        assert_eq!(part("items=0-9"), None);
    }
}
