//! The paid operations and their routes. Each operation supplies what differs; the pipeline does the rest.
//! One more operation is one file, its module and its row here.

pub(crate) mod chat;
mod exact_price;
pub(crate) mod generation;
pub(crate) mod realtime;
pub(crate) mod responses_socket;
pub(crate) mod social;
pub(crate) mod video;
mod whole;
pub(crate) mod workflow;

use trunkline_generation::images::ImageEndpoint;
use trunkline_generation::transcription::TranscriptionEndpoint;

use self::generation::images::Images;
use self::generation::speech::Speech;
use self::generation::transcription::Transcription;
use self::video::views::create_video;
use crate::paid_route::{PaidRoute, post};

/// Every path without parameters whose `POST` is one operation. Conversations and social data have
/// parameters in their paths, and `/v1/videos` has a second method: `crate::routes` has those.
pub(crate) const ROUTES: &[PaidRoute] = &[
    post("/v1/images/generations", |paid| {
        paid.run::<Images>(ImageEndpoint::Generations)
    }),
    post("/v1/images/edits", |paid| {
        paid.run::<Images>(ImageEndpoint::Edits)
    }),
    post("/v1/audio/speech", |paid| paid.run::<Speech>(())),
    post("/v1/audio/transcriptions", |paid| {
        paid.run::<Transcription>(TranscriptionEndpoint::Transcriptions)
    }),
    post("/v1/audio/translations", |paid| {
        paid.run::<Transcription>(TranscriptionEndpoint::Translations)
    }),
    post("/v1/video/generations", |paid| Box::pin(create_video(paid))),
];
