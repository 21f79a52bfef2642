//! Parts of messages and of what tools say, read into blocks.

use serde_json::{Map, Value};

use super::FORMAT;
use crate::canonical::{Block, BlockKind, Media, MediaKind, Source, Text};
use crate::json_value::{take_array, take_string};

/// A part as a block, and what the canonical form has no place for. What is no part we know stays as it is.
pub(super) fn read_part(part: Value) -> (Block, Map<String, Value>) {
    let Value::Object(mut map) = part else {
        return (foreign(part), Map::new());
    };
    let kind = map.get("type").and_then(Value::as_str).unwrap_or_default();
    let what = match kind {
        "input_text" | "output_text" | "text" => read_text(&mut map),
        "refusal" => take_string(&mut map, "refusal").map(BlockKind::Refusal),
        "input_image" => read_image(&mut map),
        "input_file" => read_file(&mut map),
        "input_audio" => read_audio(&mut map),
        _ => None,
    };
    let Some(mut what) = what else {
        return (foreign(Value::Object(map)), Map::new());
    };
    map.remove("type");
    if let BlockKind::Media(media) = &mut what {
        media.extras = std::mem::take(&mut map).into_iter().collect();
    }
    (Block::of(what), map)
}

/// Whether an object that only this format has stands inside a message, and is no item of its own.
pub(super) fn is_part(raw: &Value) -> bool {
    let kind = raw.get("type").and_then(Value::as_str).unwrap_or_default();
    let inside = [
        "refusal",
        "text",
        "summary_text",
        "reasoning_text",
        "computer_screenshot",
    ];
    kind.starts_with("input_") || kind.starts_with("output_") || inside.contains(&kind)
}

fn foreign(raw: Value) -> Block {
    Block::of(BlockKind::Foreign(FORMAT, raw))
}

fn read_text(map: &mut Map<String, Value>) -> Option<BlockKind> {
    let text = take_string(map, "text")?;
    let cited = map.get("annotations").and_then(Value::as_array);
    let citations = if cited.is_some_and(|list| !list.is_empty()) {
        take_array(map, "annotations").unwrap_or_default()
    } else {
        Vec::new()
    };
    Some(BlockKind::Text(Text {
        text,
        citations: citations.into_iter().map(|raw| (FORMAT, raw)).collect(),
    }))
}

fn read_image(map: &mut Map<String, Value>) -> Option<BlockKind> {
    let url = take_string(map, "image_url")?;
    let detail = take_string(map, "detail");
    Some(media(MediaKind::Image, Source::of_url(url), None, detail))
}

fn read_file(map: &mut Map<String, Value>) -> Option<BlockKind> {
    let source = if let Some(data) = take_string(map, "file_data") {
        match Source::of_url(data) {
            // Bare base64, without a word about its type.
            Source::Link { url, .. } => Source::Inline {
                mime: String::new(),
                data: url,
            },
            known @ (Source::Inline { .. } | Source::Text(_)) => known,
        }
    } else {
        let url = take_string(map, "file_url")?;
        Source::Link { url, mime: None }
    };
    let name = take_string(map, "filename");
    Some(media(MediaKind::File, source, name, None))
}

fn read_audio(map: &mut Map<String, Value>) -> Option<BlockKind> {
    let sound = map.get("input_audio")?;
    let format = sound.get("format")?.as_str()?;
    let mime = match format {
        "mp3" => "audio/mpeg".to_owned(),
        other => format!("audio/{other}"),
    };
    let data = sound.get("data")?.as_str()?.to_owned();
    map.remove("input_audio");
    let source = Source::Inline { mime, data };
    Some(media(MediaKind::Audio, source, None, None))
}

fn media(
    kind: MediaKind,
    source: Source,
    name: Option<String>,
    detail: Option<String>,
) -> BlockKind {
    BlockKind::Media(Media {
        kind,
        source,
        name,
        detail,
        extras: Vec::new(),
    })
}
