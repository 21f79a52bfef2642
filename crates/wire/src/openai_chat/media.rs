//! Images, audio and files, written as parts of a chat message.

use serde_json::{Value, json};

use super::json_helpers::data_uri;
use super::request_out::Writing;
use crate::canonical::{Media, MediaKind, Source, titled};

impl Writing<'_> {
    pub(super) fn media(&mut self, media: &Media) -> Option<Value> {
        if !media.extras.is_empty() {
            self.notes.dropped(
                "document",
                "chat has no titles, contexts or citations of documents",
            );
        }
        match (media.kind, &media.source) {
            (_, Source::Text(text)) => {
                self.notes
                    .approximated("document", "a document of words is sent as text");
                let text = titled(media.name.as_deref(), text);
                Some(json!({ "type": "text", "text": text }))
            }
            (MediaKind::Image, source) => {
                let url = match source {
                    Source::Inline { mime, data } => data_uri(mime, data),
                    Source::Link { url, .. } | Source::Text(url) => url.clone(),
                };
                let mut image = json!({ "url": url });
                if let (Some(detail), Some(map)) = (&media.detail, image.as_object_mut()) {
                    map.insert("detail".to_owned(), json!(detail));
                }
                Some(json!({ "type": "image_url", "image_url": image }))
            }
            (MediaKind::Audio, Source::Inline { mime, data }) => {
                let format = mime.rsplit('/').next().unwrap_or("wav");
                let format = if format == "mpeg" { "mp3" } else { format };
                let audio = json!({ "data": data, "format": format });
                Some(json!({ "type": "input_audio", "input_audio": audio }))
            }
            (MediaKind::File, Source::Inline { mime, data }) => {
                let name = media.name.as_deref().unwrap_or("file");
                let file = json!({ "filename": name, "file_data": data_uri(mime, data) });
                Some(json!({ "type": "file", "file": file }))
            }
            (MediaKind::Audio | MediaKind::File, Source::Link { .. }) => {
                self.notes
                    .refused("content", "chat takes no address of a file; send its bytes");
                None
            }
            (MediaKind::Video, Source::Inline { .. } | Source::Link { .. }) => {
                self.notes.refused("content", "chat takes no video");
                None
            }
        }
    }
}
