//! Bodies that are not plain JSON, each brought to its step: forms in memory, and uploads on their way to
//! the disk.

use std::sync::Arc;

use http::Request;
use hyper::body::{Body as _, Incoming};
use trunkline_studio::images::{self, Ask};
use trunkline_studio::{speech, transcription};

use super::{body, paths::with_body};
use crate::caller::Caller;
use crate::fault::{Fault, Kind, refused};
use crate::gateway::Gateway;
use crate::reply::Answered;
use crate::story::Story;
use crate::studio::{fields_of, read_image_form};

/// What is made while the caller waits.
#[derive(Debug, Clone, Copy)]
pub(super) enum Made {
    Images(images::Door),
    Speech,
    Transcript(transcription::Door),
}

/// Makes it.
pub(super) async fn made(
    gateway: &Gateway,
    story: &Arc<Story>,
    caller: Caller,
    (what, request): (Made, Request<Incoming>),
) -> Result<Answered, Fault> {
    match what {
        Made::Images(door) => drawn(gateway, story, caller, (door, request)).await,
        Made::Speech => spoken(gateway, story, caller, request).await,
        Made::Transcript(door) => listened(gateway, story, caller, (door, request)).await,
    }
}

/// A video: JSON, or a form as OpenAI's libraries send it.
pub(super) async fn filmed(
    gateway: &Gateway,
    story: &Arc<Story>,
    caller: Caller,
    request: Request<Incoming>,
) -> Result<Answered, Fault> {
    let settings = &gateway.inner.settings;
    let boundary = body::form_boundary(request.headers());
    let most = match boundary {
        Some(_) => body::check_size(&request, settings)?,
        None => body::check(&request, settings)?,
    };
    let room = gateway.place(caller.account.id, most)?;
    let (head, incoming) = request.into_parts();
    let bytes = body::read(incoming, settings).await?;
    let made = match boundary {
        Some(boundary) => {
            let (ask, hashed) = gateway.read_video_form(&caller, &boundary, bytes).await?;
            gateway.make_video(story, caller, &head.headers, (ask, hashed))
        }
        None => {
            let ask = Gateway::read_video(&bytes)?;
            gateway.make_video(story, caller, &head.headers, (ask, bytes))
        }
    };
    let answered = made.await;
    drop(room);
    answered
}

/// Images: JSON, or for edits a form with the pictures.
async fn drawn(
    gateway: &Gateway,
    story: &Arc<Story>,
    caller: Caller,
    (door, request): (images::Door, Request<Incoming>),
) -> Result<Answered, Fault> {
    let settings = &gateway.inner.settings;
    let boundary = match door {
        images::Door::Edits => body::form_boundary(request.headers()),
        images::Door::Generations => None,
    };
    let most = match boundary {
        Some(_) => body::check_size(&request, settings)?,
        None => body::check(&request, settings)?,
    };
    let mut room = gateway.place(caller.account.id, most)?;
    let (head, incoming) = request.into_parts();
    let bytes = body::read(incoming, settings).await?;
    room.shrink_to(bytes.len());
    story.came(bytes.len());
    let (ask, known_by) = match boundary {
        Some(boundary) => {
            let form = read_image_form(&boundary, bytes).await?;
            let ask = Ask::read(door, &form.fields, form.files).map_err(refused)?;
            (ask, form.known_by)
        }
        None => {
            let ask = Ask::read(door, &fields_of(&bytes)?, Vec::new()).map_err(refused)?;
            (ask, bytes)
        }
    };
    gateway
        .make_images(story, caller, &head.headers, (ask, known_by), room)
        .await
}

/// Speech.
async fn spoken(
    gateway: &Gateway,
    story: &Arc<Story>,
    caller: Caller,
    request: Request<Incoming>,
) -> Result<Answered, Fault> {
    let (headers, body, mut room) = with_body(gateway, &caller, request).await?;
    room.shrink_to(body.len());
    story.came(body.len());
    let ask = speech::Ask::read(&fields_of(&body)?).map_err(refused)?;
    gateway
        .speak(story, caller, &headers, (ask, &body), room)
        .await
}

/// A recording.
async fn listened(
    gateway: &Gateway,
    story: &Arc<Story>,
    caller: Caller,
    (door, request): (transcription::Door, Request<Incoming>),
) -> Result<Answered, Fault> {
    let Some(boundary) = body::form_boundary(request.headers()) else {
        let text = "send the recording as `multipart/form-data`, in a part named `file`";
        return Err(Fault::new(Kind::UnsupportedMedia, text));
    };
    if let Err(fault) = gateway.check_upload(request.body().size_hint().lower()) {
        body::let_out(request.into_body()).await;
        return Err(fault);
    }
    // Of an upload nothing is in memory but a few pieces.
    let room = gateway.place(caller.account.id, 0)?;
    let (head, incoming) = request.into_parts();
    let (who, what) = ((story, caller), (door, boundary.as_str()));
    gateway
        .write_down(who, what, (&head.headers, incoming), room)
        .await
}
