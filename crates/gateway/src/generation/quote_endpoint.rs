//! Quotes for images, speech and transcripts: the same plan and the same price as the call, and nothing
//! moves. All of them are exact: what they are billed by is known before they are made.

use http::{HeaderMap, StatusCode};
use serde_json::{Map, Value, json};
use trunkline_audio::{Codec, Container, Heard, Length};
use trunkline_catalog::{Note, PriceClass, Refusal, Sale};
use trunkline_studio::transcription::{Door as Listening, Upload};
use trunkline_studio::{Fields, Written, images, speech, transcription};
use trunkline_terms::{Moment, RequestId};
use trunkline_wire::scan;

use super::image_form::invalid;
use super::quote::Priced;
use super::transcription_form::word_of;
use super::{IMAGES, SPEECH, TRANSCRIPTIONS, TRANSLATIONS};
use crate::caller::Caller;
use crate::channels::Channel;
use crate::error::{ApiError, refused};
use crate::quote_endpoint::lines_of;
use crate::quote_lock::{LockedQuote, QUOTE_SECONDS, body_hash};
use crate::response::{Response, json as answer};
use crate::services::Services;

/// Nanoseconds of a second.
const SECOND_NANOS: u64 = 1_000_000_000;

/// Stands for the link that a recording will have.
const NO_LINK: &str = "https://quote.invalid/";

/// A door that is quoted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum QuotedDoor {
    Images(images::Door),
    Speech,
    Transcripts(Listening),
}

