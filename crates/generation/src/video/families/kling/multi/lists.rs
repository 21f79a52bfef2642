//! The lists of C multi-image: pictures with the places of their frames, and the clip.

use serde::Serialize;
use serde_json::{Map, Value};
use trunkline_catalog::{FieldNote, FieldTreatment, RequestError};

use super::super::strangers;
use crate::video::field_reader::FieldReader;
use crate::video::media_facts::{Container, MediaFacts};

pub(super) const IMAGES: &str = "metadata.image_list";
pub(super) const CLIPS: &str = "metadata.video_list";
const MAX_IMAGES_WITH_CLIP: usize = 4;
/// The shortest side of a picture that the upstream can use.
const MIN_IMAGE_SIDE: u64 = 300;
/// The length of a clip.
const MIN_CLIP_MILLIS: u64 = 3_000;
const MAX_CLIP_MILLIS: u64 = 15_500;
const MIN_CLIP_SIDE: u64 = 700;
const MAX_CLIP_SIDE: u64 = 4_553;
const CLIP_RANGE: &str = "clip_range";

#[derive(Serialize)]
pub(super) struct Picture<'a> {
    pub(super) image_url: &'a str,
    #[serde(rename = "type", skip_serializing_if = "Option::is_none")]
    pub(super) kind: Option<&'static str>,
}

#[derive(Serialize)]
pub(super) struct Clip<'a> {
    pub(super) video_url: &'a str,
    refer_type: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    keep_original_sound: Option<&'static str>,
}

/// The pictures, with their number and the places of their frames checked.
pub(super) fn pictures<'a>(
    reader: &mut FieldReader<'a>,
    most: u64,
    has_clip: bool,
) -> Result<Vec<Picture<'a>>, RequestError> {
    let mut pictures = Vec::new();
    let entries = entries(reader, IMAGES)?;
    let most = usize::try_from(most).unwrap_or(usize::MAX);
    let most = if has_clip {
        most.min(MAX_IMAGES_WITH_CLIP)
    } else {
        most
    };
    if entries.len() > most {
        let beside = if has_clip { " beside a clip" } else { "" };
        let text = format!("`{IMAGES}` has more than {most} pictures{beside}");
        return Err(RequestError::new("reference_count", IMAGES, text));
    }
    for (number, entry) in entries.into_iter().enumerate() {
        let path = format!("{IMAGES}.{number}");
        strangers(reader, &path, entry, &["image_url", "type"]);
        pictures.push(Picture {
            image_url: address(entry, &path, "image_url")?,
            kind: word(entry, &path, "type", &["first_frame", "end_frame"])?,
        });
    }
    let count = |kind: &str| pictures.iter().filter(|it| it.kind == Some(kind)).count();
    let (first, last) = (count("first_frame"), count("end_frame"));
    if first > 1 || last > 1 {
        let text = format!("`{IMAGES}` has two frames of one `type`");
        return Err(RequestError::invalid(IMAGES, text));
    }
    if last > first {
        let text = "an `end_frame` needs a `first_frame`";
        return Err(RequestError::invalid(IMAGES, text));
    }
    Ok(pictures)
}

/// The clip, if there is one.
pub(super) fn clips<'a>(reader: &mut FieldReader<'a>) -> Result<Vec<Clip<'a>>, RequestError> {
    let mut clips = Vec::new();
    let entries = entries(reader, CLIPS)?;
    if entries.len() > 1 {
        let text = format!("`{CLIPS}` has more than one clip");
        return Err(RequestError::new("reference_count", CLIPS, text));
    }
    for (number, entry) in entries.into_iter().enumerate() {
        let path = format!("{CLIPS}.{number}");
        let known = ["video_url", "refer_type", "keep_original_sound"];
        strangers(reader, &path, entry, &known);
        let refer_type = word(entry, &path, "refer_type", &["feature", "base"])?;
        if refer_type != Some("feature") {
            let text = "`refer_type` must be `feature`: `base`, the upstream's default, is billed \
                        by the length of the clip, which is not known before";
            let param = format!("{path}.refer_type");
            return Err(RequestError::unpriceable(param, text).with_fix("set it to `feature`"));
        }
        clips.push(Clip {
            video_url: address(entry, &path, "video_url")?,
            refer_type: "feature",
            keep_original_sound: word(entry, &path, "keep_original_sound", &["yes", "no"])?,
        });
    }
    Ok(clips)
}

/// The objects of a list.
fn entries<'a>(
    reader: &mut FieldReader<'a>,
    path: &str,
) -> Result<Vec<&'a Map<String, Value>>, RequestError> {
    let Some(value) = reader.get(path) else {
        return Ok(Vec::new());
    };
    let wrong = || RequestError::invalid(path, format!("`{path}` must be a list of objects"));
    let list = value.as_array().ok_or_else(wrong)?;
    let objects = list.iter().map(Value::as_object);
    objects.collect::<Option<_>>().ok_or_else(wrong)
}

/// A field of an entry that must hold an address.
fn address<'a>(
    entry: &'a Map<String, Value>,
    path: &str,
    name: &str,
) -> Result<&'a str, RequestError> {
    let text = entry.get(name).and_then(Value::as_str);
    let text = text.filter(|text| !text.trim().is_empty());
    text.ok_or_else(|| {
        let text = format!("an entry must have `{name}`, an address");
        RequestError::invalid(format!("{path}.{name}"), text)
    })
}

/// A field of an entry that may hold one of a few values; null counts as absent.
fn word(
    entry: &Map<String, Value>,
    path: &str,
    name: &str,
    words: &[&'static str],
) -> Result<Option<&'static str>, RequestError> {
    let Some(value) = entry.get(name).filter(|value| !value.is_null()) else {
        return Ok(None);
    };
    let mut known = words.iter().copied();
    let known = known.find(|word| value.as_str() == Some(*word));
    known.map(Some).ok_or_else(|| {
        let text = format!("`{name}` must be one of {}", words.join(", "));
        RequestError::invalid(format!("{path}.{name}"), text)
    })
}

pub(super) fn warn_of_small(reader: &mut FieldReader<'_>, number: usize, facts: MediaFacts) {
    let sides = [facts.width, facts.height];
    if sides
        .into_iter()
        .flatten()
        .any(|side| side < MIN_IMAGE_SIDE)
    {
        let field = format!("{IMAGES}.{number}.image_url");
        let why = format!("a side below {MIN_IMAGE_SIDE} pixels fails the task upstream");
        let note = FieldNote::new(field, FieldTreatment::Read, "image_too_small", why);
        reader.say(note.with_fix("send a larger picture"));
    }
}

pub(super) fn check_clip(param: &str, facts: MediaFacts) -> Result<(), RequestError> {
    let wrong = |text: String| Err(RequestError::new(CLIP_RANGE, param, text));
    let length = MIN_CLIP_MILLIS..=MAX_CLIP_MILLIS;
    if facts.millis.is_some_and(|millis| !length.contains(&millis)) {
        return wrong("a clip has 3 to 15.5 seconds".to_owned());
    }
    if facts.container == Some(Container::Other) {
        return wrong("a clip is MP4 or MOV".to_owned());
    }
    let sides = [facts.width, facts.height];
    let mut sides = sides.into_iter().flatten();
    if sides.any(|side| !(MIN_CLIP_SIDE..=MAX_CLIP_SIDE).contains(&side)) {
        return wrong(format!(
            "the sides of a clip have {MIN_CLIP_SIDE} to {MAX_CLIP_SIDE} pixels"
        ));
    }
    Ok(())
}
