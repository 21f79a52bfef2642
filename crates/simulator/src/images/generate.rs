//! From a request to its answer, on one page, the same for every vendor: the fault, the pictures, the
//! record, the words.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use super::links;
use super::request::{Delivery, ImageError, ImageRequest, Item, ReportedCounts, Vendor};
use super::{ark, dashscope, minimax, openai};
use crate::fault::{Fault, ImageFault};
use crate::fault_stage::{self, UpstreamError};
use crate::headers::last_four;
use crate::image_store::{ImageCall, StoredImage};
use crate::recorded_request::RecordedRequest;
use crate::script::{Piece, Script};
use crate::scripted_body::VendorResult;

/// Answers a request. An error closes the connection without an answer.
pub(super) async fn make(mut recorded: RecordedRequest, request: ImageRequest) -> VendorResult {
    // Only an acceptable request meets a fault; the prompt goes before the rules.
    let fault = match request.directives.fault {
        Some(fault) => Some(fault),
        None => recorded
            .state
            .plans()
            .strike_image(&request.model, &recorded.key),
    };
    recorded.note(|record| record.fault = fault);
    let mut call = image_call(&recorded, &request, fault);
    if let Some(Fault::CloseBeforeHeaders | Fault::HangBeforeHeaders) = fault {
        recorded.state.images.note(call.clone());
    }
    // Nothing is streamed here, so a frame with an error is the whole answer.
    let error = fault_stage::before_answer(&mut recorded, fault, false).await?;
    let error = error
        .map(ImageError::Upstream)
        .or_else(|| blocked(fault, request.count));
    if let Some(error) = error {
        if error == ImageError::AllFailed {
            call.failed = request.count;
        }
        recorded.state.images.note(call);
        let script = error_script(&recorded, request.vendor, &request.model, error);
        return Ok(recorded.play(script, None));
    }
    let items = items(&recorded, &request, fault);
    let made = items.iter().filter(|item| **item != Item::Failed).count();
    call.made = u32::try_from(made).unwrap_or(u32::MAX);
    call.failed = request.count.saturating_sub(call.made);
    let reported = ReportedCounts {
        made: call.made.into(),
        failed: call.failed.into(),
        factor: fault_stage::usage_factor(fault),
    };
    recorded.state.images.note(call);
    let script = reported_script(&recorded, &request, &items, reported, fault);
    Ok(recorded.play(script, None))
}

/// An error in the vendor's words.
pub(super) fn error_script(
    recorded: &RecordedRequest,
    vendor: Vendor,
    model: &str,
    error: ImageError,
) -> Script {
    let mut script = match vendor {
        Vendor::OpenAi => openai::error(model, error),
        Vendor::MiniMax => minimax::error(recorded, error),
        Vendor::DashScope => dashscope::error(recorded, error),
        Vendor::Ark => ark::error(recorded, error),
    };
    // An error that hides under a good status is no complete answer.
    script.is_complete = !matches!(error, ImageError::Upstream(UpstreamError::Inside200 { .. }));
    script
}

/// The whole answer, and what the fault does to its bytes.
fn reported_script(
    recorded: &RecordedRequest,
    request: &ImageRequest,
    items: &[Item],
    reported: ReportedCounts,
    fault: Option<Fault>,
) -> Script {
    let body = match request.vendor {
        Vendor::OpenAi => openai::answer(recorded, request, items, reported),
        Vendor::MiniMax => minimax::answer(recorded, request, items, reported),
        Vendor::DashScope => dashscope::answer(recorded, request, items, reported),
        Vendor::Ark => ark::answer(recorded, request, items, reported),
    };
    let tokens = request.tokens;
    let sent = tokens.text_in.saturating_add(tokens.images_in);
    let out = tokens.out.saturating_mul(reported.made);
    recorded.note(|record| record.prompt_tokens = sent);
    let mut piece = Piece::new(body).worth(out);
    if reported.factor.is_some() && tokens.out > 0 {
        piece = piece.reporting(reported.times(sent), reported.times(out));
    }
    fault_stage::document(piece, fault).paced(false, 0, fault)
}

/// Every place of the answer; the first ones fail if some do.
fn items(recorded: &RecordedRequest, request: &ImageRequest, fault: Option<Fault>) -> Vec<Item> {
    let failing = match fault {
        Some(Fault::Image(ImageFault::FailSome { count })) => count,
        Some(_) | None => 0,
    };
    (0..request.count)
        .map(|index| {
            if index < failing {
                return Item::Failed;
            }
            let picture = request.picture(index);
            match request.delivery {
                Delivery::Base64 => Item::Made(STANDARD.encode(picture.bytes())),
                Delivery::Link { seconds } => {
                    let id = recorded.id("img-");
                    let name = format!("{id}-{index}.{}", picture.format.ending());
                    let link = links::link(recorded, &name, seconds);
                    let stored = match fault {
                        Some(Fault::Image(ImageFault::DeadLink)) => StoredImage::Nothing,
                        Some(Fault::Image(ImageFault::GarbageLink)) => StoredImage::Garbage,
                        Some(_) | None => StoredImage::Picture(picture),
                    };
                    recorded.state.images.store(name, stored);
                    Item::Made(link)
                }
            }
        })
        .collect()
}

/// The record of an request that no picture was made for yet.
fn image_call(
    recorded: &RecordedRequest,
    request: &ImageRequest,
    fault: Option<Fault>,
) -> ImageCall {
    let (width, height) = request.size;
    ImageCall {
        number: recorded.number,
        vendor: request.vendor.name(),
        model: request.model.clone(),
        key: last_four(&recorded.key),
        marker: request.directives.marker.clone(),
        is_edit: request.is_edit,
        sources: request.sources,
        has_mask: request.has_mask,
        requested: request.count,
        made: 0,
        failed: 0,
        width,
        height,
        format: request.format.ending(),
        by_link: matches!(request.delivery, Delivery::Link { .. }),
        has_watermark: request.is_marked,
        quality: request.quality.clone(),
        fields: request.fields.clone(),
        files: request.files.clone(),
        fault,
    }
}

/// What the vendor's filters block.
fn blocked(fault: Option<Fault>, count: u32) -> Option<ImageError> {
    match fault {
        Some(Fault::Image(ImageFault::Refused)) => Some(ImageError::Blocked),
        Some(Fault::Image(ImageFault::FailSome { count: failing })) if failing >= count => {
            Some(ImageError::AllFailed)
        }
        Some(_) | None => None,
    }
}
