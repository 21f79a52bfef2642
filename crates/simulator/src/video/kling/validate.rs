//! What the vendor accepts, and what it reads where nothing is said. Fields that it does not know it
//! does not look at.

use serde_json::{Map, Value};

use super::error::KlingError;
use super::{Checked, KlingEndpoint};

type Body = Map<String, Value>;
/// Why a job will fail, as jobs keep it.
type Fails = Option<(String, String)>;

const RATIOS: [&str; 3] = ["16:9", "9:16", "1:1"];
const MODES: [&str; 3] = ["std", "pro", "4k"];
const SWITCH: [&str; 2] = ["on", "off"];
/// Longest prompts, in characters.
const MAX_PROMPT: usize = 2_500;
const MAX_TURBO_PROMPT: usize = 3_072;
/// Pictures of the omni model, alone and beside a clip.
const MAX_IMAGES: usize = 7;
const MAX_IMAGES_WITH_CLIP: usize = 4;
/// The shortest side of a picture.
const MIN_SIDE: u64 = 300;
/// A clip that is edited sets the length; this is how long every clip of the simulator's is.
const CLIP_SECONDS: u64 = 10;
const DEFAULT_SECONDS: u64 = 5;
const MAX_REFERENCE: usize = 256;

/// A body of the older design.
pub(super) fn older(endpoint: KlingEndpoint, body: &Body) -> Result<Checked<'_>, KlingError> {
    let model = text(body, "model_name")?.unwrap_or(match endpoint {
        KlingEndpoint::Omni => "kling-video-o1",
        KlingEndpoint::OlderText
        | KlingEndpoint::OlderImage
        | KlingEndpoint::NewerText
        | KlingEndpoint::NewerImage => "kling-v1",
    });
    known(model)?;
    let prompt = text(body, "prompt")?.unwrap_or_default();
    within("prompt", prompt, MAX_PROMPT)?;
    let negative = text(body, "negative_prompt")?.unwrap_or_default();
    within("negative_prompt", negative, MAX_PROMPT)?;
    one_of(body, "mode", &MODES)?;
    let sound = one_of(body, "sound", &SWITCH)?.unwrap_or("off");
    one_of(body, "aspect_ratio", &RATIOS)?;
    let mut seconds = length_as_text(body)?;
    match endpoint {
        KlingEndpoint::OlderImage => {
            let frames = [text(body, "image")?, text(body, "image_tail")?];
            if frames.into_iter().flatten().all(str::is_empty) {
                return Err(KlingError::parameter("image or image_tail is required"));
            }
            if frames
                .into_iter()
                .flatten()
                .any(|it| it.starts_with("data:"))
            {
                return Err(KlingError::parameter(
                    "File is not in a valid base64 format",
                ));
            }
        }
        KlingEndpoint::Omni => {
            if omni(body, prompt, sound)? {
                seconds = CLIP_SECONDS;
            }
        }
        KlingEndpoint::OlderText | KlingEndpoint::NewerText | KlingEndpoint::NewerImage => {
            required("prompt", prompt)?
        }
    }
    let fails = addresses(body).find(|address| is_small(address)).map(|_| {
        let text = "Image pixel is invalid".to_owned();
        (text.clone(), text)
    });
    Ok(Checked {
        model,
        prompt: prompt.to_owned(),
        reference: reference(body)?,
        seconds,
        fails,
    })
}

