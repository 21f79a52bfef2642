//! Finished files: our own signed link from the first moment, streaming from the upstream until the
//! file is ours, then from the media store.

use std::ops::Range;
use std::time::Duration;

use bytes::Bytes;
use futures_util::StreamExt as _;
use http::header::{
    ACCEPT_RANGES, CACHE_CONTROL, CONTENT_LENGTH, CONTENT_RANGE, CONTENT_TYPE, ETAG, IF_RANGE,
    RANGE,
};
use http::{HeaderMap, HeaderName, HeaderValue, StatusCode};
use tokio::sync::mpsc;
use trunkline_blobs::{
    ContentType, LinkError, LinkKeys, Media, MediaError, MediaPath, ObjectPath, RangeAnswer,
    SigningFailed, TaskName, TaskPath, if_range_holds, read_range, read_saving, sign, verify,
};
use trunkline_keyring::{Binding, Keyring, Purpose};
use trunkline_store::tasks::{self, Task, TaskState};
use trunkline_types::{AccountId, Shard};

use super::WORD;
use super::accept;
use super::content_disposition::with_file_name;
use super::download::{self, Fetching};
use super::poll;
use super::views::{self, no_task};
use crate::caller::Caller;
use crate::error::{ApiError, ErrorCode};
use crate::in_flight::InFlightPermit;
use crate::response::{Response, ResponseBody};
use crate::services::Services;
use crate::task_id::{task_name, task_of};

/// What is signed for whom.
const LINK: &[u8] = b"media";
/// Pieces of a file under way to a reader, and bytes that they may have together.
const PIECES: usize = 8;
const PIECES_BYTES: usize = 524_288;
/// The content type of a video that is not stored yet.
pub(super) const VIDEO: &str = "video/mp4";

/// Signs links with the installation's keys.
pub(crate) struct LinkSigner<'a>(pub(crate) &'a Keyring);

impl LinkKeys for LinkSigner<'_> {
    fn sign(&self, account: AccountId, parts: &[&[u8]]) -> Result<String, SigningFailed> {
        let binding = Binding::of_account(account, LINK);
        let signed = self.0.sign(Purpose::MediaLinks, &binding, parts);
        signed.map_err(|error| SigningFailed(error.to_string()))
    }

    fn is_signed(&self, account: AccountId, parts: &[&[u8]], signature: &str) -> bool {
        let binding = Binding::of_account(account, LINK);
        self.0
            .verify(Purpose::MediaLinks, &binding, parts, signature)
            .is_ok()
    }
}

/// Our link to a task's file, and when it ends.
pub(super) fn signed_link(services: &Services, task: &Task) -> Result<(String, i64), ApiError> {
    let settings = &services.settings;
    let life = i64::try_from(settings.video.link_life.as_secs()).unwrap_or(i64::MAX);
    let ends = services.now().plus_seconds(life);
    let name = TaskName::parse(&task_name(task.id)).map_err(|_| ApiError::unavailable())?;
    let path = MediaPath::Task(TaskPath {
        shard: shard_of(services, task.account).ok_or_else(ApiError::unavailable)?,
        account: task.account,
        task: name,
    });
    let link = sign(&LinkSigner(&services.keyring), &path, ends).map_err(|error| {
        tracing::error!(%error, "media link: signing failed");
        ApiError::unavailable()
    })?;
    Ok((format!("{}{link}", settings.public_url), ends.seconds()))
}

/// The shard of an account; none while accounts are not read.
pub(super) fn shard_of(services: &Services, account: AccountId) -> Option<Shard> {
    Some(services.edge.key_table.account(account)?.shard)
}

/// `GET /media/…`: no key; the link names the account and the expiry.
pub(crate) async fn serve_link(
    services: &Services,
    path_and_query: &str,
    headers: &HeaderMap,
) -> Result<Response, ApiError> {
    let (link, save) = read_saving(path_and_query);
    let verified = verify(&LinkSigner(&services.keyring), link, services.now());
    let path = verified.map_err(|error| {
        let text = match error {
            LinkError::NotALink => "not a media link of this gateway",
            LinkError::BadSignature => "the signature of this link is invalid",
            LinkError::Expired => "this link has expired; fetch the task again for a new one",
        };
        ApiError::new(ErrorCode::LinkRefused, text)
    })?;
    let answer = match &path {
        MediaPath::Object(object) => serve_object(services, object, headers).await,
        MediaPath::Task(path) => {
            let id = task_of(path.task.as_str()).ok_or_else(|| no_task(""))?;
            let mut session = services.data.session().await?;
            let task = tasks::of_account(&mut session, path.account, id).await;
            drop(session);
            let task = task?;
            task_file(
                services,
                &task.ok_or_else(|| no_task(path.task.as_str()))?,
                headers,
            )
            .await
        }
    };
    answer.map(|answer| with_file_name(answer, &path, save))
}

