//! Parts of requests that are measured: images and sound in their own bytes.

use super::*;

fn encoded(bytes: &[u8]) -> String {
    const ALPHABET: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::new();
    for three in bytes.chunks(3) {
        let number = three
            .iter()
            .chain(std::iter::repeat(&0))
            .take(3)
            .fold(0_u32, |sum, byte| sum << 8 | u32::from(*byte));
        for place in 0..=three.len() {
            let six = usize::try_from(number >> (18 - 6 * place) & 63).unwrap();
            text.push(char::from(ALPHABET[six]));
        }
    }
    text
}

fn png(width: u32, height: u32) -> Vec<u8> {
    let mut bytes = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR".to_vec();
    bytes.extend(width.to_be_bytes());
    bytes.extend(height.to_be_bytes());
    bytes.extend([8, 6, 0, 0, 0, 0, 0, 0, 0]);
    bytes
}

fn wav(seconds: u32) -> Vec<u8> {
    let data = vec![0_u8; usize::try_from(seconds * 8_000).unwrap()];
    let mut bytes = b"RIFF".to_vec();
    bytes.extend((36 + seconds * 8_000).to_le_bytes());
    bytes.extend(b"WAVEfmt \x10\0\0\0\x01\0\x01\0");
    bytes.extend(8_000_u32.to_le_bytes());
    bytes.extend(8_000_u32.to_le_bytes());
    bytes.extend(b"\x01\0\x08\0data");
    bytes.extend((seconds * 8_000).to_le_bytes());
    bytes.extend(data);
    bytes
}

fn only(media: &Media) -> MediaKind {
    assert_eq!(media.parts.len(), 1, "{media:?}");
    media.parts[0].kind
}

#[test]
fn an_image_in_the_request_is_measured_and_one_behind_a_link_is_not() {
    let data = format!("data:image/png;base64,{}", encoded(&png(640, 480)));
    let mut media = Media::default();
    media.add_image(Source::of_url(&data));
    let size = Pixels {
        width: 640,
        height: 480,
    };
    assert_eq!(only(&media), MediaKind::Image(Some(size)));
    assert_eq!(media.bytes, u64::try_from(data.len() - 22).unwrap());
    for url in [
        "https://example.com/a.png",
        "data:image/png;base64,AAAA",
        "data:image/png,raw",
        "data:image/gif;base64,R0lGODlhQAHwAAAAAA==",
    ] {
        let mut media = Media::default();
        media.add_image(Source::of_url(url));
        assert_eq!(only(&media), MediaKind::Image(None), "{url}");
    }
}

#[test]
fn audio_in_the_request_is_measured_by_its_packets() {
    let data = encoded(&wav(3));
    let mut media = Media::default();
    media.add_audio(Source::Inline(&data));
    let length_ms = Some(3_001);
    assert_eq!(only(&media), MediaKind::Audio { length_ms });
    let mut media = Media::default();
    media.add_audio(Source::Inline("AAAA"));
    assert_eq!(only(&media), MediaKind::Audio { length_ms: None });
}

#[test]
fn text_is_text_and_a_packed_file_under_its_name_is_a_document() {
    let mut media = Media::default();
    media.add_file("text/plain", Source::Inline(&encoded(b"plain words")), None);
    assert_eq!(media, Media::default());
    for packed in [&b"%PDF-1.7"[..], b"PK\x03\x04", b"\n\n%PDF-1.4"] {
        let mut media = Media::default();
        media.add_file("text/plain", Source::Inline(&encoded(packed)), None);
        assert_eq!(only(&media), MediaKind::Document);
    }
    let mut media = Media::default();
    media.add_data("JVBERi0");
    assert_eq!(only(&media), MediaKind::Document);
}

#[test]
fn more_parts_than_are_kept_count_as_a_document() {
    let mut media = Media::default();
    for _ in 0..=MAX_PARTS {
        media.add_image(Source::Link(1));
    }
    assert_eq!(media.parts.len(), MAX_PARTS);
    assert_eq!(media.parts[MAX_PARTS - 1].kind, MediaKind::Document);
}
