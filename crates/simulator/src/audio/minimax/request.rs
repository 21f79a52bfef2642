//! What is to be spoken, with the vendor's defaults and bounds.

use serde_json::Value;

use crate::directives::Directives;
use crate::encoders::{Format, Shape, Sound};
use crate::models;
use crate::tokens::count;
use crate::tone::{Speed, Spoken};

pub(super) struct SpeechRequest {
    pub(super) model: String,
    pub(super) text: String,
    pub(super) sound: Sound,
    pub(super) stream: bool,
    /// The last event does not repeat the whole.
    pub(super) excludes_all: bool,
    /// An address instead of hexadecimal digits.
    pub(super) is_url: bool,
    pub(super) directives: Directives,
}

/// Why something is refused: the code and the text.
type Refused = (u32, String);

pub(super) const VOICES: [(&str, &str); 8] = [
    ("English_expressive_narrator", "Expressive Narrator"),
    ("English_Graceful_Lady", "Graceful Lady"),
    ("English_radiant_girl", "Radiant Girl"),
    ("English_Trustworthy_Man", "Trustworthy Man"),
    ("Chinese (Mandarin)_Lyrical_Voice", "Lyrical Voice"),
    ("Chinese (Mandarin)_News_Anchor", "News Anchor"),
    ("male-qn-qingse", "Qingse"),
    ("female-shaonv", "Shaonv"),
];
const MODELS: [&str; 6] = [
    "speech-2.8-hd",
    "speech-2.8-turbo",
    "speech-2.6-hd",
    "speech-2.6-turbo",
    "speech-02-hd",
    "speech-02-turbo",
];
const EMOTIONS: [&str; 8] = [
    "happy",
    "sad",
    "angry",
    "fearful",
    "disgusted",
    "surprised",
    "calm",
    "fluent",
];
const RATES: [u32; 6] = [8_000, 16_000, 22_050, 24_000, 32_000, 44_100];
const BITRATES: [u32; 4] = [32_000, 64_000, 128_000, 256_000];
const DEFAULT_RATE: u32 = 32_000;
const DEFAULT_BITRATE: u32 = 128_000;
/// The first length that is too much.
const TOO_MANY_CHARACTERS: usize = 10_000;
const SLOWEST: Speed = Speed::hundredths(50);
const FASTEST: Speed = Speed::hundredths(200);
const LOUDEST: Speed = Speed::hundredths(1_000);
const HIGHEST: i64 = 12;
const MAX_WEIGHTS: usize = 4;

impl SpeechRequest {
    pub(super) fn read(body: &Value) -> Result<Self, Refused> {
        let null = Value::Null;
        let part = |name: &str| body.get(name).unwrap_or(&null);
        let Some(model) = part("model").as_str() else {
            return Err(invalid("model is required"));
        };
        if !MODELS.contains(&model) && !models::is_known(model) {
            return Err(invalid(&format!("model {model} is not supported")));
        }
        let text = part("text").as_str().unwrap_or_default();
        let length = text.chars().count();
        if length == 0 {
            return Err(invalid("text is empty"));
        }
        if length >= TOO_MANY_CHARACTERS {
            return Err(invalid("text is too long"));
        }
        let stream = boolean(part("stream"), "stream")?;
        let speed = check_voice(part("voice_setting"), part("timbre_weights"))?;
        let (format, shape) = audio_setting(part("audio_setting"))?;
        if stream && format == Format::Wav {
            return Err(invalid("wav is not supported in stream mode"));
        }
        let is_url = match (
            part("output_format").is_null(),
            part("output_format").as_str(),
        ) {
            (true, _) | (false, Some("hex")) => false,
            // A stream is hexadecimal whatever is asked for.
            (false, Some("url")) => !stream,
            (false, Some(_) | None) => return Err(invalid("output_format")),
        };
        for name in ["subtitle_enable", "aigc_watermark"] {
            boolean(part(name), name)?;
        }
        let exclude = body.pointer("/stream_options/exclude_aggregated_audio");
        let excludes_all = boolean(exclude.unwrap_or(&null), "stream_options")?;
        let directives = Directives::read(text);
        let directives = directives.map_err(|error| invalid(&error.0))?;
        Ok(Self {
            model: model.to_owned(),
            text: text.to_owned(),
            sound: Sound::of(Spoken::new(text, speed), format, shape),
            stream,
            excludes_all,
            is_url,
            directives,
        })
    }

