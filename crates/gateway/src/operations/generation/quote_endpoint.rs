//! Quotes for images, speech and transcripts: the same plan and the same price as the call, and nothing
//! moves. All of them are exact: what they are billed by is known before they are made.

use bytes::Bytes;
use http::StatusCode;
use serde_json::{Map, Value, json};
use trunkline_catalog::{FieldNote, PriceClass, RequestError};
use trunkline_generation::transcription::{TranscriptionEndpoint as Listening, Upload};
use trunkline_generation::{Encoded, Fields, images, transcription};
use trunkline_probe::{Codec, Container, Length, Measurement};
use trunkline_wire::scan;

use super::images::{Images, ImagesExecution};
use super::speech::{Speech, SpeechExecution};
use super::transcription::{Transcription, name_of};
use super::{IMAGES, SPEECH, TRANSCRIPTIONS, TRANSLATIONS};
use crate::body::JsonOrForm;
use crate::channels::Channel;
use crate::error::{ApiError, refused};
use crate::form::invalid;
use crate::operation::Operation;
use crate::operations::exact_price::Priced;
use crate::quote_lock::QUOTE_SECONDS;
use crate::quote_request::{Quoting, SealedQuote, lines_of};
use crate::response::{Response, json as answer};
use crate::services::Services;

/// Nanoseconds of a second.
const SECOND_NANOS: u64 = 1_000_000_000;

/// Stands for the link that a recording will have.
const NO_LINK: &str = "https://quote.invalid/";

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum QuotedEndpoint {
    Images(images::ImageEndpoint),
    Speech,
    Transcripts(Listening),
}

impl QuotedEndpoint {
    const fn name(self) -> &'static str {
        match self {
            Self::Images(_) => IMAGES,
            Self::Speech => SPEECH,
            Self::Transcripts(route) => name_of(route),
        }
    }
}

/// The endpoint of a name or a path.
pub(crate) fn quoted_endpoint(name: &str) -> Option<QuotedEndpoint> {
    let name = name.trim_start_matches('/').trim_start_matches("v1/");
    match name {
        IMAGES | "images/generations" => {
            Some(QuotedEndpoint::Images(images::ImageEndpoint::Generations))
        }
        "images/edits" => Some(QuotedEndpoint::Images(images::ImageEndpoint::Edits)),
        SPEECH | "audio/speech" => Some(QuotedEndpoint::Speech),
        TRANSCRIPTIONS | "audio/transcriptions" => {
            Some(QuotedEndpoint::Transcripts(Listening::Transcriptions))
        }
        TRANSLATIONS | "audio/translations" => {
            Some(QuotedEndpoint::Transcripts(Listening::Translations))
        }
        _ => None,
    }
}

/// A body of JSON as fields.
pub(crate) fn fields_of(body: &[u8]) -> Result<Fields, ApiError> {
    // Duplicate keys are refused here as everywhere.
    scan(body).map_err(|error| invalid(&error.to_string()).at("body"))?;
    let values: Map<String, Value> = serde_json::from_slice(body)
        .map_err(|error| invalid(&format!("the body is not an object: {error}")).at("body"))?;
    Ok(Fields {
        values,
        is_form: false,
    })
}

pub(crate) async fn quote_generation(
    quoting: Quoting<'_>,
    endpoint: QuotedEndpoint,
    body: &str,
) -> Result<Response, ApiError> {
    let services = quoting.services;
    quoting.caller.check_endpoint(endpoint.name())?;
    let fields = fields_of(body.as_bytes())?;
    let requested_model = fields.values.get("model").cloned();
    let bytes = || Bytes::copy_from_slice(body.as_bytes());
    let mut view = match endpoint {
        QuotedEndpoint::Images(route) => {
            let images = Images::parse(route, JsonOrForm::Json(bytes()))?;
            let (mut quoted, locked) = quoting.lock(images).await?;
            let ask = &quoted.ask;
            let losses = preview_losses(services, &quoted.priced, |channel| {
                let protocol = ImagesExecution::protocol(channel)?;
                Some((protocol.encode)(ask, channel.upstream_model(&ask.model)))
            })?;
            quote_view(&mut quoted.priced, losses, &locked)?
        }
        QuotedEndpoint::Speech => {
            let speech = Speech::parse((), bytes())?;
            let (mut quoted, locked) = quoting.lock(speech).await?;
            let ask = &quoted.ask;
            let losses = preview_losses(services, &quoted.priced, |channel| {
                let protocol = SpeechExecution::protocol(channel)?;
                Some((protocol.encode)(ask, channel.upstream_model(&ask.model)))
            })?;
            quote_view(&mut quoted.priced, losses, &locked)?
        }
        QuotedEndpoint::Transcripts(route) => {
            let (form, known_by, upload) = as_form(fields)?;
            let ask =
                transcription::TranscriptionRequest::read(route, &form, upload).map_err(refused)?;
            let operation = Transcription::quoted(ask, known_by);
            let (mut quoted, locked) = quoting.lock(operation).await?;
            let losses = preview_losses(services, &quoted.priced, |channel| {
                let protocol = quoted.protocol(channel)?;
                let upstream = channel.upstream_model(&quoted.ask.model);
                Some((protocol.encode)(&quoted.ask, upstream, Some(NO_LINK)))
            })?;
            quote_view(&mut quoted.priced, losses, &locked)?
        }
    };
    if let (Some(model), Some(name)) = (view.get_mut("model"), requested_model) {
        *model = name;
    }
    Ok(answer(StatusCode::OK, &view))
}

