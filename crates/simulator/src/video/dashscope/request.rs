//! What the vendor makes of a body: what it refuses at once, what it finds out too late, what it
//! ignores, and the defaults it fills in. They are not those of our gateway: a body that leaves the
//! resolution out becomes 1080P here, and a length that is left out five seconds.

use serde_json::{Value, json};

use super::models::{Gathered, Model};
use crate::dashscope_error::DashScopeError;
use crate::shared_state::SharedState;
use crate::video::media;
use crate::video::mp4::Wrapping;

/// A video as the vendor understood it.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct VideoRequest {
    /// Seconds that are made.
    pub(super) seconds: u64,
    /// Seconds of reference clips.
    input_seconds: u64,
    resolution: String,
    ratio: String,
    /// Found out after it was taken.
    pub(super) fails: Option<(String, String)>,
}

const RATIOS: [&str; 5] = ["16:9", "9:16", "1:1", "4:3", "3:4"];
const DEFAULT_SECONDS: u64 = 5;
/// A clip whose address does not tell its length.
const UNTOLD_SECONDS: u64 = 5;
const MAX_SEED: u64 = 2_147_483_647;
const SOURCE_SECONDS: std::ops::RangeInclusive<u64> = 2..=10;

pub(super) fn synchronous() -> DashScopeError {
    let text = "current user api does not support synchronous calls.";
    DashScopeError::new(403, "AccessDenied", text)
}

pub(super) fn not_waiting() -> DashScopeError {
    let text = "Failed to cancel the task, please confirm if the task is in PENDING status.";
    DashScopeError::new(400, "UnsupportedOperation", text)
}

/// A refusal that the prompt asked for, with the status that belongs to its code.
pub(super) fn requested(code: &str) -> DashScopeError {
    let family = code.split('.').next().unwrap_or(code);
    let status = match family {
        "InvalidApiKey" => 401,
        "AccessDenied" | "Model" | "AllocationQuota" => 403,
        "ModelNotFound" | "WorkSpaceNotFound" => 404,
        "Throttling" => 429,
        "InternalError" | "SystemError" => 500,
        "ServiceUnavailable" => 503,
        _ => 400,
    };
    DashScopeError::new(status, code, &format!("the prompt asked for {code}"))
}

// === impl VideoRequest ===

impl VideoRequest {
    pub(super) fn read(body: &Value, state: &SharedState) -> Result<Self, DashScopeError> {
        let name = body
            .get("model")
            .and_then(Value::as_str)
            .unwrap_or_default();
        let model = Model::named(name).ok_or_else(DashScopeError::model)?;
        let null = Value::Null;
        let input = body.get("input").unwrap_or(&null);
        let parameters = body.get("parameters").unwrap_or(&null);
        let prompt = input.get("prompt").and_then(Value::as_str);
        if model.needs_prompt() && prompt.is_none_or(str::is_empty) {
            return Err(DashScopeError::invalid("prompt must be provided"));
        }
        let of_wan = ["/input/negative_prompt", "/parameters/prompt_extend"];
        if model.is_horse() && of_wan.iter().any(|place| body.pointer(place).is_some()) {
            return Err(DashScopeError::invalid("unknown parameter for this model"));
        }
        let media = gather(input)?;
        if !model.takes(&media) {
            return Err(DashScopeError::invalid(
                "input.media is not valid for this model",
            ));
        }
        check_parameters(parameters)?;
        let duration = whole(parameters, "duration")?;
        let default = if model == Model::WanEdit {
            0
        } else {
            DEFAULT_SECONDS
        };
        let duration = duration.unwrap_or(default);
        if !model.lengths().contains(&duration) || (model == Model::WanEdit && duration == 1) {
            return Err(DashScopeError::invalid("duration is out of range"));
        }
        let length = |url: &&str| media::named_seconds(state, url).unwrap_or(UNTOLD_SECONDS);
        let source = media.sources.first().map(length);
        let seconds = match source {
            Some(source) if duration == 0 => source,
            Some(source) => duration.min(source),
            None => duration,
        };
        let word = |name: &str, default: &str| {
            let word = parameters.get(name).and_then(Value::as_str);
            word.unwrap_or(default).to_owned()
        };
        // `size` belongs to older models: it is not looked at.
        let resolution = word("resolution", "1080P");
        let fails = late(model, &resolution, &media, source);
        Ok(Self {
            seconds,
            input_seconds: media.clips.iter().map(length).sum(),
            resolution,
            ratio: word("ratio", "16:9"),
            fails,
        })
    }

