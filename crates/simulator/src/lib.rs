//! An upstream for tests and for the product's test mode: it speaks OpenAI's chat completions and
//! Responses, Azure's endpoints and the pass-through ones beside them, Anthropic's messages, AWS Bedrock,
//! Google's Gemini API and Vertex AI as the vendors do, makes pictures, videos and speech, hears,
//! gives social data, fails on demand, and keeps the truth of what it served.
//!
//! It stands for another company, so it knows nothing of ours: no prices, no accounts, no clock of
//! ours, no crate of this workspace. What it sends and why is in `docs/dev/upstreams.md`; every place
//! where we are not sure of the vendor is marked `[unverified]` there and beside the fixture.
//!
//! - [`Simulator::start`] opens a port; [`Simulator::base_url`] is what a client is pointed at.
//! - [`Simulator::plan`] adds a [`Rule`]; a prompt can ask for a fault too, see [`Fault`].
//! - [`Simulator::requests`] gives one [`RequestRecord`] for each request, the running ones included.

mod answer;
mod anthropic;
mod ark_error;
mod audio;
mod azure;
mod bedrock;
mod chat;
mod clock;
mod control_api;
mod directives;
mod fault;
mod fault_stage;
mod field_check;
mod gemini;
mod headers;
mod images;
mod models;
mod ordered_json;
mod passthrough;
mod refusal;
mod request;
mod request_log;
mod responses;
mod schema;
mod script;
mod scripted_body;
mod server;
mod shared_state;
mod simulator;
mod social;
mod tokens;
mod tool_calls;
mod vertex;
mod video;
mod wire_types;
mod wording;

pub use audio::{
    AudioCall, AudioFault, AudioSettings, AudioWork, speech_millis, transcript, translation,
};
pub use fault::{Fault, Rule};
pub use images::{ImageCall, ImageFault};
pub use request_log::RequestRecord;
pub use responses::Spelling;
pub use simulator::{AwsKey, Settings, Simulator};
pub use social::{SocialCall, SocialFault, SocialSettings};
pub use vertex::{ServiceAccount, VertexSettings};
pub use video::{Phase, VideoJob, VideoSettings};