/// `GET /v1/videos/{id}/content`.
pub(crate) async fn video_content(
    services: &Services,
    caller: &Caller,
    name: &str,
    headers: &HeaderMap,
) -> Result<Response, ApiError> {
    caller.check_endpoint(WORD)?;
    let task = views::task_of_caller(services, caller, name).await?;
    task_file(services, &task, headers).await
}

/// A task's file, wherever it lies.
async fn task_file(
    services: &Services,
    task: &Task,
    headers: &HeaderMap,
) -> Result<Response, ApiError> {
    if task.state != TaskState::Completed {
        let text = "this task has no file: it is not finished, or it failed";
        return Err(ApiError::new(ErrorCode::NotFound, text).at("task_id"));
    }
    if let Some(path) = task
        .media_path
        .as_deref()
        .and_then(|text| ObjectPath::parse(text).ok())
    {
        match serve_object(services, &path, headers).await {
            Err(error) if error.kind == ErrorCode::NotFound => {}
            answered => return answered,
        }
    }
    Box::pin(relay_from_upstream(services, task, headers)).await
}

/// An object of the store.
async fn serve_object(
    services: &Services,
    path: &ObjectPath,
    headers: &HeaderMap,
) -> Result<Response, ApiError> {
    let permit = file_permit(services, path.account())?;
    let media = &services.media;
    let facts = media.head(path).await.map_err(stored_error)?;
    let etag = facts.etag();
    let text = |name: &HeaderName| headers.get(name).and_then(|value| value.to_str().ok());
    let range = text(&RANGE).filter(|_| if_range_holds(text(&IF_RANGE), &etag));
    let part = match read_range(range, facts.bytes) {
        RangeAnswer::Whole => None,
        RangeAnswer::Part(range) => Some(range),
        RangeAnswer::Unsatisfiable | RangeAnswer::Invalid => {
            return Ok(beyond(facts.bytes));
        }
    };
    let fetched = media.get(path, part.clone()).await.map_err(stored_error)?;
    let (pieces, received) = mpsc::channel(PIECES);
    let mut stream = fetched.stream;
    services.tasks.spawn(async move {
        let _permit = permit;
        while let Some(Ok(piece)) = stream.next().await {
            if pieces.send(piece).await.is_err() {
                return;
            }
        }
    });
    let view = FileView {
        length: Some(facts.bytes),
        content_type: facts.content_type.as_str(),
        etag: Some(&etag),
    };
    Ok(view.answer(part, received))
}

/// The upstream's file, passed on while it is not ours.
async fn relay_from_upstream(
    services: &Services,
    task: &Task,
    headers: &HeaderMap,
) -> Result<Response, ApiError> {
    let permit = file_permit(services, task.account)?;
    let range = headers.get(RANGE).cloned();
    let opened = Box::pin(open_or_renew(services, task, range)).await;
    let fetching = opened.map_err(|why| {
        tracing::warn!(task.id = task_name(task.id), why, "media download failed");
        let text = "the file cannot be fetched from its upstream right now; try again";
        ApiError::new(ErrorCode::UpstreamFailed, text)
    })?;
    let (pieces, received) = mpsc::channel(PIECES);
    let mut answer = Response::new(ResponseBody::Pieces(received));
    *answer.status_mut() = fetching.status();
    let sent = answer.headers_mut();
    for name in [CONTENT_TYPE, CONTENT_LENGTH, CONTENT_RANGE, ACCEPT_RANGES] {
        if let Some(value) = fetching.header(&name) {
            sent.insert(name, value.clone());
        }
    }
    sent.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    never_run(sent);
    services.tasks.spawn(async move {
        let _permit = permit;
        fetching.pass_on(pieces).await;
    });
    Ok(answer)
}

/// Opens the upstream's file, once more by a new link where the known one does not work any more: a file that is
/// never stored is fetched for as long as its vendor has it.
async fn open_or_renew(
    services: &Services,
    task: &Task,
    range: Option<HeaderValue>,
) -> Result<Fetching, String> {
    match Fetching::open(services, task, range.clone()).await {
        Err(_) if task.sent.is_none() => {
            Box::pin(download::renew_link(services, task)).await;
            let renewed = accept::find_written(services, task.id).await;
            let renewed = renewed.map_err(|error| error.to_string())?;
            let renewed = renewed.ok_or("the task is gone")?;
            Fetching::open(services, &renewed, range).await
        }
        opened => opened,
    }
}

/// A file under way is a call in flight of its account, and its pieces are in memory.
fn file_permit(services: &Services, account: AccountId) -> Result<InFlightPermit, ApiError> {
    services.edge.acquire(account, PIECES_BYTES)
}

/// A file is shown as what it is said to be, and never run.
fn never_run(headers: &mut HeaderMap) {
    let sniff = HeaderName::from_static("x-content-type-options");
    headers.insert(sniff, HeaderValue::from_static("nosniff"));
}

