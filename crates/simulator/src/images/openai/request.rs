//! From what was sent to an request: which fields a line of models has, and within which bounds.

use serde_json::{Map, Value};

use super::body::{Image, Sent};
use super::models::Kind;
use crate::images::directives::ImageDirectives;
use crate::images::request::{Delivery, ImageRequest, Tokens, Vendor};
use crate::images::{field, input_images, kept};
use crate::picture::Format;
use crate::picture::png;
use crate::refusal::{Refusal, shortened};
use crate::request::fields::{self, missing, wrong_value};
use crate::tokens::{PromptSize, count};

/// How long a link works.
const LINK_SECONDS: u64 = 3_600;
/// Pixels that the tokens of a quality are for.
const SQUARE: u64 = 1024 * 1024;

/// Fields of every model.
const SHARED: &[&str] = &["prompt", "model", "n", "size", "quality", "user"];
const GPT: &[&str] = &[
    "background",
    "complexity",
    "moderation",
    "output_format",
    "output_compression",
    "partial_images",
    "safety_identifier",
    "stream",
];
const GPT_EDITS: &[&str] = &["input_fidelity"];

pub(super) fn request(sent: &Sent, is_edit: bool) -> Result<ImageRequest, Refusal> {
    let body = &sent.fields;
    let Some(model) = field(body, "model").and_then(Value::as_str) else {
        return Err(Refusal::unnamed("you must provide a model parameter"));
    };
    let kind = Kind::named(model)?;
    if is_edit && kind == Kind::DallE3 {
        return Err(wrong_value(
            "model",
            model,
            &["gpt-image-1", "gpt-image-2", "dall-e-2"],
        ));
    }
    only_known(body, kind, is_edit)?;
    fields::check_each("images", body)?;
    let prompt = prompt(body, kind)?;
    let directives = ImageDirectives::read(prompt).map_err(|error| Refusal::directive(&error.0))?;
    let word = |name: &str| field(body, name).and_then(Value::as_str);
    let mut request = ImageRequest::new(Vendor::OpenAi, model, prompt, directives);
    request.is_edit = is_edit;
    request.count = number(body, kind)?;
    request.size = kind.size(word("size"))?;
    let quality = quality(word("quality"), kind)?;
    request.quality = Some(quality.to_owned());
    request.format = format(body)?;
    request.is_transparent = is_transparent(word("background"), request.format)?;
    request.delivery = match (kind.is_dalle(), word("response_format")) {
        (true, None | Some("url")) => Delivery::Link {
            seconds: LINK_SECONDS,
        },
        (true, Some(_)) | (false, _) => Delivery::Base64,
    };
    if is_edit {
        check_images(sent, kind)?;
        request.sources = u32::try_from(sent.images.len()).unwrap_or(u32::MAX);
        request.has_mask = sent.mask.is_some();
    }
    request.fields = kept(&Value::Object(body.clone()));
    request.files = files(sent);
    if !kind.is_dalle() {
        request.tokens = tokens(&request, quality);
    }
    Ok(request)
}

/// The first name that this line of models does not have.
fn only_known(body: &Map<String, Value>, kind: Kind, is_edit: bool) -> Result<(), Refusal> {
    let is_known = |name: &str| {
        SHARED.contains(&name)
            || match kind {
                Kind::DallE2 => name == "response_format",
                Kind::DallE3 => name == "response_format" || name == "style",
                Kind::Gpt1 | Kind::Gpt2 | Kind::Gpt25 => {
                    GPT.contains(&name) || (is_edit && GPT_EDITS.contains(&name))
                }
            }
    };
    match body.keys().find(|name| !is_known(name)) {
        Some(name) => {
            let name = shortened(name);
            let message = format!("Unknown parameter: '{name}'.");
            Err(Refusal::invalid(name, Some("unknown_parameter"), message))
        }
        None => Ok(()),
    }
}

fn prompt(body: &Map<String, Value>, kind: Kind) -> Result<&str, Refusal> {
    let Some(prompt) = body.get("prompt").and_then(Value::as_str) else {
        return Err(missing("prompt"));
    };
    let (length, most) = (prompt.chars().count(), kind.max_prompt());
    let (code, message) = if length == 0 {
        let message = "Invalid 'prompt': empty string. Expected a string with minimum length 1, but \
                       got an empty string instead.";
        ("empty_string", message.to_owned())
    } else if length > most {
        let message = format!(
            "Invalid 'prompt': string too long. Expected a string with maximum length {most}, but \
             got a string with length {length} instead."
        );
        ("string_above_max_length", message)
    } else {
        return Ok(prompt);
    };
    Err(Refusal::invalid("prompt", Some(code), message))
}

fn number(body: &Map<String, Value>, kind: Kind) -> Result<u32, Refusal> {
    let number = field(body, "n").and_then(Value::as_u64).unwrap_or(1);
    if kind == Kind::DallE3 && number != 1 {
        let message = "You must provide n=1 for this model.".to_owned();
        return Err(Refusal::invalid("n", None, message));
    }
    Ok(u32::try_from(number).unwrap_or(1))
}