/// A body of the newer design.
pub(super) fn newer<'a>(
    endpoint: KlingEndpoint,
    model: &'a str,
    body: &'a Body,
) -> Result<Checked<'a>, KlingError> {
    known(model)?;
    let empty = Map::new();
    let settings = object(body, "settings")?.unwrap_or(&empty);
    let options = object(body, "options")?.unwrap_or(&empty);
    one_of(settings, "resolution", &["720p", "1080p"])?;
    let seconds = match settings.get("duration") {
        None | Some(Value::Null) => DEFAULT_SECONDS,
        Some(value) => value
            .as_u64()
            .filter(|seconds| (3..=15).contains(seconds))
            .ok_or_else(|| KlingError::parameter("settings.duration must be from 3 to 15"))?,
    };
    let (prompt, fails) = match endpoint {
        KlingEndpoint::NewerImage => contents(body)?,
        KlingEndpoint::NewerText
        | KlingEndpoint::OlderText
        | KlingEndpoint::OlderImage
        | KlingEndpoint::Omni => {
            if body.contains_key("contents") {
                return Err(KlingError::parameter("contents is not supported here"));
            }
            one_of(settings, "aspect_ratio", &RATIOS)?;
            let prompt = text(body, "prompt")?.unwrap_or_default();
            required("prompt", prompt)?;
            within("prompt", prompt, MAX_TURBO_PROMPT)?;
            (prompt, None)
        }
    };
    Ok(Checked {
        model,
        prompt: prompt.to_owned(),
        reference: reference(options)?,
        seconds,
        fails,
    })
}

/// The text and the frame of an image job.
fn contents(body: &Body) -> Result<(&str, Fails), KlingError> {
    let contents = list(body, "contents")?;
    let of_type = |kind: &str| {
        let mut found = contents
            .iter()
            .filter(|it| it.get("type") == Some(&Value::from(kind)));
        found.next()
    };
    let inside = |kind: &str, name: &str| of_type(kind)?.get(name)?.as_str();
    let frame = inside("first_frame", "url").unwrap_or_default();
    required("contents.first_frame", frame)?;
    if of_type("last_frame").is_some() {
        return Err(KlingError::parameter("last_frame is not supported"));
    }
    let prompt = inside("prompt", "text").unwrap_or_default();
    within("prompt", prompt, MAX_PROMPT)?;
    let text = || {
        (
            "Image pixel is invalid".to_owned(),
            "Image pixel is invalid".to_owned(),
        )
    };
    Ok((prompt, is_small(frame).then(text)))
}

/// Checks what only the omni model has; true if the clip sets the length.
fn omni(body: &Body, prompt: &str, sound: &str) -> Result<bool, KlingError> {
    required("prompt", prompt)?;
    let images = list(body, "image_list")?;
    let clips = list(body, "video_list")?;
    let most = if clips.is_empty() {
        MAX_IMAGES
    } else {
        MAX_IMAGES_WITH_CLIP
    };
    if images.len() > most || clips.len() > 1 {
        return Err(KlingError::parameter("too many images or videos"));
    }
    for image in images {
        let address = image.get("image_url").and_then(Value::as_str);
        required("image_list.image_url", address.unwrap_or_default())?;
        let kind = image.get("type").filter(|kind| !kind.is_null());
        if kind.is_some_and(|kind| kind != "first_frame" && kind != "end_frame") {
            return Err(KlingError::parameter("image_list.type is invalid"));
        }
    }
    let has = |kind: &str| {
        images
            .iter()
            .any(|image| image.get("type") == Some(&Value::from(kind)))
    };
    if has("end_frame") && !has("first_frame") {
        return Err(KlingError::parameter("end_frame requires first_frame"));
    }
    let mut is_edited = false;
    for clip in clips {
        let address = clip.get("video_url").and_then(Value::as_str);
        required("video_list.video_url", address.unwrap_or_default())?;
        match clip.get("refer_type").and_then(Value::as_str) {
            Some("feature") => {}
            Some("base") | None => is_edited = true,
            Some(_) => return Err(KlingError::parameter("video_list.refer_type is invalid")),
        }
    }
    if sound == "on" && !clips.is_empty() {
        return Err(KlingError::parameter(
            "sound must be off with a reference video",
        ));
    }
    let has_ratio = body.get("aspect_ratio").is_some_and(Value::is_string);
    if !has_ratio && !has("first_frame") && !is_edited {
        return Err(KlingError::parameter("aspect_ratio is required"));
    }
    if has_ratio && has("first_frame") {
        return Err(KlingError::parameter(
            "aspect_ratio is not supported with a first frame",
        ));
    }
    Ok(is_edited)
}