/// Fetches a finished file into the store. A file that cannot be had is asked for anew; the task
/// stays what it is.
pub(super) async fn store_result(
    services: &Services,
    task: &Task,
    tries: i32,
) -> Result<(), super::transitions::StepError> {
    match Box::pin(fetch_and_store(services, task)).await {
        Ok((path, bytes)) => {
            let mut tx = services.data.begin().await?;
            let bytes = i64::try_from(bytes).unwrap_or(i64::MAX);
            tasks::mirrored(&mut tx, task.id, &path.to_string(), bytes).await?;
            tx.commit().await?;
            Ok(())
        }
        Err(why) => {
            let name = task_name(task.id);
            if tries >= MIRROR_ALARM {
                tracing::error!(
                    task.id = name,
                    why,
                    tries,
                    "media download: giving up storing the finished file"
                );
            } else {
                tracing::warn!(
                    task.id = name,
                    why,
                    tries,
                    "media download failed; it will be retried"
                );
            }
            download::renew_link(services, task).await;
            let steps = u32::try_from(tries.clamp(0, 8)).unwrap_or(8);
            let pause = MIRROR_PAUSE.saturating_mul(2_u32.saturating_pow(steps));
            if tries >= MIRROR_TRIES {
                let mut tx = services.data.begin().await?;
                tasks::unschedule(&mut tx, task.id).await?;
                tx.commit().await?;
                return Ok(());
            }
            poll::reschedule(services, task, pause).await
        }
    }
}

async fn fetch_and_store(services: &Services, task: &Task) -> Result<(ObjectPath, u64), String> {
    let mut fetching = Fetching::open(services, task, None).await?;
    if fetching.status() != StatusCode::OK {
        return Err(format!("status {}", fetching.status().as_u16()));
    }
    let content_type = fetching
        .header(&CONTENT_TYPE)
        .and_then(|value| value.to_str().ok());
    let kind = content_type.and_then(|text| ContentType::parse(text).ok());
    let kind = kind
        .or_else(|| ContentType::parse(VIDEO).ok())
        .ok_or("no content type")?;
    let mut random = [0; trunkline_blobs::PATH_RANDOM_BYTES];
    services.fill_random(&mut random).ok_or("no random bytes")?;
    let shard = shard_of(services, task.account).ok_or("its account is not read")?;
    let path = ObjectPath::mint(services.now(), shard, task.account, random, &kind);
    let limit = services.settings.max_file_bytes;
    let source = fetching.source();
    let media: &Media = &services.media;
    let facts = media.put(&path, source, &kind, limit).await;
    let facts = facts.map_err(|error| error.to_string())?;
    Ok((path, facts.bytes))
}

/// Tries to store a file, and after how many the operator is alerted.
const MIRROR_TRIES: i32 = 20;
const MIRROR_ALARM: i32 = 5;
const MIRROR_PAUSE: Duration = Duration::from_secs(1);

/// How an object is shown.
struct FileView<'a> {
    length: Option<u64>,
    content_type: &'a str,
    etag: Option<&'a str>,
}

impl FileView<'_> {
    fn answer(&self, part: Option<Range<u64>>, pieces: mpsc::Receiver<Bytes>) -> Response {
        let mut answer = Response::new(ResponseBody::Pieces(pieces));
        let whole = self.length.unwrap_or(0);
        let length = part
            .as_ref()
            .map_or(whole, |part| part.end.saturating_sub(part.start));
        if let Some(part) = &part {
            *answer.status_mut() = StatusCode::PARTIAL_CONTENT;
            let last = part.end.saturating_sub(1);
            let text = format!("bytes {}-{last}/{whole}", part.start);
            if let Ok(value) = HeaderValue::from_str(&text) {
                answer.headers_mut().insert(CONTENT_RANGE, value);
            }
        }
        let headers = answer.headers_mut();
        headers.insert(CONTENT_LENGTH, HeaderValue::from(length));
        headers.insert(ACCEPT_RANGES, HeaderValue::from_static("bytes"));
        headers.insert(
            CACHE_CONTROL,
            HeaderValue::from_static("private, max-age=3600"),
        );
        if let Ok(value) = HeaderValue::from_str(self.content_type) {
            headers.insert(CONTENT_TYPE, value);
        }
        if let Some(Ok(value)) = self.etag.map(HeaderValue::from_str) {
            headers.insert(ETAG, value);
        }
        never_run(headers);
        answer
    }
}

fn beyond(length: u64) -> Response {
    let mut answer = Response::new(ResponseBody::Whole(None));
    *answer.status_mut() = StatusCode::RANGE_NOT_SATISFIABLE;
    if let Ok(value) = HeaderValue::from_str(&format!("bytes */{length}")) {
        answer.headers_mut().insert(CONTENT_RANGE, value);
    }
    answer
}

fn stored_error(error: MediaError) -> ApiError {
    if matches!(error, MediaError::NotFound) {
        let text = "the file is no longer stored";
        return ApiError::new(ErrorCode::NotFound, text);
    }
    tracing::error!(%error, "media read failed");
    ApiError::new(
        ErrorCode::Unavailable,
        "the file cannot be read right now; try again",
    )
}