fn quality(requested: Option<&str>, kind: Kind) -> Result<&str, Refusal> {
    match requested {
        None | Some("auto") => Ok(kind.usual_quality()),
        Some(word) if kind.qualities().contains(&word) => Ok(word),
        Some(word) => Err(wrong_value("quality", word, kind.qualities())),
    }
}

fn format(body: &Map<String, Value>) -> Result<Format, Refusal> {
    if field(body, "stream") == Some(&Value::Bool(true)) {
        return Err(beyond("stream", "pictures are not streamed"));
    }
    let compression = field(body, "output_compression").and_then(Value::as_u64);
    match field(body, "output_format").and_then(Value::as_str) {
        None | Some("png") if compression.is_some_and(|percent| percent < 100) => {
            let message = "Compression less than 100 is not supported for PNG output format.";
            let code = Some("invalid_png_output_compression");
            Err(Refusal::invalid(
                "output_compression",
                code,
                message.to_owned(),
            ))
        }
        None | Some("png") => Ok(Format::Png),
        Some("jpeg") => Ok(Format::Jpeg),
        Some(_) => Err(beyond("output_format", "pictures are PNG or JPEG")),
    }
}

fn is_transparent(background: Option<&str>, format: Format) -> Result<bool, Refusal> {
    if background == Some("transparent") && format == Format::Jpeg {
        let message = "Transparent background is not supported for JPEG output format.".to_owned();
        return Err(Refusal::invalid(
            "background",
            Some("invalid_value"),
            message,
        ));
    }
    Ok(background == Some("transparent"))
}

/// What the vendor can do and the simulator cannot.
fn beyond(param: &str, what: &str) -> Refusal {
    let message = format!("the simulator cannot do this: {what}");
    Refusal::invalid(param, Some("simulator_limit"), message)
}

fn check_images(sent: &Sent, kind: Kind) -> Result<(), Refusal> {
    if sent.images.is_empty() {
        return Err(missing("image"));
    }
    let (number, most) = (sent.images.len(), kind.max_sources());
    if number > most {
        let message = format!(
            "Invalid 'image': array too long. Expected an array with maximum length {most}, but got \
             an array with length {number} instead."
        );
        return Err(Refusal::invalid(
            "image",
            Some("array_above_max_length"),
            message,
        ));
    }
    for (index, image) in sent.images.iter().enumerate() {
        check_file("image", index, image, kind == Kind::DallE2)?;
    }
    let Some(mask) = &sent.mask else {
        return Ok(());
    };
    check_file("mask", 0, mask, true)?;
    let size = |image: &Image| match image {
        Image::File { bytes, .. } => png::size(bytes),
        Image::Address => None,
    };
    let first = sent.images.first().and_then(size);
    if let (Some(first), Some(mask)) = (first, size(mask))
        && first != mask
    {
        let message = "Invalid mask image format - mask size does not match image size".to_owned();
        return Err(Refusal::invalid(
            "mask",
            Some("invalid_mask_image_format"),
            message,
        ));
    }
    Ok(())
}

fn files(sent: &Sent) -> Vec<String> {
    let all = sent.images.iter().chain(&sent.mask);
    all.filter_map(|image| match image {
        Image::File { bytes, .. } => Some(input_images::hash(bytes)),
        Image::Address => None,
    })
    .collect()
}

fn check_file(param: &str, index: usize, image: &Image, only_png: bool) -> Result<(), Refusal> {
    let Image::File { kind, bytes } = image else {
        return Ok(());
    };
    if only_png && (kind != "image/png" || !png::is_png(bytes)) {
        let message = "Uploaded image must be a PNG and less than 4 MB.".to_owned();
        return Err(Refusal::invalid(
            param,
            Some("invalid_image_format"),
            message,
        ));
    }
    if !input_images::is_picture(bytes) {
        let place = index.saturating_add(1);
        let message = format!(
            "Invalid image file or mode for {param} {place}, please check your image file."
        );
        return Err(Refusal::invalid(param, Some("invalid_image_file"), message));
    }
    Ok(())
}

/// A prompt token is four bytes, a picture that was sent as much as in a chat; what is made counts by
/// its quality and its pixels.
fn tokens(request: &ImageRequest, quality: &str) -> Tokens {
    let text = PromptSize {
        text_bytes: count(request.prompt.len()),
        ..PromptSize::default()
    };
    let images = PromptSize {
        images: u64::from(request.sources).saturating_add(request.has_mask.into()),
        ..PromptSize::default()
    };
    let square: u64 = match quality {
        "low" => 272,
        "high" => 4_160,
        "xhigh" => 8_320,
        "max" => 16_640,
        _ => 1_056,
    };
    Tokens {
        text_in: text.tokens(),
        images_in: images.tokens(),
        out: square.saturating_mul(request.pixels()).div_ceil(SQUARE),
    }
}
