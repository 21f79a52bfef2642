//! The parts of a request: texts, images, clips and recordings, from the top and from
//! `metadata.content`, with the roles they are sent with.

use serde::Serialize;
use serde_json::{Map, Value};
use trunkline_catalog::{FieldNote, FieldTreatment, RequestError};

use crate::video::field_reader::{FieldReader, METADATA_IGNORED};

/// A part as it is sent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(super) enum Part {
    Text {
        text: String,
    },
    ImageUrl {
        image_url: Link,
        #[serde(skip_serializing_if = "Option::is_none")]
        role: Option<String>,
    },
    VideoUrl {
        video_url: Link,
        #[serde(skip_serializing_if = "Option::is_none")]
        role: Option<String>,
    },
    AudioUrl {
        audio_url: Link,
        #[serde(skip_serializing_if = "Option::is_none")]
        role: Option<String>,
    },
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(super) struct Link {
    pub(super) url: String,
}

/// A part and the field that names it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Placed {
    pub(super) part: Part,
    pub(super) param: String,
}

const CONTENT: &str = "metadata.content";
/// The role that images at the top are given.
const REFERENCE_IMAGE: &str = "reference_image";
/// Most parts of one list: more than all limits together.
const MAX_PARTS: usize = 200;
/// An image without a role is the first frame.
const ROLE_MISSING: &str = "role_missing";

/// Everything that is sent as content, in its order.
pub(super) fn read(reader: &mut FieldReader<'_>) -> Result<Vec<Placed>, RequestError> {
    let prompt = reader.filled("prompt")?;
    let mut written = written(reader)?;
    if let Some(prompt) = prompt {
        for placed in &written {
            replace_text(reader, placed, prompt);
        }
        written.retain(|placed| !placed.part.is_text());
    }
    let (texts, media): (Vec<_>, Vec<_>) = written
        .into_iter()
        .partition(|placed| placed.part.is_text());
    let top = at_the_top(reader, &media)?;
    for placed in media.iter().filter(|placed| placed.part.is_frame()) {
        say_first_frame(reader, &placed.param);
    }
    let text = prompt.map(|text| Placed {
        part: Part::Text {
            text: text.to_owned(),
        },
        param: "prompt".to_owned(),
    });
    let all = text.into_iter().chain(texts).chain(top).chain(media);
    Ok(all.collect())
}

/// Images of `input_reference` and `images`, with the role that the company they are in gives them.
fn at_the_top(reader: &mut FieldReader<'_>, media: &[Placed]) -> Result<Vec<Placed>, RequestError> {
    let single = reader.filled("input_reference")?;
    let several = reader.images();
    if several.iter().any(|url| url.trim().is_empty()) {
        return Err(RequestError::invalid(
            "images",
            "`images` has an empty address",
        ));
    }
    let fields = [
        ("input_reference", usize::from(single.is_some())),
        ("images", several.len()),
    ];
    let count = fields
        .iter()
        .fold(0_usize, |sum, (_, count)| sum.saturating_add(*count));
    let has_role = media.iter().any(|placed| placed.part.role().is_some());
    let are_references = count > 1 || has_role;
    for (field, count) in fields {
        match (count, are_references) {
            (0, _) => {}
            (_, true) => {
                let why = "images at the top have no role; beside others they are references";
                reader.rewritten(field, "role_added", REFERENCE_IMAGE, why);
            }
            (_, false) => {
                if let Some(rival) = media.iter().find(|placed| placed.part.is_frame()) {
                    return Err(two_frames(field, &rival.param));
                }
                say_first_frame(reader, field);
            }
        }
    }
    let role = are_references.then(|| REFERENCE_IMAGE.to_owned());
    let place = |field: &'static str| {
        let role = role.clone();
        move |url: &str| Placed {
            part: Part::ImageUrl {
                image_url: Link {
                    url: url.to_owned(),
                },
                role: role.clone(),
            },
            param: field.to_owned(),
        }
    };
    let first = single.into_iter().map(place("input_reference"));
    Ok(first
        .chain(several.into_iter().map(place("images")))
        .collect())
}

fn two_frames(field: &str, rival: &str) -> RequestError {
    let text = format!(
        "`{field}` and `{rival}` are both images without a role: which is the first frame?"
    );
    RequestError::new(ROLE_MISSING, rival, text).with_fix(format!(
        "give `{rival}` a role such as {REFERENCE_IMAGE}, or leave `{field}` out"
    ))
}

fn say_first_frame(reader: &mut FieldReader<'_>, field: &str) {
    let why = "an image without a role is the first frame: the video has its shape";
    let fix = "for a reference, write it into metadata.content with the role reference_image";
    reader.say(FieldNote::new(field, FieldTreatment::Read, ROLE_MISSING, why).with_fix(fix));
}

