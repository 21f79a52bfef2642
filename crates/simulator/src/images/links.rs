//! Files behind links: `GET /_images/NAME`, without a key, until the `Expires` of the link has
//! passed. A name such as `cat-640x480.png` is a picture of that size, for tests that need an input.

use http::Method;
use http::header::{CONTENT_TYPE, HOST, HeaderValue};

use super::request::sides;
use crate::clock;
use crate::image_store::StoredImage;
use crate::picture::{Format, Picture};
use crate::recorded_request::RecordedRequest;
use crate::script::{Head, Piece, Script, Step};
use crate::scripted_body::VendorResponse;
use crate::tokens::count;

const FOLDER: &str = "/_images/";
/// The longest side of a source that a name may ask for.
const MAX_NAMED_SIDE: u32 = 8_192;
/// Not a picture, whatever its head says.
const GARBAGE: &[u8] = b"\x00\xffthese bytes are no picture\xfe\x00";

/// What came of a question for a file.
enum Found {
    File(Vec<u8>, &'static str),
    Refused(u16, &'static str),
}

pub(super) fn owns(path: &str) -> bool {
    path.starts_with(FOLDER)
}

/// The link of a file at the host that was asked.
pub(super) fn link(recorded: &RecordedRequest, name: &str, seconds: u64) -> String {
    let host = recorded.parts.headers.get(HOST);
    let host = host.and_then(|host| host.to_str().ok());
    let host = host.unwrap_or("localhost");
    let expires = clock::seconds(recorded.received_at_micros).saturating_add(seconds);
    format!("http://{host}{FOLDER}{name}?Expires={expires}&Signature=x")
}

pub(super) fn serve(recorded: RecordedRequest) -> VendorResponse {
    let found = match recorded.parts.method {
        Method::GET | Method::HEAD => find(&recorded),
        _ => Found::Refused(405, "MethodNotAllowed"),
    };
    let (status, bytes, kind) = match found {
        Found::File(bytes, kind) => (200, bytes, kind),
        // As the vendors' stores say it.
        Found::Refused(status, code) => {
            let text = format!("<?xml version=\"1.0\"?><Error><Code>{code}</Code></Error>");
            (status, text.into_bytes(), "application/xml")
        }
    };
    let head = Head {
        status,
        is_event_stream: false,
        content_length: Some(count(bytes.len())),
        retry_after_secs: None,
    };
    let script = Script::new(head, vec![Step::Send(Piece::new(bytes))]);
    let mut response = recorded.play(script, None);
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(kind));
    response
}

fn find(recorded: &RecordedRequest) -> Found {
    let uri = &recorded.parts.uri;
    if recorded.is_link_over() {
        return Found::Refused(403, "AccessDenied");
    }
    let name = uri.path().strip_prefix(FOLDER).unwrap_or_default();
    let picture = match recorded.state.images.find(name) {
        Some(StoredImage::Picture(picture)) => Some(picture),
        Some(StoredImage::Garbage) => return Found::File(GARBAGE.to_vec(), Format::Png.kind()),
        Some(StoredImage::Nothing) => None,
        None => named(name),
    };
    match picture {
        Some(picture) => Found::File(picture.bytes(), picture.format.kind()),
        None => Found::Refused(404, "NoSuchKey"),
    }
}

/// `NAME-WIDTHxHEIGHT.png` or `.jpg`.
fn named(name: &str) -> Option<Picture> {
    let (stem, ending) = name.rsplit_once('.')?;
    let format = match ending {
        "png" => Format::Png,
        "jpg" | "jpeg" => Format::Jpeg,
        _ => return None,
    };
    let (_, size) = stem.rsplit_once('-')?;
    let (width, height) = sides(size, 'x')?;
    let is_sane = width <= MAX_NAMED_SIDE && height <= MAX_NAMED_SIDE;
    is_sane.then(|| Picture::new(width, height, format, stem))
}
