//! A submission as Ark reads it: its defaults, its limits by version, and its kinds of task.

use serde_json::Value;

use crate::ark_error::{ArkError, CONSTRAINT};

/// A submission that is taken.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct VideoRequest {
    /// Seconds that will be made.
    pub(super) seconds: u64,
    /// Why it will fail, found out after it was taken.
    pub(super) fails: Option<(String, String)>,
}

/// What a version can do.
struct Version {
    most_seconds: i64,
    images: usize,
    videos: usize,
    audios: usize,
    resolutions: &'static [&'static str],
    is_newest: bool,
}

/// The parts of a submission, counted.
#[derive(Default)]
struct Parts {
    texts: usize,
    images: usize,
    videos: usize,
    audios: usize,
    frames: usize,
    references: usize,
}

const RATIOS: [&str; 7] = ["16:9", "4:3", "1:1", "3:4", "9:16", "21:9", "adaptive"];
const LEAST_SECONDS: i64 = 4;
const DEFAULT_SECONDS: u64 = 5;
/// What comes of a length that is left to the vendor.
const CHOSEN_SECONDS: u64 = 10;
/// Words by which the vendor reads an edit or an extension out of a prompt.
const EDIT_WORDS: [&str; 3] = ["edit the video", "replace", "extend the video"];

const NEWEST: Version = Version {
    most_seconds: 30,
    images: 30,
    videos: 10,
    audios: 10,
    resolutions: &["480p", "720p"],
    is_newest: true,
};
const LITTLE: Version = Version {
    most_seconds: 15,
    images: 9,
    videos: 3,
    audios: 3,
    resolutions: &["480p", "720p"],
    is_newest: false,
};
const PLAIN: Version = Version {
    resolutions: &["480p", "720p", "1080p", "4k"],
    ..LITTLE
};

/// All texts of a submission, where directives stand.
pub(super) fn prompt(body: &Value) -> String {
    let parts = body.get("content").and_then(Value::as_array);
    let parts = parts.into_iter().flatten();
    let texts: Vec<&str> = parts
        .filter_map(|part| part.get("text").and_then(Value::as_str))
        .collect();
    texts.join(" ")
}

impl VideoRequest {
    pub(super) fn read(body: &Value) -> Result<Self, ArkError> {
        if !body.is_object() {
            return Err(ArkError::invalid("body", "it is not a JSON object"));
        }
        let model = body.get("model").and_then(Value::as_str);
        let version = version(model.ok_or_else(|| ArkError::missing("model"))?)?;
        let parts = Parts::read(body, &version)?;
        check_words(body, &version)?;
        let seconds = length(body, &version)?;
        let ratio = body.get("ratio").and_then(Value::as_str);
        let is_shaped = ratio.is_some_and(|ratio| ratio != "adaptive");
        if parts.frames > 0 && is_shaped && version.is_newest {
            let why = "ratio must be adaptive when the task has a first frame";
            return Err(ArkError::with_code(CONSTRAINT, "ratio", why));
        }
        let fails = task(body, &parts, seconds, is_shaped)?;
        let seconds = seconds.unwrap_or(CHOSEN_SECONDS);
        Ok(Self { seconds, fails })
    }
}

fn version(model: &str) -> Result<Version, ArkError> {
    // The name abroad begins with another word.
    let name = model
        .strip_prefix("doubao-")
        .or_else(|| model.strip_prefix("dreamina-"));
    match name {
        Some(name) if name.starts_with("seedance-2-5-") => Ok(NEWEST),
        Some(name) if name.starts_with("seedance-2-0-fast-") => Ok(LITTLE),
        Some(name) if name.starts_with("seedance-2-0-mini-") => Ok(LITTLE),
        Some(name) if name.starts_with("seedance-2-0-") => Ok(PLAIN),
        Some(_) | None => Err(ArkError::no_such_model(model)),
    }
}

// === impl Parts ===

impl Parts {
    fn read(body: &Value, version: &Version) -> Result<Self, ArkError> {
        let content = body
            .get("content")
            .ok_or_else(|| ArkError::missing("content"))?;
        let content = content.as_array().filter(|list| !list.is_empty());
        let content = content.ok_or_else(|| ArkError::invalid("content", "it has no parts"))?;
        let mut parts = Self::default();
        for (place, part) in content.iter().enumerate() {
            parts.add(&format!("content[{place}]"), part)?;
        }
        parts.check(version)?;
        Ok(parts)
    }

