//! Bodies that are not plain JSON, each brought to its step: forms in memory, and uploads on their way to
//! the disk.

use std::sync::Arc;

use http::Request;
use hyper::body::{Body as _, Incoming};
use trunkline_studio::images::{self, Ask};
use trunkline_studio::{speech, transcription};

use super::{body, routes::with_body};
use crate::caller::Caller;
use crate::error::{ApiError, ErrorCode, refused};
use crate::generation::{fields_of, read_image_form};
use crate::request_context::RequestContext;
use crate::response::Response;
use crate::services::Services;

/// What is made while the caller waits.
#[derive(Debug, Clone, Copy)]
pub(super) enum Made {
    Images(images::Door),
    Speech,
    Transcript(transcription::Door),
}

/// Makes it.
pub(super) async fn made(
    services: &Services,
    context: &Arc<RequestContext>,
    caller: Caller,
    (what, request): (Made, Request<Incoming>),
) -> Result<Response, ApiError> {
    match what {
        Made::Images(door) => drawn(services, context, caller, (door, request)).await,
        Made::Speech => spoken(services, context, caller, request).await,
        Made::Transcript(door) => listened(services, context, caller, (door, request)).await,
    }
}

/// A video: JSON, or a form as OpenAI's libraries send it.
pub(super) async fn filmed(
    services: &Services,
    context: &Arc<RequestContext>,
    caller: Caller,
    request: Request<Incoming>,
) -> Result<Response, ApiError> {
    let settings = &services.inner.settings;
    let boundary = body::form_boundary(request.headers());
    let most = match boundary {
        Some(_) => body::check_size(&request, settings)?,
        None => body::check(&request, settings)?,
    };
    let room = services.place(caller.account.id, most)?;
    let (head, incoming) = request.into_parts();
    let bytes = body::read(incoming, settings).await?;
    let made = match boundary {
        Some(boundary) => {
            let (ask, hashed) = services.read_video_form(&caller, &boundary, bytes).await?;
            services.make_video(context, caller, &head.headers, (ask, hashed))
        }
        None => {
            let ask = Services::read_video(&bytes)?;
            services.make_video(context, caller, &head.headers, (ask, bytes))
        }
    };
    let answered = made.await;
    drop(room);
    answered
}

/// Images: JSON, or for edits a form with the pictures.
async fn drawn(
    services: &Services,
    context: &Arc<RequestContext>,
    caller: Caller,
    (door, request): (images::Door, Request<Incoming>),
) -> Result<Response, ApiError> {
    let settings = &services.inner.settings;
    let boundary = match door {
        images::Door::Edits => body::form_boundary(request.headers()),
        images::Door::Generations => None,
    };
    let most = match boundary {
        Some(_) => body::check_size(&request, settings)?,
        None => body::check(&request, settings)?,
    };
    let mut room = services.place(caller.account.id, most)?;
    let (head, incoming) = request.into_parts();
    let bytes = body::read(incoming, settings).await?;
    room.shrink_to(bytes.len());
    context.came(bytes.len());
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
    services
        .make_images(context, caller, &head.headers, (ask, known_by), room)
        .await
}

/// Speech.
async fn spoken(
    services: &Services,
    context: &Arc<RequestContext>,
    caller: Caller,
    request: Request<Incoming>,
) -> Result<Response, ApiError> {
    let (headers, body, mut room) = with_body(services, &caller, request).await?;
    room.shrink_to(body.len());
    context.came(body.len());
    let ask = speech::Ask::read(&fields_of(&body)?).map_err(refused)?;
    services
        .speak(context, caller, &headers, (ask, &body), room)
        .await
}

/// A recording.
async fn listened(
    services: &Services,
    context: &Arc<RequestContext>,
    caller: Caller,
    (door, request): (transcription::Door, Request<Incoming>),
) -> Result<Response, ApiError> {
    let Some(boundary) = body::form_boundary(request.headers()) else {
        let text = "send the recording as `multipart/form-data`, in a part named `file`";
        return Err(ApiError::new(ErrorCode::UnsupportedMedia, text));
    };
    if let Err(fault) = services.check_upload(request.body().size_hint().lower()) {
        body::let_out(request.into_body()).await;
        return Err(fault);
    }
    // Of an upload nothing is in memory but a few pieces.
    let room = services.place(caller.account.id, 0)?;
    let (head, incoming) = request.into_parts();
    let (who, what) = ((context, caller), (door, boundary.as_str()));
    services
        .write_down(who, what, (&head.headers, incoming), room)
        .await
}