fn replace_text(reader: &mut FieldReader<'_>, placed: &Placed, prompt: &str) {
    match &placed.part {
        Part::Text { text } if text != prompt => {
            let why = "`prompt` stands in its place";
            reader.rewritten(&placed.param, "text_replaced", prompt, why);
        }
        Part::Text { .. }
        | Part::ImageUrl { .. }
        | Part::VideoUrl { .. }
        | Part::AudioUrl { .. } => {}
    }
}

/// The parts of `metadata.content`.
fn written(reader: &mut FieldReader<'_>) -> Result<Vec<Placed>, RequestError> {
    let Some(content) = reader.get(CONTENT) else {
        return Ok(Vec::new());
    };
    let wrong = || RequestError::invalid(CONTENT, format!("`{CONTENT}` must be a list of parts"));
    let list = content.as_array().ok_or_else(wrong)?;
    if list.len() > MAX_PARTS {
        let text = format!("`{CONTENT}` has more than {MAX_PARTS} parts");
        return Err(RequestError::invalid(CONTENT, text));
    }
    let mut parts = Vec::new();
    for (place, part) in list.iter().enumerate() {
        let param = format!("{CONTENT}[{place}]");
        let part = one(reader, &param, part)?;
        parts.push(Placed { part, param });
    }
    Ok(parts)
}

fn one(reader: &mut FieldReader<'_>, param: &str, part: &Value) -> Result<Part, RequestError> {
    let wrong = || RequestError::invalid(param, format!("`{param}` must be an object"));
    let fields = part.as_object().ok_or_else(wrong)?;
    let kind = text_of(fields, param, "type")?.unwrap_or_default();
    let known = ["type", kind.as_str(), "role"];
    for name in fields.keys().filter(|name| !known.contains(&name.as_str())) {
        let why = "parts have no such field";
        let note = FieldNote::new(
            format!("{param}.{name}"),
            FieldTreatment::Ignored,
            METADATA_IGNORED,
            why,
        );
        reader.say(note.with_fix("leave it out"));
    }
    let role = text_of(fields, param, "role")?;
    let link = || link(fields, param, &kind);
    match kind.as_str() {
        "text" => match text_of(fields, param, "text")? {
            Some(text) => Ok(Part::Text { text }),
            None => Err(missing(format!("{param}.text"))),
        },
        "image_url" => link().map(|image_url| Part::ImageUrl { image_url, role }),
        "video_url" => link().map(|video_url| Part::VideoUrl { video_url, role }),
        "audio_url" => link().map(|audio_url| Part::AudioUrl { audio_url, role }),
        _ => {
            let param = format!("{param}.type");
            let text = format!("`{param}` must be one of text, image_url, video_url, audio_url");
            Err(RequestError::invalid(param, text))
        }
    }
}

fn link(fields: &Map<String, Value>, param: &str, kind: &str) -> Result<Link, RequestError> {
    let inside = fields.get(kind).and_then(Value::as_object);
    let url = inside.map(|inside| text_of(inside, &format!("{param}.{kind}"), "url"));
    match url.transpose()?.flatten() {
        Some(url) => Ok(Link { url }),
        None => Err(missing(format!("{param}.{kind}.url"))),
    }
}

/// A text that is not empty where it is there.
fn text_of(
    fields: &Map<String, Value>,
    param: &str,
    name: &str,
) -> Result<Option<String>, RequestError> {
    match fields.get(name) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) if !text.trim().is_empty() => Ok(Some(text.clone())),
        Some(_) => {
            let param = format!("{param}.{name}");
            let text = format!("`{param}` must be a text that is not empty");
            Err(RequestError::invalid(param, text))
        }
    }
}

fn missing(param: String) -> RequestError {
    let text = format!("`{param}` is required");
    RequestError::invalid(param, text)
}

// === impl Part ===

impl Part {
    pub(super) const fn is_text(&self) -> bool {
        matches!(self, Self::Text { .. })
    }

    /// The role of media; texts have none.
    pub(super) fn role(&self) -> Option<&str> {
        match self {
            Self::Text { .. } => None,
            Self::ImageUrl { role, .. }
            | Self::VideoUrl { role, .. }
            | Self::AudioUrl { role, .. } => role.as_deref(),
        }
    }

    /// Whether it is media without a role, which takes the request out of reference mode.
    pub(super) fn lacks_role(&self) -> bool {
        !self.is_text() && self.role().is_none()
    }

    fn is_frame(&self) -> bool {
        matches!(self, Self::ImageUrl { role: None, .. })
    }
}
