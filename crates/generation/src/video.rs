//! Video tasks, without a socket, a database or a clock.
//!
//! A request for a video is read by the *family* of its model ([`families`]) into a [`Plan`]: what
//! becomes of each field, what it costs in units, and the one body that is sent upstream, in which
//! every field that moves the price is written out. A vendor's requests and responses are a *protocol*
//! ([`upstreams`]). Customers see a task in one of two [`views`].
//!
//! A new family is one file in `families/` and one line in its list; a new vendor the same in
//! `upstreams/`.

pub mod families;
mod field_reader;
mod media_facts;
mod plan;
mod request;
mod resolutions;
pub mod upstreams;
pub mod views;

pub use families::{Family, PlanContext, family_of};
pub use field_reader::FieldReader;
pub use media_facts::{Container, KnownMedia, MediaFacts, MediaKind, ProbeTarget};
pub use plan::{BillableUnits, Outbound, Plan};
pub use request::VideoRequest;
pub use resolutions::{Frame, Tier, frame_of};
