//! From an order to its answer, on one page, the same for every vendor: the fault, the pictures, the
//! record, the words.

use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use http::Response;

use super::gallery::{Hung, ImageCall};
use super::links;
use super::order::{Delivery, Item, Order, Told, Trouble, Vendor};
use super::wishes::ImageFault;
use super::{ark, dashscope, minimax, openai};
use crate::chat::pause;
use crate::fault::Fault;
use crate::headers::last_four;
use crate::played::{Cut, MAX_HANG, Played};
use crate::script::{self, Piece, Script};
use crate::server::Read;

/// What a fault does before a picture is thought of.
enum Early {
    /// The connection is closed after this time.
    Close {
        after: Duration,
    },
    Say(Trouble),
}

/// Answers an order. An error closes the connection without an answer.
pub(super) async fn make(mut read: Read, order: Order) -> Result<Response<Played>, Cut> {
    // Only an acceptable request meets a fault; the prompt goes before the rules.
    let fault = match order.wishes.fault {
        Some(fault) => Some(fault),
        None => read.house.plans().strike_image(&order.model, &read.key),
    };
    read.watch.entry().note(|served| served.fault = fault);
    let mut call = recorded(&read, &order, fault);
    match fault.and_then(|fault| early(fault, order.count)) {
        None => {}
        Some(Early::Close { after }) => {
            read.house.gallery.note(call);
            pause(after).await;
            read.watch.end(false);
            return Err(Cut);
        }
        Some(Early::Say(trouble)) => {
            if trouble == Trouble::AllFailed {
                call.failed = order.count;
            }
            read.house.gallery.note(call);
            let script = words(&read, order.vendor, &order.model, &trouble);
            return Ok(read.play(script, None));
        }
    }
    if let Some(Fault::SlowFirstByte { millis }) = fault {
        pause(Duration::from_millis(millis.into())).await;
    }
    let items = items(&read, &order, fault);
    let made = items.iter().filter(|item| **item != Item::Failed).count();
    call.made = u32::try_from(made).unwrap_or(u32::MAX);
    call.failed = order.count.saturating_sub(call.made);
    let told = Told {
        made: call.made.into(),
        failed: call.failed.into(),
        factor: factor(fault),
    };
    read.house.gallery.note(call);
    let script = told_script(&read, &order, &items, told, fault);
    Ok(read.play(script, None))
}

/// A refusal in the vendor's words.
pub(super) fn words(read: &Read, vendor: Vendor, model: &str, trouble: &Trouble) -> Script {
    let mut script = match vendor {
        Vendor::OpenAi => openai::trouble(model, trouble),
        Vendor::MiniMax => minimax::trouble(read, trouble),
        Vendor::DashScope => dashscope::trouble(read, trouble),
        Vendor::Ark => ark::trouble(read, trouble),
    };
    // An error that hides under a good status is no complete answer.
    script.is_complete = !matches!(trouble, Trouble::Inside200 | Trouble::BaseResp(_));
    script
}

/// The whole answer, and what the fault does to its bytes.
fn told_script(
    read: &Read,
    order: &Order,
    items: &[Item],
    told: Told,
    fault: Option<Fault>,
) -> Script {
    let body = match order.vendor {
        Vendor::OpenAi => openai::answer(read, order, items, told),
        Vendor::MiniMax => minimax::answer(read, order, items, told),
        Vendor::DashScope => dashscope::answer(read, order, items, told),
        Vendor::Ark => ark::answer(read, order, items, told),
    };
    let tokens = order.tokens;
    let sent = tokens.text_in.saturating_add(tokens.images_in);
    let out = tokens.out.saturating_mul(told.made);
    read.watch
        .entry()
        .note(|served| served.prompt_tokens = sent);
    let mut piece = Piece::new(body).worth(out);
    if told.factor.is_some() && tokens.out > 0 {
        piece = piece.telling((told.times(sent), told.times(out)));
    }
    script::document(piece, fault).paced(false, 0, fault)
}

/// Every place of the answer; the first ones fail if some do.
fn items(read: &Read, order: &Order, fault: Option<Fault>) -> Vec<Item> {
    let failing = match fault {
        Some(Fault::Image(ImageFault::FailSome { count })) => count,
        Some(_) | None => 0,
    };
    (0..order.count)
        .map(|index| {
            if index < failing {
                return Item::Failed;
            }
            let picture = order.picture(index);
            match order.delivery {
                Delivery::Base64 => Item::Made(STANDARD.encode(picture.bytes())),
                Delivery::Link { seconds } => {
                    let id = read.house.id("img-", read.number);
                    let name = format!("{id}-{index}.{}", picture.format.ending());
                    let link = links::link(read, &name, seconds);
                    let hung = match fault {
                        Some(Fault::Image(ImageFault::DeadLink)) => Hung::Nothing,
                        Some(Fault::Image(ImageFault::GarbageLink)) => Hung::Garbage,
                        Some(_) | None => Hung::Picture(picture),
                    };
                    read.house.gallery.hang(name, hung);
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

/// The record of an order that no picture was made for yet.
fn recorded(read: &Read, order: &Order, fault: Option<Fault>) -> ImageCall {
    let (width, height) = order.size;
    ImageCall {
        number: read.number,
        vendor: order.vendor.name(),
        model: order.model.clone(),
        key: last_four(&read.key),
        marker: order.wishes.marker.clone(),
        is_edit: order.is_edit,
        sources: order.sources,
        has_mask: order.has_mask,
        asked: order.count,
        made: 0,
        failed: 0,
        width,
        height,
        format: order.format.ending(),
        by_link: matches!(order.delivery, Delivery::Link { .. }),
        has_watermark: order.is_marked,
        quality: order.quality.clone(),
        fields: order.fields.clone(),
        files: order.files.clone(),
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
