//! `POST /v1/audio/transcriptions` and `/translations`: a form on its way to the disk, read and measured.
//! Nothing of a recording is held in memory, and no money has moved yet.

use std::borrow::Cow;
use std::time::Duration;

use bytes::Bytes;
use http::Request;
use http_body_util::BodyExt as _;
use hyper::body::{Body as _, Incoming};
use multer::Multipart;
use serde_json::{Map, Value, json};
use sha2::{Digest as _, Sha256};
use tokio::time::Instant;
use trunkline_catalog::{Attributes, Sale};
use trunkline_generation::Fields;
use trunkline_generation::transcription::{
    TranscriptionEndpoint, TranscriptionRequest, Upload as Recording, plan,
};
use trunkline_probe::{MeasureError, Measurement};
use trunkline_types::{AccountId, Bucket, EndpointType, Usage};

use super::images::put;
use super::transcribe::TranscriptionExecution;
use super::{TRANSCRIPTIONS, TRANSLATIONS};
use crate::body;
use crate::caller::Caller;
use crate::error::{ApiError, ErrorCode, refused};
use crate::form::{MAX_FIELD_BYTES, MAX_PARTS, field_text, invalid, too_many_parts, unreadable};
use crate::idempotency::{Fingerprint, has_key};
use crate::operation::{Operation, Received};
use crate::operations::exact_price::{Planned, Priced, check_endpoint};
use crate::priced_call::Pricing;
use crate::request_context::RequestContext;
use crate::services::Services;
use crate::uploads::{Receiving, Upload, UploadError, UploadLimits};

/// The part that holds the recording.
const FILE: &str = "file";
/// Bytes of a form around its file: fields and the heads of parts.
const AROUND: u64 = 4_000_000;

/// A form whose file lies on the disk, measured.
pub(crate) struct UploadedForm {
    fields: Fields,
    upload: Upload,
    name: String,
    content_type: String,
    /// What the file hashes to, where a duplicate may be looked for.
    hash: Option<String>,
    measurement: Measurement,
}

/// A recording to be transcribed or translated.
pub(crate) struct Transcription {
    pub(super) ask: TranscriptionRequest,
    /// None in a quote.
    file: Option<UploadedFile>,
    /// As the caller sent them, with the length of the file. A quote was for these, whatever the bytes
    /// of the file are.
    fields: Map<String, Value>,
}

pub(super) struct UploadedFile {
    pub(super) upload: Upload,
    pub(super) name: String,
    pub(super) content_type: String,
}

/// Its name in policies, quotes and usage rows.
pub(super) const fn name_of(endpoint: TranscriptionEndpoint) -> &'static str {
    match endpoint {
        TranscriptionEndpoint::Transcriptions => TRANSCRIPTIONS,
        TranscriptionEndpoint::Translations => TRANSLATIONS,
    }
}

impl Transcription {
    /// One that is only quoted.
    pub(super) const fn quoted(ask: TranscriptionRequest, fields: Map<String, Value>) -> Self {
        Self {
            ask,
            file: None,
            fields,
        }
    }
}

impl Operation for Transcription {
    type Route = TranscriptionEndpoint;
    type Body = UploadedForm;
    type Priced = TranscriptionExecution;

