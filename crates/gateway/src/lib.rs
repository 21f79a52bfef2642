//! The way of a request behind the edge: routes, the pipeline with its steps, and the operations. Each step
//! takes the value that the step before made; money is moved by the ledger alone.
#![cfg_attr(
    not(test),
    deny(
        clippy::arithmetic_side_effects,
        clippy::as_conversions,
        clippy::float_arithmetic,
        clippy::string_slice,
        clippy::cast_possible_truncation
    )
)]

mod alarms;
mod ask_guardrail;
mod body;
mod catalog_publish;
mod catalog_snapshot;
mod channel_health;
mod channel_permit;
mod channel_probe;
mod channels;
mod charge;
mod count_tokens;
mod delivery;
mod detach;
mod endpoint;
mod failover;
mod field_report;
mod form;
mod format_selection;
mod freshness;
mod guardrail;
mod headers;
mod idempotency;
mod input_tokens;
mod keyring_state;
mod live_connections;
mod losses;
mod media_seal;
mod metrics_page;
mod model_alias;
mod model_rules;
mod models;
mod operation;
mod operations;
mod paid_route;
mod pipeline;
mod priced_call;
mod quote_endpoint;
mod quote_lock;
mod quote_request;
mod replay;
mod reservation;
mod response_id;
mod route_health;
mod routes;
mod scrub;
mod sending;
mod services;
mod settings;
mod settlement;
mod state;
mod stored_responses;
mod stream_history;
mod uploads;
mod vendors;
mod websocket;

use trunkline_account_api::task_id;
use trunkline_edge::{
    attempt, authenticate, caller, duplicate, error, in_flight, limit_headers, limit_rules,
    metrics, percent, rate_limit, request_context, response, socket, splitmix, step,
};

pub use catalog_publish::{Change, ChangeAuthor, PublishError, Published, publish};
pub use catalog_snapshot::{CatalogLoadError, CatalogSnapshot};

pub use alarms::{AlarmLimits, conditions};
pub use freshness::run_refresh;
pub use keyring_state::KeyringLags;
pub use losses::{MoneyAtRisk, measure_losses, money_at_risk};
pub use media_seal::{MediaSealError, media_seal};
pub use metrics_page::admin_listener;
pub use operations::social::social_cells;
pub use operations::video::{
    FileLink, TaskDetail, cancel_task, claim_video_jobs, inspect_task, is_cancellable,
    next_video_job,
};
pub use routes::Router;
pub use services::{Services, ServicesConfig};
pub use settings::{
    FailMode, GenerationSettings, GuardrailSettings, IdempotencySettings, ProbeSettings,
    RealtimeSettings, Settings, SocialSettings, VideoSettings,
};
pub use state::{FolderError, VideoJob, cells_with_folder};
