//! From an request to its answer, on one page, the same for every vendor: the fault, the pictures, the
//! record, the words.

use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use super::directives::ImageFault;
use super::image_store::{ImageCall, StoredImage};
use super::links;
use super::request::{Delivery, ImageRequest, Item, Told, Trouble, Vendor};
use super::{ark, dashscope, minimax, openai};
use crate::chat::pause;
use crate::fault::Fault;
use crate::headers::last_four;
use crate::script::{self, Piece, Script};
use crate::scripted_body::{Abort, MAX_HANG, VendorResult};
use crate::server::RecordedRequest;

/// What a fault does before a picture is thought of.
enum Early {
    /// The connection is closed after this time.
    Close {
        after: Duration,
    },
    Say(Trouble),
}

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
    match fault.and_then(|fault| early(fault, request.count)) {
        None => {}
        Some(Early::Close { after }) => {
            recorded.state.images.note(call);
            pause(after).await;
            recorded.watch.end(false);
            return Err(Abort);
        }
        Some(Early::Say(trouble)) => {
            if trouble == Trouble::AllFailed {
                call.failed = request.count;
            }
            recorded.state.images.note(call);
            let script = words(&recorded, request.vendor, &request.model, &trouble);
            return Ok(recorded.play(script, None));
        }
    }
    if let Some(Fault::SlowFirstByte { millis }) = fault {
        pause(Duration::from_millis(millis.into())).await;
    }
    let items = items(&recorded, &request, fault);
    let made = items.iter().filter(|item| **item != Item::Failed).count();
    call.made = u32::try_from(made).unwrap_or(u32::MAX);
    call.failed = request.count.saturating_sub(call.made);
    let told = Told {
        made: call.made.into(),
        failed: call.failed.into(),
        factor: factor(fault),
    };
    recorded.state.images.note(call);
    let script = told_script(&recorded, &request, &items, told, fault);
    Ok(recorded.play(script, None))
}

/// A refusal in the vendor's words.
pub(super) fn words(
    recorded: &RecordedRequest,
    vendor: Vendor,
    model: &str,
    trouble: &Trouble,
) -> Script {
    let mut script = match vendor {
        Vendor::OpenAi => openai::trouble(model, trouble),
        Vendor::MiniMax => minimax::trouble(recorded, trouble),
        Vendor::DashScope => dashscope::trouble(recorded, trouble),
        Vendor::Ark => ark::trouble(recorded, trouble),
    };
    // An error that hides under a good status is no complete answer.
    script.is_complete = !matches!(trouble, Trouble::Inside200 | Trouble::BaseResp(_));
    script
}

/// The whole answer, and what the fault does to its bytes.
fn told_script(
    recorded: &RecordedRequest,
    request: &ImageRequest,
    items: &[Item],
    told: Told,
    fault: Option<Fault>,
) -> Script {
    let body = match request.vendor {
        Vendor::OpenAi => openai::answer(recorded, request, items, told),
        Vendor::MiniMax => minimax::answer(recorded, request, items, told),
        Vendor::DashScope => dashscope::answer(recorded, request, items, told),
        Vendor::Ark => ark::answer(recorded, request, items, told),
    };
    let tokens = request.tokens;
    let sent = tokens.text_in.saturating_add(tokens.images_in);
    let out = tokens.out.saturating_mul(told.made);
    recorded.note(|record| record.prompt_tokens = sent);
    let mut piece = Piece::new(body).worth(out);
    if told.factor.is_some() && tokens.out > 0 {
        piece = piece.reporting((told.times(sent), told.times(out)));
    }
    script::document(piece, fault).paced(false, 0, fault)
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

fn factor(fault: Option<Fault>) -> Option<u64> {
    match fault {
        Some(Fault::NoUsage) => None,
        Some(Fault::LyingUsage { factor }) => Some(factor.into()),
        Some(_) | None => Some(1),
    }
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
        asked: request.count,
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

fn early(fault: Fault, count: u32) -> Option<Early> {
    let said = match fault {
        Fault::CloseBeforeHeaders => {
            let after = Duration::ZERO;
            return Some(Early::Close { after });
        }
        Fault::HangBeforeHeaders => return Some(Early::Close { after: MAX_HANG }),
        Fault::RateLimited { retry_after_secs } => Trouble::Limited { retry_after_secs },
        Fault::Status(status) => Trouble::Status(status),
        // Nothing is streamed here, so a frame with an error is the whole answer.
        Fault::ErrorInside200 | Fault::ErrorFrameMidStream { .. } => Trouble::Inside200,
        Fault::BaseResp(code) => Trouble::BaseResp(code),
        Fault::Image(ImageFault::Refused) => Trouble::Blocked,
        Fault::Image(ImageFault::FailSome { count: failing }) if failing >= count => {
            Trouble::AllFailed
        }
        Fault::Image(
            ImageFault::FailSome { .. } | ImageFault::DeadLink | ImageFault::GarbageLink,
        )
        | Fault::SlowFirstByte { .. }
        | Fault::HangMidStream { .. }
        | Fault::CloseMidStream { .. }
        | Fault::GarbageFrame { .. }
        | Fault::TruncatedJson
        | Fault::SlowDrip { .. }
        | Fault::WrongContentLength
        | Fault::GiganticBody { .. }
        | Fault::GiganticFrame { .. }
        | Fault::LyingUsage { .. }
        | Fault::NoUsage
        | Fault::SplitUsage
        | Fault::NoDone
        | Fault::NoFinishReason
        | Fault::SplitBytes { .. }
        | Fault::CrLf
        | Fault::NotReady { .. }
        | Fault::Audio(_)
        | Fault::Social(_) => return None,
    };
    Some(Early::Say(said))
}