/// The vendor keeps the names of its models to itself; ours begin like theirs.
fn known(model: &str) -> Result<(), KlingError> {
    if model.starts_with("kling-") || model.starts_with("sim-") {
        Ok(())
    } else {
        Err(KlingError::not_there())
    }
}

fn text<'a>(body: &'a Body, name: &str) -> Result<Option<&'a str>, KlingError> {
    match body.get(name) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) => Ok(Some(text)),
        Some(_) => Err(KlingError::parameter(&format!("{name} must be a string"))),
    }
}

fn object<'a>(body: &'a Body, name: &str) -> Result<Option<&'a Body>, KlingError> {
    match body.get(name) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::Object(object)) => Ok(Some(object)),
        Some(_) => Err(KlingError::parameter(&format!("{name} must be an object"))),
    }
}

fn list<'a>(body: &'a Body, name: &str) -> Result<&'a [Value], KlingError> {
    match body.get(name) {
        None | Some(Value::Null) => Ok(&[]),
        Some(Value::Array(list)) => Ok(list),
        Some(_) => Err(KlingError::parameter(&format!("{name} must be an array"))),
    }
}

fn one_of<'a>(body: &'a Body, name: &str, words: &[&str]) -> Result<Option<&'a str>, KlingError> {
    let word = text(body, name)?;
    match word {
        Some(word) if !words.contains(&word) => Err(KlingError::parameter(&format!(
            "{name} value '{word}' is invalid"
        ))),
        Some(_) | None => Ok(word),
    }
}

fn required(name: &str, text: &str) -> Result<(), KlingError> {
    if text.trim().is_empty() {
        return Err(KlingError::parameter(&format!("{name} is required")));
    }
    Ok(())
}

fn within(name: &str, text: &str, most: usize) -> Result<(), KlingError> {
    if text.chars().count() > most {
        return Err(KlingError::parameter(&format!("{name} is too long")));
    }
    Ok(())
}

/// A text in this design; a number is refused.
fn length_as_text(body: &Body) -> Result<u64, KlingError> {
    let Some(text) = text(body, "duration")? else {
        return Ok(DEFAULT_SECONDS);
    };
    let seconds = text
        .parse()
        .ok()
        .filter(|seconds| (3..=15).contains(seconds));
    seconds.ok_or_else(|| KlingError::parameter(&format!("duration value '{text}' is invalid")))
}

/// The caller's own name of the job; an empty one is none.
fn reference(fields: &Body) -> Result<Option<String>, KlingError> {
    let reference = text(fields, "external_task_id")?.unwrap_or_default();
    within("external_task_id", reference, MAX_REFERENCE)?;
    Ok(Some(reference.to_owned()).filter(|reference| !reference.is_empty()))
}

/// Every picture of a body.
fn addresses(body: &Body) -> impl Iterator<Item = &str> {
    let listed = body.get("image_list").and_then(Value::as_array);
    let listed = listed.into_iter().flatten();
    let listed = listed.filter_map(|image| image.get("image_url")?.as_str());
    let frames = ["image", "image_tail"].into_iter();
    listed.chain(frames.filter_map(|name| body.get(name)?.as_str()))
}

/// Pictures are not fetched here: one whose address has `338x191` in it is of that size.
fn is_small(address: &str) -> bool {
    let sides = address
        .split(|it: char| !it.is_ascii_alphanumeric())
        .find_map(|word| {
            let (width, height) = word.split_once('x')?;
            Some((width.parse::<u64>().ok()?, height.parse::<u64>().ok()?))
        });
    sides.is_some_and(|(width, height)| width < MIN_SIDE || height < MIN_SIDE)
}
