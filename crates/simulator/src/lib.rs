//! An upstream for tests and for the product's test mode: it speaks OpenAI's chat completions and
//! Responses, Azure's endpoints and the pass-through ones beside them, Anthropic's messages, AWS Bedrock,
//! Google's Gemini API and Vertex AI as the vendors do, makes pictures, videos and speech, hears,
//! talks over realtime connections, gives social data, takes payments as Stripe does, fails on demand, and keeps
//! the truth of what it served.
//!
//! It stands for another company, so it knows nothing of ours: no prices, no accounts, no clock of
//! ours, no crate of this workspace. What it sends and why is in `docs/dev/upstreams.md`; every place
//! where we are not sure of the vendor is marked `[unverified]` there and beside the fixture.
//!
//! - [`Simulator::start`] opens a port; [`Simulator::base_url`] is what a client is pointed at.
//! - [`Simulator::plan`] adds a [`Rule`]; a prompt can ask for a fault too, see [`Fault`].
//! - [`Simulator::requests`] gives one [`RequestRecord`] for each request, the running ones included.

mod access_tokens;
mod answer;
mod anthropic;
mod ark_error;
mod audio;
mod audio_state;
mod azure;
mod azure_path;
mod bedrock;
mod chat;
mod client_secrets;
mod clock;
mod content_filters;
mod control_api;
mod dashscope_error;
mod deployment;
mod directives;
mod encoders;
mod endpoint;
mod eventstream;
mod fault;
mod fault_stage;
mod field_check;
mod gemini;
mod glimpse;
mod headers;
mod image_store;
mod images;
mod models;
mod ordered_json;
mod passthrough;
mod picture;
mod prompt_cache;
mod prompt_memory;
mod realtime;
mod realtime_log;
mod recorded_request;
mod refusal;
mod request;
mod request_log;
mod responses;
mod responses_api;
mod schema;
mod script;
mod scripted_body;
mod server;
mod settings;
mod shared_state;
mod simulator;
mod social;
mod social_state;
mod stripe;
mod stripe_state;
mod tokens;
mod tone;
mod tool_calls;
mod vertex;
mod video;
mod video_jobs;
mod wire_types;
mod wording;

pub use access_tokens::{ServiceAccount, VertexSettings};
pub use audio::{transcript, translation};
pub use audio_state::{AudioCall, AudioSettings, AudioWork};
pub use fault::{AudioFault, Fault, ImageFault, RealtimeFault, Rule, SocialFault, Spelling};
pub use image_store::ImageCall;
pub use realtime_log::{
    RealtimeConnection, RealtimeEnd, RealtimeResponse, RealtimeSettings, RealtimeTranscription,
    RealtimeTrigger, RealtimeUsage, RealtimeWork,
};
pub use request_log::RequestRecord;
pub use settings::{AwsKey, Settings};
pub use simulator::Simulator;
pub use social_state::{SocialCall, SocialSettings};
pub use stripe::{StripeControl, StripeDeliveries, StripeWebhook};
pub use tone::speech_millis;
pub use video_jobs::{Phase, VideoJob, VideoSettings};