    /// Characters that are billed: one of Chinese, Japanese or Korean writing counts as two.
    pub(super) fn usage_characters(&self) -> u64 {
        crate::audio::dashscope::billed_characters(&self.text)
    }

    pub(super) fn word_count(&self) -> u64 {
        count(self.text.split_whitespace().count())
    }
}

fn check_voice(voice: &Value, weights: &Value) -> Result<Speed, Refused> {
    let field = |name: &str| voice.get(name).unwrap_or(&Value::Null);
    let weights = match (weights.is_null(), weights.as_array()) {
        (true, _) => &[],
        (false, Some(weights)) if weights.len() <= MAX_WEIGHTS => weights.as_slice(),
        (false, Some(_) | None) => return Err(invalid("timbre_weights")),
    };
    let mixed = weights
        .iter()
        .map(|one| one.get("voice_id").and_then(Value::as_str));
    let own = field("voice_id").as_str().filter(|id| !id.is_empty());
    if own.is_none() && weights.is_empty() {
        return Err(invalid("voice_setting.voice_id is required"));
    }
    let is_known = |id: &str| VOICES.iter().any(|(known, _)| *known == id);
    if !own.is_none_or(is_known) || !mixed.into_iter().all(|id| id.is_some_and(is_known)) {
        return Err((2054, "voice id not exist".to_owned()));
    }
    let speed = match Some(field("speed")).filter(|value| !value.is_null()) {
        None => Speed::ONE,
        Some(value) => Speed::read(value)
            .filter(|speed| (SLOWEST..=FASTEST).contains(speed))
            .ok_or_else(|| invalid("voice_setting.speed"))?,
    };
    let is_loud = |value: &Value| Speed::read(value).is_some_and(|loud| loud <= LOUDEST);
    if !field("vol").is_null() && !is_loud(field("vol")) {
        return Err(invalid("voice_setting.vol"));
    }
    let is_pitch = |pitch: i64| (-HIGHEST..=HIGHEST).contains(&pitch);
    if !field("pitch").is_null() && !field("pitch").as_i64().is_some_and(is_pitch) {
        return Err(invalid("voice_setting.pitch"));
    }
    let is_emotion = |word: &str| EMOTIONS.contains(&word);
    if !field("emotion").is_null() && !field("emotion").as_str().is_some_and(is_emotion) {
        return Err(invalid("voice_setting.emotion"));
    }
    Ok(speed)
}

/// The format, and rate, channels and bitrate.
fn audio_setting(setting: &Value) -> Result<(Format, Shape), Refused> {
    let field = |name: &str| setting.get(name).filter(|value| !value.is_null());
    let one_of = |name: &str, known: &[u32], default: u32| match field(name) {
        None => Ok(default),
        Some(value) => {
            let number = value.as_u64().and_then(|number| u32::try_from(number).ok());
            let number = number.filter(|number| known.contains(number));
            number.ok_or_else(|| invalid(&format!("audio_setting.{name}")))
        }
    };
    let format = match field("format") {
        None => Format::Mp3,
        Some(value) => match value.as_str().and_then(Format::read) {
            Some(format @ (Format::Mp3 | Format::Pcm | Format::Flac | Format::Wav)) => format,
            Some(Format::Opus | Format::Aac) | None => {
                return Err(invalid("audio_setting.format"));
            }
        },
    };
    let rate = one_of("sample_rate", &RATES, DEFAULT_RATE)?;
    let bitrate = one_of("bitrate", &BITRATES, DEFAULT_BITRATE)?;
    let channels = one_of("channel", &[1, 2], 1)?;
    let channels = if channels == 2 { 2 } else { 1 };
    let shape = Shape {
        rate,
        channels,
        bitrate,
    };
    Ok((format, shape))
}

fn boolean(value: &Value, name: &str) -> Result<bool, Refused> {
    match value.as_bool() {
        Some(is_set) => Ok(is_set),
        None if value.is_null() => Ok(false),
        None => Err(invalid(name)),
    }
}

fn invalid(what: &str) -> Refused {
    let what = crate::refusal::shortened(what);
    (2013, format!("invalid params, {what}"))
}