/// What would be lost on the way to the channel that would be asked first.
fn preview_losses(
    services: &Services,
    priced: &Priced,
    write: impl Fn(&Channel) -> Option<Result<Encoded, RequestError>>,
) -> Result<Vec<FieldNote>, ApiError> {
    let call = &priced.call;
    let registry = services.channels.load_full();
    let order = registry.order(priced.query(services), call.route_rules(), 0);
    let first = order.iter().find_map(|channel| write(channel));
    let notes = match first {
        Some(written) => written.map_err(refused)?.notes,
        None => return Ok(Vec::new()),
    };
    match call.strict_violation(&notes) {
        Some(error) => Err(error),
        None => Ok(notes),
    }
}

/// What a form would hold, and what its quote is known by. There is no file in a quote: `file` tells how
/// long it is, and may tell its format and its size.
fn as_form(json: Fields) -> Result<(Fields, Map<String, Value>, Upload), ApiError> {
    let mut values = json.values;
    let about = values.remove("file").unwrap_or(Value::Null);
    let seconds = about.get("seconds").and_then(Value::as_u64);
    let missing = "give the length in seconds, rounded up: \"file\": {\"seconds\": 12}";
    let seconds = seconds.ok_or_else(|| invalid(missing).at("file.seconds"))?;
    for value in values.values_mut() {
        if let Value::Number(_) | Value::Bool(_) = value {
            *value = Value::String(value.to_string());
        }
    }
    let mut known_by = values.clone();
    known_by.insert("file".to_owned(), json!({ "seconds": seconds.max(1) }));
    let word = about.get("format").and_then(Value::as_str).unwrap_or("wav");
    let (container, codec) = match word {
        "mp3" | "mpeg" | "mpga" => (Container::Mp3, Codec::Mp3),
        "flac" => (Container::Flac, Codec::Flac),
        "ogg" | "oga" | "opus" => (Container::Ogg, Codec::Opus),
        "m4a" | "mp4" | "mov" => (Container::Mp4, Codec::Aac),
        "webm" => (Container::WebM, Codec::Opus),
        "aac" => (Container::Adts, Codec::Aac),
        "wav" => {
            let plain = Codec::Pcm {
                bits: 16,
                is_float: false,
            };
            (Container::Wav, plain)
        }
        _ => return Err(invalid("`file.format` is not a known audio format").at("file.format")),
    };
    let upload = Upload {
        name: format!("audio.{word}"),
        content_type: "application/octet-stream".to_owned(),
        bytes: about.get("bytes").and_then(Value::as_u64).unwrap_or(0),
        measurement: Measurement {
            container,
            codec,
            length: Length::from_nanos(seconds.saturating_mul(SECOND_NANOS)),
            undeclared: Length::ZERO,
        },
    };
    let fields = Fields {
        values,
        is_form: true,
    };
    Ok((fields, known_by, upload))
}

fn quote_view(
    priced: &mut Priced,
    losses: Vec<FieldNote>,
    locked: &SealedQuote,
) -> Result<Value, ApiError> {
    losses
        .into_iter()
        .for_each(|note| priced.call.report.add(note));
    let call = &priced.call;
    let quote = call.quote(&priced.price.units);
    let quote = quote.map_err(|_| ApiError::unavailable())?;
    let defaults: Map<String, Value> = call
        .report
        .defaults()
        .map(|note| (note.field.clone(), json!(note.value)))
        .collect();
    let amount = priced.price.amount.to_string();
    let unit = call.sale.model.list().billing_unit();
    let counted = priced.price.units.iter().map(|(_, quantity)| quantity);
    Ok(json!({
        "id": locked.id,
        "object": "quote",
        "expires_at": locked.ends,
        "valid_seconds": QUOTE_SECONDS,
        "endpoint": call.endpoint,
        "model": call.model,
        "group": call.sale.group,
        "prices": match call.class {
            PriceClass::Standard => "standard",
            PriceClass::Paid => "paid",
        },
        "pricing_version": call.sale.version.to_string(),
        "billing_unit": unit,
        "exact": true,
        "price_usd": amount,
        "minimum_usd": amount,
        "expected_usd": amount,
        "maximum_usd": amount,
        "expected_basis": "exact",
        "reserved_usd": amount,
        "tier": quote.tier,
        "tier_reason": quote.why.to_string(),
        "rate": quote.rate.to_string(),
        "units_billed": counted.fold(0, u64::saturating_add),
        "lines": lines_of(&quote, unit, true),
        "defaults": defaults,
        "fields": call.report,
        "warnings": call.warnings(),
    }))
}