    fn endpoint(route: &TranscriptionEndpoint) -> &'static str {
        name_of(*route)
    }

    fn name(&self) -> &'static str {
        name_of(self.ask.endpoint)
    }

    async fn receive(
        services: &Services,
        caller: &Caller,
        _route: &TranscriptionEndpoint,
        request: Request<Incoming>,
    ) -> Result<Received<UploadedForm>, ApiError> {
        let Some(boundary) = body::form_boundary(request.headers()) else {
            let text = "send the recording as `multipart/form-data`, in a part named `file`";
            return Err(ApiError::new(ErrorCode::UnsupportedMedia, text));
        };
        check_upload(services, request.body().size_hint().lower())?;
        // Of an upload nothing is in memory but a few pieces.
        let permit = services.edge.acquire(caller.account.id, 0)?;
        let (head, incoming) = request.into_parts();
        let hashes = has_key(&head.headers);
        let body = receive_form(services, caller.account.id, &boundary, incoming, hashes).await?;
        Ok(Received {
            headers: head.headers,
            body,
            permit,
        })
    }

    fn body_bytes(body: &UploadedForm) -> usize {
        usize::try_from(body.upload.bytes()).unwrap_or(usize::MAX)
    }

    fn fingerprint<'a>(
        context: &'a RequestContext,
        _route: &TranscriptionEndpoint,
        body: &'a UploadedForm,
    ) -> Fingerprint<'a> {
        let known_by = json!([body.fields.values, body.hash]).to_string();
        Fingerprint {
            path: context.path(),
            class: "form",
            body: Cow::Owned(known_by.into_bytes()),
            task: false,
        }
    }

    fn parse(route: TranscriptionEndpoint, body: UploadedForm) -> Result<Self, ApiError> {
        let recording = Recording {
            name: body.name.clone(),
            content_type: body.content_type.clone(),
            bytes: body.upload.bytes(),
            measurement: body.measurement,
        };
        let ask = TranscriptionRequest::read(route, &body.fields, recording).map_err(refused)?;
        let mut fields = body.fields.values;
        fields.insert(FILE.to_owned(), json!({ "seconds": ask.seconds() }));
        Ok(Self {
            ask,
            file: Some(UploadedFile {
                upload: body.upload,
                name: body.name,
                content_type: body.content_type,
            }),
            fields,
        })
    }

    fn model(&self) -> &str {
        &self.ask.model
    }

    fn set_model(&mut self, model: String) {
        self.ask.model = model;
    }

    fn quoted_body(&self) -> Cow<'_, [u8]> {
        Cow::Owned(Value::Object(self.fields.clone()).to_string().into_bytes())
    }

    fn check_endpoint(&self, sale: &Sale) -> Result<(), ApiError> {
        check_endpoint(sale, &self.ask.model, EndpointType::AudioTranscription)
    }

    fn field(&self, name: &str) -> Option<Value> {
        self.fields.get(name).cloned()
    }

    async fn price(
        self,
        _services: &Services,
        pricing: Pricing<'_>,
    ) -> Result<TranscriptionExecution, ApiError> {
        let endpoint = EndpointType::AudioTranscription;
        let sale = &pricing.offer.sale;
        let planned = plan(self.ask, sale.model.entry()).map_err(refused)?;
        let terms = Planned {
            name: name_of(planned.request.endpoint),
            endpoint,
            model: planned.request.model.clone(),
            usage: Usage::unknown().with(Bucket::AudioSeconds, planned.request.seconds()),
            attributes: Attributes::none(),
            report: planned.report,
        };
        let priced = Priced::new(pricing, terms)?;
        Ok(TranscriptionExecution::new(
            priced,
            planned.request,
            self.file,
        ))
    }
}