/// The door of a word or a path.
pub(crate) fn quoted_door(name: &str) -> Option<QuotedDoor> {
    let name = name.trim_start_matches('/').trim_start_matches("v1/");
    match name {
        IMAGES | "images/generations" => Some(QuotedDoor::Images(images::Door::Generations)),
        "images/edits" => Some(QuotedDoor::Images(images::Door::Edits)),
        SPEECH | "audio/speech" => Some(QuotedDoor::Speech),
        TRANSCRIPTIONS | "audio/transcriptions" => {
            Some(QuotedDoor::Transcripts(Listening::Transcriptions))
        }
        TRANSLATIONS | "audio/translations" => {
            Some(QuotedDoor::Transcripts(Listening::Translations))
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

impl Services {
    /// Quotes a call.
    pub(crate) fn quote_studio(
        &self,
        caller: Caller,
        headers: &HeaderMap,
        (door, body): (QuotedDoor, &str),
    ) -> Result<Response, ApiError> {
        let fields = fields_of(body.as_bytes())?;
        let asked_model = fields.values.get("model").cloned();
        let revision = self.inner.shelf.get().revision;
        let asked = (self.request_id(), caller);
        let mut locked = body.to_owned();
        let (mut priced, notes) = match door {
            QuotedDoor::Images(door) => self.quoted_images(asked, headers, (door, &fields))?,
            QuotedDoor::Speech => self.quoted_speech(asked, headers, &fields)?,
            QuotedDoor::Transcripts(door) => {
                let (form, known_by, upload) = as_form(fields)?;
                locked = Value::Object(known_by).to_string();
                self.quoted_transcript(asked, headers, (door, &form, upload))?
            }
        };
        notes.into_iter().for_each(|note| priced.report.say(note));
        let hash = body_hash(locked.as_bytes()).ok_or_else(|| invalid("not JSON").at("body"))?;
        let lock = LockedQuote {
            revision,
            at: priced.at().micros(),
            group: priced.sale.group.clone(),
            model: priced.model.clone(),
            body: hash,
        };
        let id = self.seal_quote(priced.caller.account.id, priced.word, &lock)?;
        let mut shown = shown(&priced, (&id, lock.ends().seconds()))?;
        if let (Some(model), Some(name)) = (shown.get_mut("model"), asked_model) {
            *model = name;
        }
        Ok(answer(StatusCode::OK, &shown))
    }

    fn quoted_images(
        &self,
        (id, caller): (RequestId, Caller),
        headers: &HeaderMap,
        (door, fields): (images::Door, &Fields),
    ) -> Result<(Priced, Vec<Note>), ApiError> {
        let mut ask = images::Ask::read(door, fields, Vec::new()).map_err(refused)?;
        self.rename(&caller, &mut ask.model);
        let offered = self.offered_now(&caller, IMAGES, &ask.model)?;
        let wanted = Self::want_images((id, caller), headers, ask, offered)?;
        let notes = self.foreseen(&wanted.priced, |channel| {
            let mut formats = channel.provider.formats.iter();
            let protocol = formats.find_map(|one| images::protocol_of(one.word()))?;
            let upstream = channel.upstream_model(&wanted.ask.model);
            Some((protocol.write)(&wanted.ask, upstream))
        })?;
        Ok((wanted.priced, notes))
    }

    fn quoted_speech(
        &self,
        (id, caller): (RequestId, Caller),
        headers: &HeaderMap,
        fields: &Fields,
    ) -> Result<(Priced, Vec<Note>), ApiError> {
        let mut ask = speech::Ask::read(fields).map_err(refused)?;
        self.rename(&caller, &mut ask.model);
        let offered = self.offered_now(&caller, SPEECH, &ask.model)?;
        let wanted = Self::want_speech((id, caller), headers, ask, offered)?;
        let notes = self.foreseen(&wanted.priced, |channel| {
            let mut formats = channel.provider.formats.iter();
            let protocol = formats.find_map(|one| speech::protocol_of(one.word()))?;
            let upstream = channel.upstream_model(&wanted.ask.model);
            Some((protocol.write)(&wanted.ask, upstream))
        })?;
        Ok((wanted.priced, notes))
    }

    fn quoted_transcript(
        &self,
        (id, caller): (RequestId, Caller),
        headers: &HeaderMap,
        (door, form, upload): (Listening, &Fields, Upload),
    ) -> Result<(Priced, Vec<Note>), ApiError> {
        let mut ask = transcription::Ask::read(door, form, upload).map_err(refused)?;
        self.rename(&caller, &mut ask.model);
        let offered = self.offered_now(&caller, word_of(door), &ask.model)?;
        let (ask, priced) = Self::want_transcript((id, caller), headers, ask, offered)?;
        let way = priced.sale.model.entry().specs.recognition.as_deref();
        let way = way.unwrap_or_default();
        let notes = self.foreseen(&priced, |channel| {
            let mut formats = channel.provider.formats.iter();
            let protocol = formats.find_map(|one| transcription::protocol_of(one.word(), way))?;
            let upstream = channel.upstream_model(&ask.model);
            Some((protocol.begin)(&ask, upstream, Some(NO_LINK)))
        })?;
        Ok((priced, notes))
    }

    /// The price of a model for a caller now.
    fn offered_now(
        &self,
        caller: &Caller,
        word: &str,
        model: &str,
    ) -> Result<(Sale, Moment), ApiError> {
        caller.check_endpoint(word)?;
        let book = &self.inner.shelf.get().book;
        let sale = caller.sale(book, model)?;
        self.check_regions(caller, model)?;
        Ok((sale, self.inner.now()))
    }

    /// What would be lost on the way to the channel that would be asked first.
    fn foreseen(
        &self,
        priced: &Priced,
        write: impl Fn(&Channel) -> Option<Result<Written, Refusal>>,
    ) -> Result<Vec<Note>, ApiError> {
        let (now, group) = (self.inner.now(), &priced.sale.group);
        let mut order = self
            .inner
            .channels
            .get()
            .order(&priced.model, group, now, 0);
        order.retain(|channel| {
            priced
                .caller
                .may_be_served_in(channel.row.region.as_deref())
        });
        let first = order.iter().find_map(|channel| write(channel));
        let notes = match first {
            Some(written) => written.map_err(refused)?.notes,
            None => return Ok(Vec::new()),
        };
        match priced.unsaid(&notes) {
            Some(fault) => Err(fault),
            None => Ok(notes),
        }
    }
}

/// What a form would hold, and what its quote is known by. There is no file in a quote: `file` tells how
/// long it is, and may tell its format and its size.
fn as_form(json: Fields) -> Result<(Fields, Map<String, Value>, Upload), ApiError> {
    let mut values = json.values;
    let about = values.remove("file").unwrap_or(Value::Null);
    let seconds = about.get("seconds").and_then(Value::as_u64);
    let missing = "tell the length: \"file\": {\"seconds\": 12}, rounded up";
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
        _ => return Err(invalid("`file.format` is no format of audio").at("file.format")),
    };
    let upload = Upload {
        name: format!("audio.{word}"),
        content_type: "application/octet-stream".to_owned(),
        bytes: about.get("bytes").and_then(Value::as_u64).unwrap_or(0),
        heard: Heard {
            container,
            codec,
            length: Length::from_nanos(seconds.saturating_mul(SECOND_NANOS)),
        },
    };
    let fields = Fields {
        values,
        is_form: true,
    };
    Ok((fields, known_by, upload))
}

fn shown(priced: &Priced, (id, ends): (&str, i64)) -> Result<Value, ApiError> {
    let quote = priced.quote(&priced.units)?;
    let defaults: Map<String, Value> = priced
        .report
        .defaults()
        .map(|note| (note.field.clone(), json!(note.value)))
        .collect();
    let amount = priced.amount.to_string();
    let unit = priced.sale.model.list().billing_unit();
    let counted = priced.units.iter().map(|(_, quantity)| quantity);
    Ok(json!({
        "id": id,
        "object": "quote",
        "expires_at": ends,
        "valid_seconds": QUOTE_SECONDS,
        "endpoint": priced.word,
        "model": priced.model,
        "group": priced.sale.group,
        "prices": match priced.class() {
            PriceClass::Standard => "standard",
            PriceClass::Paid => "paid",
        },
        "pricing_version": priced.sale.version.to_string(),
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
        "fields": priced.report,
        "warnings": priced.warnings(),
    }))
}
