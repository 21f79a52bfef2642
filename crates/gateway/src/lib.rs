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

mod admin;
mod admitted;
mod again;
mod asking;
mod caller;
mod calling;
mod choose;
mod continuing;
mod counting;
mod delivering;
mod desk;
mod desks;
mod doors;
mod edge;
mod entrance;
mod events;
mod fault;
mod fields;
mod freshness;
mod gateway;
mod headers;
mod health;
mod hooks;
mod limiting;
mod locking;
mod models;
mod naming;
mod numbers;
mod places;
mod preparing;
mod publishing;
mod quoted;
mod quoting;
mod reply;
mod roster;
mod scrub;
mod sending;
mod settings;
mod shelf;
mod social;
mod stored;
mod story;
mod studio;
mod swap;
mod talking;
mod telemetry;
mod vendors;
mod video;

pub use admin::Admin;
pub use again::AgainSettings;
pub use caller::Holder;
pub use doors::{KeyTable, Recount};
pub use edge::{Door, Edge, EdgeError, EdgeSettings, Guest, TlsError, TlsFiles, caller_address};
pub use events::{EventSettings, RelayError};
pub use fault::{Fault, Kind};
pub use gateway::{CallLine, Gateway, Parts};
pub use hooks::WebhookSettings;
pub use limiting::LimitSettings;
pub use publishing::{Change, PublishError, Published, Signed, publish};
pub use reply::{Answered, Reply};
pub use settings::Settings;
pub use shelf::{Shelf, ShelfError};
pub use social::{FolderError, SocialSettings, cells_with_folder};
pub use studio::StudioSettings;
pub use telemetry::{ALL_PER_THOUSAND, Exporter, Telemetry, TelemetrySettings};
pub use video::{FileLink, TaskLook, VideoJob, VideoSettings};