    pub(super) fn usage(&self) -> Value {
        let digits = self.resolution.trim_end_matches('P');
        json!({
            "video_count": 1,
            "duration": self.seconds.saturating_add(self.input_seconds),
            "input_video_duration": self.input_seconds,
            "output_video_duration": self.seconds,
            "SR": digits.parse::<u64>().unwrap_or_default(),
            "ratio": self.ratio,
        })
    }
}

/// What is found out only when the work begins.
fn late(
    model: Model,
    resolution: &str,
    media: &Gathered<'_>,
    source: Option<u64>,
) -> Option<(String, String)> {
    let invalid = |text: &str| Some(("InvalidParameter".to_owned(), text.to_owned()));
    if resolution == "480P" && !model.is_horse() {
        return invalid("The size is not match the allowed size of this model");
    }
    if source.is_some_and(|source| !SOURCE_SECONDS.contains(&source)) {
        return invalid("The duration of the input video must be between 2 and 10 seconds");
    }
    let mut clips = media.sources.iter();
    if clips.any(|url| media::wrapping(url) == Wrapping::Webm) {
        return invalid("The format of the input video must be mp4 or mov");
    }
    None
}

fn gather(input: &Value) -> Result<Gathered<'_>, DashScopeError> {
    let mut gathered = Gathered::default();
    let list = match input.get("media") {
        None => return Ok(gathered),
        Some(Value::Array(list)) => list,
        Some(_) => return Err(DashScopeError::invalid("input.media must be a list")),
    };
    for media in list {
        let word = |name: &str| media.get(name).and_then(Value::as_str).unwrap_or_default();
        let url = word("url");
        if url.is_empty() {
            return Err(DashScopeError::invalid("input.media.url must be provided"));
        }
        if !["http://", "https://", "data:", "oss://"]
            .iter()
            .any(|scheme| url.starts_with(scheme))
        {
            return Err(DashScopeError::new(
                400,
                "InvalidURL",
                "The url is not valid.",
            ));
        }
        match word("type") {
            "first_frame" => gathered.frames = gathered.frames.saturating_add(1),
            "reference_image" => gathered.pictures = gathered.pictures.saturating_add(1),
            "reference_video" => gathered.clips.push(url),
            "video" => gathered.sources.push(url),
            "last_frame" | "driving_audio" => {}
            _ => return Err(DashScopeError::invalid("input.media.type is not valid")),
        }
    }
    Ok(gathered)
}

fn check_parameters(parameters: &Value) -> Result<(), DashScopeError> {
    let one_of = |name: &str, words: &[&str]| match parameters.get(name) {
        None => Ok(()),
        Some(value) if value.as_str().is_some_and(|text| words.contains(&text)) => Ok(()),
        Some(_) => Err(DashScopeError::invalid(&format!("{name} is not valid"))),
    };
    one_of("resolution", &["480P", "720P", "1080P"])?;
    one_of("ratio", &RATIOS)?;
    one_of("audio_setting", &["auto", "origin"])?;
    for name in ["watermark", "prompt_extend"] {
        if parameters
            .get(name)
            .is_some_and(|value| !value.is_boolean())
        {
            return Err(DashScopeError::invalid(&format!(
                "{name} must be a boolean"
            )));
        }
    }
    if whole(parameters, "seed")?.is_some_and(|seed| seed > MAX_SEED) {
        return Err(DashScopeError::invalid("seed is out of range"));
    }
    Ok(())
}

fn whole(parameters: &Value, name: &str) -> Result<Option<u64>, DashScopeError> {
    match parameters.get(name) {
        None => Ok(None),
        Some(value) => {
            let number = value.as_u64();
            let wrong = || DashScopeError::invalid(&format!("{name} must be an integer"));
            number.map(Some).ok_or_else(wrong)
        }
    }
}
