//! What a job of the second interface is made from: one text, and frames or references.

use serde_json::{Map, Value};

use super::super::is_media;

const MAX_TEXT: usize = 7_000;
const MAX_IMAGES: usize = 9;
const MAX_VIDEOS: usize = 3;
const MAX_AUDIOS: usize = 3;
const MAX_REFERENCES: usize = 12;
/// Seconds of a clip whose address does not tell: the simulator follows no address.
const CLIP_SECONDS: u64 = 5;

/// How many of each there are.
#[derive(Default)]
struct Parts {
    texts: usize,
    first_frames: usize,
    last_frames: usize,
    images: usize,
    videos: usize,
    audios: usize,
}

pub(super) fn prompt(body: &Map<String, Value>) -> String {
    let texts = parts(body).filter_map(|part| part.get("text").and_then(Value::as_str));
    texts.collect()
}

/// Whether there is nothing but text, or what is wrong.
pub(super) fn check(body: &Map<String, Value>) -> Result<bool, &'static str> {
    let mut all = Parts::default();
    if !body.get("content").is_some_and(Value::is_array) {
        return Err("content");
    }
    for part in parts(body) {
        let place = all.place(part).ok_or("content")?;
        *place = place.saturating_add(1);
    }
    let references = all
        .images
        .saturating_add(all.videos)
        .saturating_add(all.audios);
    let frames = all.first_frames.saturating_add(all.last_frames);
    if all.texts != 1 {
        return Err("content needs exactly one text");
    }
    if all.first_frames > 1 || all.last_frames > 1 {
        return Err("content has a frame twice");
    }
    if frames > 0 && references > 0 {
        return Err("frames and references cannot be mixed");
    }
    let is_many = all.images > MAX_IMAGES || all.videos > MAX_VIDEOS || all.audios > MAX_AUDIOS;
    if is_many || references > MAX_REFERENCES {
        return Err("too many references");
    }
    if all.audios > 0 && all.images == 0 && all.videos == 0 {
        return Err("reference_audio needs an image or a video");
    }
    Ok(frames == 0 && references == 0)
}

/// Pictures, and seconds of clips. An address may tell the length of its clip as `ms=5800`.
pub(super) fn counted(body: &Map<String, Value>) -> (u64, u64) {
    let mut pictures: u64 = 0;
    let mut seconds: u64 = 0;
    for part in parts(body) {
        match part.get("type").and_then(Value::as_str) {
            Some("image_url") => pictures = pictures.saturating_add(1),
            Some("video_url") => {
                let url = part.pointer("/video_url/url").and_then(Value::as_str);
                let length = url.and_then(|url| url.split_once("ms="));
                let millis = length.and_then(|(_, millis)| millis.parse::<u64>().ok());
                let clip = millis.map_or(CLIP_SECONDS, |millis| millis.div_ceil(1_000));
                seconds = seconds.saturating_add(clip);
            }
            Some(_) | None => {}
        }
    }
    (pictures, seconds)
}

fn parts(body: &Map<String, Value>) -> impl Iterator<Item = &Value> {
    let list = body.get("content").and_then(Value::as_array);
    list.into_iter().flatten()
}

// === impl Parts ===

impl Parts {
    /// Where a part is counted; none if it is no part.
    fn place(&mut self, part: &Value) -> Option<&mut usize> {
        let role = part.get("role").and_then(Value::as_str);
        let kind = part.get("type").and_then(Value::as_str)?;
        if kind == "text" {
            let text = part.get("text").and_then(Value::as_str)?;
            let fits = !text.trim().is_empty() && text.chars().count() <= MAX_TEXT;
            return fits.then_some(&mut self.texts);
        }
        let url = part.get(kind)?.get("url").and_then(Value::as_str)?;
        if !is_media(url) {
            return None;
        }
        match (kind, role?) {
            ("image_url", "first_frame") => Some(&mut self.first_frames),
            ("image_url", "last_frame") => Some(&mut self.last_frames),
            ("image_url", "reference_image") => Some(&mut self.images),
            ("video_url", "reference_video") => Some(&mut self.videos),
            ("audio_url", "reference_audio") => Some(&mut self.audios),
            (_, _) => None,
        }
    }
}
