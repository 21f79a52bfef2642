//! `POST /v1/audio/transcriptions` and `/translations`: a form on its way to the disk, read and measured.
//! Nothing of a recording is held in memory, and no money has moved yet.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::HeaderMap;
use http_body_util::BodyExt as _;
use hyper::body::Incoming;
use multer::Multipart;
use serde_json::json;
use sha2::{Digest as _, Sha256};
use tokio::time::Instant;
use trunkline_audio::Unheard;
use trunkline_catalog::{Attributes, Sale};
use trunkline_studio::Fields;
use trunkline_studio::transcription::{Ask, Door, Upload as Recording, plan};
use trunkline_terms::{Bucket, EndpointType, Moment, RequestId, Usage};

use super::image_form::{MAX_FIELD_BYTES, MAX_PARTS, invalid, put, text_of, wrong};
use super::quote::{Planned, Priced, check_door};
use super::uploads::{Receiving, Upload, UploadError};
use super::{TRANSCRIPTIONS, TRANSLATIONS};
use crate::caller::Caller;
use crate::error::{ApiError, ErrorCode, refused};
use crate::idempotency::{Content, is_named};
use crate::in_flight::InFlightPermit;
use crate::request_context::RequestContext;
use crate::response::Response;
use crate::services::Services;

/// The part that holds the recording.
const FILE: &str = "file";
/// Bytes of a form around its file: fields and the heads of parts.
const AROUND: u64 = 4_000_000;

/// A form whose file lies on the disk.
struct Came {
    fields: Fields,
    upload: Upload,
    name: String,
    content_type: String,
    /// What the file hashes to, if somebody wants to know.
    hash: Option<String>,
}

/// A transcript that may be made.
pub(super) struct Wanted {
    pub(super) priced: Priced,
    pub(super) ask: Ask,
    pub(super) upload: Upload,
    pub(super) name: String,
    pub(super) content_type: String,
}

/// The door's word.
pub(super) const fn word_of(door: Door) -> &'static str {
    match door {
        Door::Transcriptions => TRANSCRIPTIONS,
        Door::Translations => TRANSLATIONS,
    }
}

impl Services {
    /// Writes down, or translates, what a form brings.
    pub(crate) async fn write_down(
        &self,
        (context, caller): (&Arc<RequestContext>, Caller),
        (door, boundary): (Door, &str),
        (headers, body): (&HeaderMap, Incoming),
        place: InFlightPermit,
    ) -> Result<Response, ApiError> {
        caller.check_endpoint(word_of(door))?;
        let came = self.receive(boundary, body, is_named(headers)).await?;
        context.came(usize::try_from(came.upload.bytes()).unwrap_or(usize::MAX));
        let heard = came.upload.heard().await.map_err(|error| unheard(&error))?;
        let recording = Recording {
            name: came.name.clone(),
            content_type: came.content_type.clone(),
            bytes: came.upload.bytes(),
            heard,
        };
        let mut ask = Ask::read(door, &came.fields, recording).map_err(refused)?;
        self.rename(&caller, &mut ask.model);
        // A quote was for the fields and the length: those it names, whatever the bytes are.
        let mut body = came.fields.values.clone();
        body.insert(FILE.to_owned(), json!({ "seconds": ask.seconds() }));
        let body = serde_json::Value::Object(body).to_string();
        let named = match &came.hash {
            Some(hash) => {
                let known_by = json!([came.fields.values, hash]).to_string();
                let content = Content {
                    path: context.path(),
                    class: "form",
                    body: known_by.as_bytes(),
                    task: false,
                };
                Box::pin(self.named(&caller, headers, content)).await?
            }
            None => None,
        };
        let what = (word_of(door), ask.model.as_str(), body.as_bytes());
        let offered = self.offered(&caller, headers, what).await?;
        let (ask, mut priced) = Self::want_transcript((context.id, caller), headers, ask, offered)?;
        priced.named = named;
        context.asks_for(&priced.model, false);
        self.has_route(&priced)?;
        self.limit_made(context, &priced).await?;
        let wanted = Wanted {
            priced,
            ask,
            upload: came.upload,
            name: came.name,
            content_type: came.content_type,
        };
        self.transcribe(context, wanted, place).await
    }

    /// Plans and prices a request.
    pub(super) fn want_transcript(
        (id, caller): (RequestId, Caller),
        headers: &HeaderMap,
        ask: Ask,
        offered: (Sale, Moment),
    ) -> Result<(Ask, Priced), ApiError> {
        let endpoint = EndpointType::AudioTranscription;
        check_door(&offered.0, &ask.model, endpoint)?;
        let planned = plan(ask, offered.0.model.entry()).map_err(refused)?;
        let what = Planned {
            word: word_of(planned.ask.door),
            endpoint,
            model: planned.ask.model.clone(),
            usage: Usage::unknown().with(Bucket::AudioSeconds, planned.ask.seconds()),
            attributes: Attributes::none(),
            report: planned.report,
        };
        let priced = Priced::new((id, caller), headers, what, offered)?;
        Ok((planned.ask, priced))
    }