    fn add(&mut self, param: &str, part: &Value) -> Result<(), ArkError> {
        let kind = part.get("type").and_then(Value::as_str).unwrap_or("");
        let role = part.get("role").and_then(Value::as_str);
        let count = match kind {
            "text" => &mut self.texts,
            "image_url" => &mut self.images,
            "video_url" => &mut self.videos,
            "audio_url" => &mut self.audios,
            _ => return Err(ArkError::invalid(param, "its type is not known")),
        };
        *count = count.saturating_add(1);
        if kind == "text" {
            let text = part.get("text").and_then(Value::as_str);
            return text.map(|_| ()).ok_or_else(|| ArkError::missing(param));
        }
        let url = part
            .get(kind)
            .and_then(|link| link.get("url"))
            .and_then(Value::as_str);
        if url.is_none_or(str::is_empty) {
            return Err(ArkError::missing(&format!("{param}.{kind}.url")));
        }
        match (kind, role) {
            ("image_url", None | Some("first_frame" | "last_frame")) => {
                self.frames = self.frames.saturating_add(1);
            }
            ("image_url", Some("reference_image"))
            | ("video_url", Some("reference_video"))
            | ("audio_url", Some("reference_audio")) => {
                self.references = self.references.saturating_add(1);
            }
            (_, _) => {
                return Err(ArkError::invalid(
                    &format!("{param}.role"),
                    "it does not fit the type",
                ));
            }
        }
        Ok(())
    }

    fn check(&self, version: &Version) -> Result<(), ArkError> {
        let wrong = |why: &str| Err(ArkError::invalid("content", why));
        if self.texts > 1 {
            return wrong("it has more than one text");
        }
        if self.frames > 0 && self.references > 0 {
            return wrong("first or last frames and references cannot be mixed");
        }
        if self.frames > 2 {
            return wrong("it has more than a first and a last frame");
        }
        if self.images > version.images
            || self.videos > version.videos
            || self.audios > version.audios
        {
            return wrong("it has too many references");
        }
        if self.audios > 0 && self.images == 0 && self.videos == 0 && !version.is_newest {
            return wrong("audio needs an image or a video beside it");
        }
        Ok(())
    }
}

/// Fields with a closed list of words, and fields of other versions.
fn check_words(body: &Value, version: &Version) -> Result<(), ArkError> {
    let newest: &[&str] = &["omni_reference_task_type", "output_format"];
    let oldest: &[&str] = &["frames", "camera_fixed", "draft"];
    let strange = if version.is_newest { &[] } else { newest };
    for name in strange.iter().chain(oldest) {
        // The vendor's SDK writes null for what is not given.
        if body.get(name).is_some_and(|value| !value.is_null()) {
            return Err(ArkError::invalid(name, "this model does not support it"));
        }
    }
    let lists: [(&str, &[&str]); 4] = [
        ("resolution", version.resolutions),
        ("ratio", &RATIOS),
        ("output_format", &["mp4", "mov"]),
        (
            "omni_reference_task_type",
            &["auto", "reference", "edit", "extend"],
        ),
    ];
    for (name, words) in lists {
        let value = body.get(name).filter(|value| !value.is_null());
        let is_known = |value: &Value| value.as_str().is_some_and(|word| words.contains(&word));
        if !value.is_none_or(is_known) {
            return Err(ArkError::invalid(name, "it is none of the known words"));
        }
    }
    for name in ["generate_audio", "watermark", "return_last_frame"] {
        let value = body.get(name).filter(|value| !value.is_null());
        if !value.is_none_or(Value::is_boolean) {
            return Err(ArkError::invalid(name, "it is not true or false"));
        }
    }
    Ok(())
}

/// The length; none where it is left to the vendor.
fn length(body: &Value, version: &Version) -> Result<Option<u64>, ArkError> {
    let Some(value) = body.get("duration").filter(|value| !value.is_null()) else {
        return Ok(Some(DEFAULT_SECONDS));
    };
    match value.as_i64() {
        Some(-1) => Ok(None),
        Some(seconds) if (LEAST_SECONDS..=version.most_seconds).contains(&seconds) => {
            Ok(u64::try_from(seconds).ok())
        }
        Some(_) | None => Err(ArkError::invalid("duration", "it is out of range")),
    }
}

/// Which kind of task it is: one that is declared is checked at once, one that is read out of the
/// prompt fails later.
fn task(
    body: &Value,
    parts: &Parts,
    seconds: Option<u64>,
    is_shaped: bool,
) -> Result<Option<(String, String)>, ArkError> {
    let declared = body.get("omni_reference_task_type").and_then(Value::as_str);
    let text = prompt(body).to_lowercase();
    let reads_edit = parts.videos > 0 && EDIT_WORDS.iter().any(|word| text.contains(word));
    let constraint = "the task type needs ratio adaptive and duration -1";
    match declared {
        Some("edit") if is_shaped || seconds.is_some() => {
            Err(ArkError::with_code(CONSTRAINT, "duration", constraint))
        }
        Some("extend") if is_shaped => Err(ArkError::with_code(CONSTRAINT, "ratio", constraint)),
        Some("edit" | "extend") if parts.videos == 0 => {
            let code = "InvalidParameter.TaskTypeMismatch".to_owned();
            Ok(Some((code, "the task has no video to work on".to_owned())))
        }
        Some("edit" | "extend" | "reference") => Ok(None),
        // `auto`, said or not; the older line knows no constraint of this kind.
        Some(_) | None => {
            let model = body.get("model").and_then(Value::as_str).unwrap_or("");
            let is_caught = reads_edit && model.contains("-2-5-") && seconds.is_some();
            Ok(is_caught.then(|| (CONSTRAINT.to_owned(), constraint.to_owned())))
        }
    }
}