/// Streams a form: its file to the disk, its fields into memory.
async fn receive_form(
    services: &Services,
    account: AccountId,
    boundary: &str,
    body: Incoming,
    hashes: bool,
) -> Result<UploadedForm, ApiError> {
    let settings = &services.settings.generation;
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
            return Err(too_many_parts());
        }
        if name == FILE && (file.is_some() || fields.values.contains_key(FILE)) {
            return Err(invalid("the form contains a field twice").at(FILE));
        }
        if name == FILE {
            let about = (
                part.file_name().unwrap_or("audio").to_owned(),
                part.content_type().map(ToString::to_string),
            );
            let disk = &services.upload_disk;
            let most = upload_limits(services);
            let stored = Receiving::begin(&settings.upload_folder, disk, account, most).await;
            let mut receiving = stored.map_err(|error| upload_error(error, most.file))?;
            while let Some(piece) = part.chunk().await.map_err(|error| broken(&error))? {
                hash.iter_mut().for_each(|hash| hash.update(&piece));
                let received = receiving.take(&piece).await;
                received.map_err(|error| upload_error(error, most.file))?;
            }
            let stored = receiving.finish().await;
            let stored = stored.map_err(|error| upload_error(error, most.file))?;
            file = Some((stored, about));
            continue;
        }
        let mut text = Vec::new();
        while let Some(piece) = part.chunk().await.map_err(|error| broken(&error))? {
            around = around.saturating_add(u64::try_from(piece.len()).unwrap_or(u64::MAX));
            if around > AROUND || text.len().saturating_add(piece.len()) > MAX_FIELD_BYTES {
                return Err(invalid("a form field is too long").at(&name));
            }
            text.extend_from_slice(&piece);
        }
        let text = field_text(&name, &text)?;
        put(&mut fields.values, name, text)?;
    }
    let missing = || invalid("`file` is required: send the recording in a part named `file`");
    let (upload, (name, content_type)) = file.ok_or_else(|| missing().at(FILE))?;
    let measurement = upload.measure().await;
    let measurement = measurement.map_err(|error| measure_error(&error))?;
    Ok(UploadedForm {
        fields,
        upload,
        name,
        content_type: content_type.unwrap_or_else(|| "application/octet-stream".to_owned()),
        measurement,
        hash: hash.map(|hash| format!("{:x?}", hash.finalize().as_slice())),
    })
}

/// One account may have its share of the disk, and always one file.
fn upload_limits(services: &Services) -> UploadLimits {
    let settings = &services.settings.generation;
    let (file, all) = (settings.max_upload_bytes, settings.max_uploads_on_disk);
    let share = u64::try_from(services.settings.accept.account_share.max(1)).unwrap_or(1);
    UploadLimits {
        file,
        account: all.checked_div(share).unwrap_or(all).max(file),
        all,
    }
}

/// Whether the head of an upload promises one that we take.
fn check_upload(services: &Services, promised: u64) -> Result<(), ApiError> {
    let most = services.settings.generation.max_upload_bytes;
    if promised > most.saturating_add(AROUND) {
        return Err(upload_error(UploadError::TooLarge, most));
    }
    Ok(())
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
    #[error("the upload did not arrive in time")]
    Late,
    #[error("the upload broke off")]
    Broken,
}

fn broken(error: &multer::Error) -> ApiError {
    if let multer::Error::StreamReadFailed(inner) = error
        && let Some(Slow::Late) = inner.downcast_ref()
    {
        return ApiError::new(ErrorCode::SlowBody, "the upload did not arrive in time");
    }
    unreadable(error)
}

fn upload_error(error: UploadError, most: u64) -> ApiError {
    match error {
        UploadError::TooLarge => {
            let text = format!("a file may have {most} bytes at most");
            ApiError::new(ErrorCode::TooLarge, text).at(FILE)
        }
        UploadError::NoCapacity => {
            let text = "the limit of uploads at one time is reached; try again in a minute; \
                        nothing was charged";
            ApiError::new(ErrorCode::Overloaded, text)
        }
        UploadError::Io(error) => {
            tracing::error!(%error, "upload: storing the file failed");
            ApiError::new(
                ErrorCode::Unavailable,
                "the file cannot be stored right now; nothing was charged",
            )
        }
    }
}

fn measure_error(error: &MeasureError) -> ApiError {
    let code = match error {
        MeasureError::NotAudio
        | MeasureError::Broken
        | MeasureError::NoAudioTrack
        | MeasureError::TooComplex => "audio_unreadable",
        MeasureError::Io => {
            tracing::error!("upload: reading the stored file failed");
            return ApiError::unavailable();
        }
    };
    let text = format!(
        "{error}, and its price is its length; send wav, mp3, flac, ogg, m4a, mp4 or webm; \
         nothing was charged"
    );
    ApiError::new(ErrorCode::Rule(code.to_owned()), text).at(FILE)
}