    /// Streams a form: its file to the disk, its fields into memory.
    async fn receive(
        &self,
        boundary: &str,
        body: Incoming,
        hashes: bool,
    ) -> Result<Came, ApiError> {
        let settings = &self.inner.settings.studio;
        let ends = Instant::now().checked_add(settings.upload_wait);
        let mut form = Multipart::new(paced(body, settings.upload_idle, ends), boundary);
        let mut fields = Fields {
            is_form: true,
            ..Fields::default()
        };
        let mut file = None;
        let mut hash = hashes.then(Sha256::new);
        let (mut parts, mut around) = (0_usize, 0_u64);
        while let Some(mut part) = form.next_field().await.map_err(|error| broken(&error))? {
            parts = parts.saturating_add(1);
            let name = part.name().unwrap_or_default().to_owned();
            if parts > MAX_PARTS || name.is_empty() {
                return Err(invalid(
                    "the form has too many parts, or one without a name",
                ));
            }
            if name == FILE && (file.is_some() || fields.values.contains_key(FILE)) {
                return Err(invalid("a field stands twice in the form").at(FILE));
            }
            if name == FILE {
                let about = (
                    part.file_name().unwrap_or("audio").to_owned(),
                    part.content_type().map(ToString::to_string),
                );
                let disk = &self.inner.disk;
                let most = (settings.max_upload_bytes, settings.max_uploads_on_disk);
                let kept = Receiving::begin(&settings.upload_folder, disk, most).await;
                let mut receiving = kept.map_err(|error| not_kept(error, most.0))?;
                while let Some(piece) = part.chunk().await.map_err(|error| broken(&error))? {
                    hash.iter_mut().for_each(|hash| hash.update(&piece));
                    if let Err(error) = receiving.take(&piece).await {
                        let_out(&mut part).await;
                        return Err(not_kept(error, most.0));
                    }
                }
                let kept = receiving.finish().await;
                file = Some((kept.map_err(|error| not_kept(error, most.0))?, about));
                continue;
            }
            let mut text = Vec::new();
            while let Some(piece) = part.chunk().await.map_err(|error| broken(&error))? {
                around = around.saturating_add(u64::try_from(piece.len()).unwrap_or(u64::MAX));
                if around > AROUND || text.len().saturating_add(piece.len()) > MAX_FIELD_BYTES {
                    return Err(invalid("a field of the form is too long").at(&name));
                }
                text.extend_from_slice(&piece);
            }
            put(&mut fields.values, name, text_of(&text)?)?;
        }
        let missing = || invalid("`file` is required: send the recording as a part with this name");
        let (upload, (name, content_type)) = file.ok_or_else(|| missing().at(FILE))?;
        Ok(Came {
            fields,
            upload,
            name,
            content_type: content_type.unwrap_or_else(|| "application/octet-stream".to_owned()),
            hash: hash.map(|hash| format!("{:x?}", hash.finalize().as_slice())),
        })
    }

    /// Whether the head of an upload promises one that we take.
    pub(crate) fn check_upload(&self, promised: u64) -> Result<(), ApiError> {
        let most = self.inner.settings.studio.max_upload_bytes;
        if promised > most.saturating_add(AROUND) {
            return Err(not_kept(UploadError::TooLarge, most));
        }
        Ok(())
    }
}

/// Reads on what is refused, as far as an honest form goes: who is still sending hears no answer from a
/// connection that is closed under it.
async fn let_out(part: &mut multer::Field<'_>) {
    let mut left = AROUND;
    while left > 0 {
        let Ok(Some(piece)) = part.chunk().await else {
            return;
        };
        left = left.saturating_sub(u64::try_from(piece.len()).unwrap_or(u64::MAX));
    }
}

/// A body whose pieces come in time.
fn paced(
    body: Incoming,
    idle: Duration,
    ends: Option<Instant>,
) -> impl futures_util::Stream<Item = Result<Bytes, Slow>> + Send + 'static {
    futures_util::stream::unfold(Some(body), move |body| async move {
        let mut body = body?;
        loop {
            let until = Instant::now().checked_add(idle);
            let until = until.into_iter().chain(ends).min();
            let next = body.frame();
            let next = match until {
                Some(until) => tokio::time::timeout_at(until, next).await,
                None => Ok(next.await),
            };
            return match next {
                Err(_) => Some((Err(Slow::Late), None)),
                Ok(None) => None,
                Ok(Some(Err(_))) => Some((Err(Slow::Broken), None)),
                Ok(Some(Ok(frame))) => match frame.into_data() {
                    Ok(piece) => Some((Ok(piece), Some(body))),
                    Err(_) => continue,
                },
            };
        }
    })
}

/// Why a body did not come.
#[derive(Debug, thiserror::Error)]
enum Slow {
    #[error("the upload did not come in time")]
    Late,
    #[error("the upload broke off")]
    Broken,
}

fn broken(error: &multer::Error) -> ApiError {
    if let multer::Error::StreamReadFailed(inner) = error
        && let Some(Slow::Late) = inner.downcast_ref()
    {
        return ApiError::new(ErrorCode::SlowBody, "the upload did not come in time");
    }
    wrong(error)
}

fn not_kept(error: UploadError, most: u64) -> ApiError {
    match error {
        UploadError::TooLarge => {
            let text = format!("a file may have {most} bytes; this one has more");
            ApiError::new(ErrorCode::TooLarge, text).at(FILE)
        }
        UploadError::NoRoom => {
            let text = "there is no room for another upload now; try again in a minute; \
                        nothing was charged";
            ApiError::new(ErrorCode::Overloaded, text)
        }
        UploadError::Io(error) => {
            tracing::error!(%error, "an upload could not be kept");
            ApiError::new(
                ErrorCode::Unavailable,
                "the file cannot be kept right now; nothing was charged",
            )
        }
    }
}

fn unheard(error: &Unheard) -> ApiError {
    let code = match error {
        Unheard::NotAudio | Unheard::Broken | Unheard::NoAudioTrack | Unheard::TooComplex => {
            "audio_unreadable"
        }
        Unheard::Io => {
            tracing::error!("an upload could not be read again");
            return ApiError::unavailable();
        }
    };
    let text = format!(
        "{error}, and its price is its length; send wav, mp3, flac, ogg, m4a, mp4 or webm; \
         nothing was charged"
    );
    ApiError::new(ErrorCode::Rule(code.to_owned()), text).at(FILE)
}
