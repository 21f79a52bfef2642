//! Media that a caller names, measured through the guarded fetcher by the bytes that are needed. What
//! cannot be measured is left out; the price is then the most that the rule allows.

use std::time::Duration;

use futures_util::StreamExt as _;
use tokio::time::Instant;
use trunkline_blobs::ObjectPath;
use trunkline_generation::video::{Container, KnownMedia, MediaFacts, ProbeTarget};
use trunkline_probe::visual::{Format, MAX_BYTES, MediaInfo, Need, Probe, ProbeError, Step};
use trunkline_types::AccountId;
use trunkline_upstream::safe_fetch::{ByteRange, FetchRequest, FetchResponse, SafeFetcher, Served};

use crate::services::Services;

/// For one file, all of its questions together.
const WITHIN: Duration = Duration::from_secs(10);
/// Files of one request that are measured.
const MAX_SUBJECTS: usize = 64;

/// What is known of the media of a request. Files that are larger than the bound are not measured.
pub(super) async fn measure(
    services: &Services,
    account: AccountId,
    subjects: &[ProbeTarget],
    max_file_bytes: Option<u64>,
) -> KnownMedia {
    let mut all = KnownMedia::default();
    let mut running = tokio::task::JoinSet::new();
    let fetcher = services.fetcher.of(account.number());
    for subject in subjects.iter().take(MAX_SUBJECTS) {
        let (fetcher, url) = (fetcher.clone(), subject.url.clone());
        running.spawn(async move {
            let measured =
                tokio::time::timeout(WITHIN, measured(&fetcher, &url, max_file_bytes)).await;
            (url, measured.ok().flatten())
        });
    }
    while let Some(done) = running.join_next().await {
        if let Ok((url, Some(measured))) = done {
            all = all.with(url, measured);
        }
    }
    all
}

async fn measured(
    fetcher: &SafeFetcher,
    url: &str,
    max_file_bytes: Option<u64>,
) -> Option<MediaFacts> {
    let began = Instant::now();
    let mut probe = Probe::new(None);
    loop {
        let need = match probed(&mut probe) {
            Ok(need) => need,
            Err(facts) => return facts,
        };
        let ask = FetchRequest {
            range: ByteRange::new(need.start, need.length),
            max_bytes: MAX_BYTES,
            within: WITHIN.saturating_sub(began.elapsed()),
        };
        let mut answer = fetcher.get(url, ask).await.ok()?;
        if !answer.status.is_success() {
            return None;
        }
        let (Served::Part { total: size, .. } | Served::Whole { length: size }) = answer.served;
        let is_larger = |(size, most)| size > most;
        if size.zip(max_file_bytes).is_some_and(is_larger) {
            return None;
        }
        match answer.served {
            Served::Part { range, total } => {
                total.into_iter().for_each(|total| probe.set_total(total));
                let bytes = answer.whole().await.ok()?;
                probe.push(range.first(), &bytes);
            }
            Served::Whole { length } => {
                length
                    .into_iter()
                    .for_each(|length| probe.set_total(length));
                return from_the_start(probe, &mut answer).await;
            }
        }
    }
}

/// The same of something in the media store.
pub(super) async fn measure_stored(services: &Services, path: &ObjectPath) -> Option<MediaFacts> {
    let total = services.media.head(path).await.ok()?.bytes;
    let mut probe = Probe::new(None);
    probe.set_total(total);
    loop {
        let need = match probed(&mut probe) {
            Ok(need) => need,
            Err(facts) => return facts,
        };
        let end = need.start.saturating_add(need.length).min(total);
        let part = services.media.get(path, Some(need.start..end)).await;
        let mut stream = part.ok()?.stream;
        let mut bytes = Vec::new();
        while let Some(piece) = stream.next().await {
            bytes.extend_from_slice(&piece.ok()?);
        }
        probe.push(need.start, &bytes);
    }
}

/// What the probe needs next, or what it found.
fn probed(probe: &mut Probe) -> Result<Need, Option<MediaFacts>> {
    match probe.step() {
        Step::Done(info) => Err(Some(measured_of(&info))),
        // It was read and is none of the known kinds, which is worth knowing too.
        Step::Failed(ProbeError::UnknownFormat) => Err(Some(MediaFacts {
            container: Some(Container::Other),
            ..MediaFacts::default()
        })),
        Step::Failed(_) => Err(None),
        Step::Need(need) => Ok(need),
    }
}

/// A server that knows no parts is read from the start, as far as it takes.
async fn from_the_start(mut probe: Probe, answer: &mut FetchResponse) -> Option<MediaFacts> {
    let mut at = 0_u64;
    loop {
        let piece = answer.piece().await.ok()?;
        let length = piece.as_ref().map_or(0, bytes::Bytes::len);
        probe.push(at, piece.as_deref().unwrap_or_default());
        at = at.saturating_add(u64::try_from(length).ok()?);
        match probe.step() {
            Step::Done(info) => return Some(measured_of(&info)),
            Step::Failed(_) => return None,
            Step::Need(_) if piece.is_none() => return None,
            Step::Need(_) => {}
        }
    }
}

fn measured_of(info: &MediaInfo) -> MediaFacts {
    let size = info.size;
    MediaFacts {
        // An edit list that hides most of a clip does not make it cheaper.
        millis: info.length_ms.max(info.unedited_ms),
        width: size.map(|size| u64::from(size.width)),
        height: size.map(|size| u64::from(size.height)),
        container: match info.format {
            Format::Mp4 => Some(Container::Mp4),
            Format::Mov => Some(Container::Mov),
            Format::Png
            | Format::Jpeg
            | Format::WebP
            | Format::Gif
            | Format::Bmp
            | Format::Heif => None,
        },
    }
}
