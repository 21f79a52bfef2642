//! The way of a request: edge, auth, read, quote, admit, route, relay, meter, settle. Each step takes
//! the value that the step before made; money is moved by the ledger alone.
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

mod accept_settings;
mod account_api;
mod admin;
mod attempt;
mod authenticate;
mod body;
mod caller;
mod catalog_publish;
mod catalog_snapshot;
mod channel_permit;
mod channels;
mod count_tokens;
mod delivery;
mod detach;
mod duplicate;
mod edge_state;
mod endpoint;
mod error;
mod event_hub;
mod events;
mod failover;
mod field_report;
mod form;
mod format_selection;
mod freshness;
mod headers;
mod idempotency;
mod in_flight;
mod key_table;
mod limit_headers;
mod limit_rules;
mod listener;
mod metrics;
mod metrics_page;
mod model_alias;
mod models;
mod operation;
mod operations;
mod pipeline;
mod priced_call;
mod prometheus;
mod quote_endpoint;
mod quote_lock;
mod quote_request;
mod rate_limit;
mod replay;
mod request_context;
mod reservation;
mod response;
mod response_id;
mod route_health;
mod routes;
mod scrub;
mod self_info;
mod sending;
mod services;
mod settings;
mod settlement;
mod socket;
mod splitmix;
mod state;
mod step;
mod stored_responses;
mod task_id;
mod telemetry;
mod uploads;
mod vendors;
mod webhooks;

pub use accept_settings::{AcceptSettings, LimitSettings};
pub use account_api::refresh_keys;
pub use admin::{Admin, MetricsPage};
pub use authenticate::{KeyOwner, key_owner};
pub use catalog_publish::{Change, ChangeAuthor, PublishError, Published, publish};
pub use catalog_snapshot::{CatalogLoadError, CatalogSnapshot};
pub use edge_state::{CompletedCall, EdgeConfig, EdgeState, OnCompleted};
pub use error::{ApiError, ErrorCode};
pub use events::{
    RelayError, event_readers, events_sent, measure_outbox, purge_events, relay_events,
    run_event_hub,
};
pub use freshness::run_refresh;
pub use idempotency::purge_stored_responses;
pub use key_table::{KeyTableStats, Reconcile};
pub use listener::{
    BoundListener, Edge, EdgeError, EdgeSettings, MountedService, RequestHandler, TlsError,
    TlsFiles, caller_address,
};
pub use metrics_page::admin;
pub use operations::social::social_cells;
pub use operations::video::{
    FileLink, TaskDetail, cancel_task, claim_video_jobs, inspect_task, is_cancellable,
    next_video_job, purge_prompts, sweep_media,
};
pub use response::{Response, ResponseBody};
pub use routes::Router;
pub use services::{Services, ServicesConfig};
pub use settings::{
    EventSettings, GenerationSettings, IdempotencySettings, Settings, SocialSettings,
    VideoSettings, WebhookSettings,
};
pub use state::{FolderError, VideoJob, cells_with_folder};
pub use step::Step;
pub use telemetry::{ALL_PER_THOUSAND, Exporter, Telemetry, TelemetrySettings};
pub use webhooks::{claim_webhooks, maintain_webhooks, next_webhook};
