//! Video tasks, without a socket, a database or a clock.
//!
//! A request for a video is read by the *family* of its model ([`families`]) into a [`Plan`]: what
//! becomes of each field, what it costs in units, and the one body that is sent upstream, in which
//! every field that moves the price is written out. What vendors are asked and what they answer is a
//! *protocol* ([`upstreams`]). What customers see of a task has two [`shapes`].
//!
//! A new family is one file in `families/` and one line in its list; a new vendor the same in
//! `upstreams/`.

mod ask;
pub mod families;
mod measured;
mod plan;
mod reader;
pub mod shapes;
mod sizes;
pub mod upstreams;

pub use ask::Ask;
pub use families::{Asked, Family, family_of};
pub use measured::{Container, Measured, Measurements, MediaKind, Subject};
pub use plan::{Bill, Plan, Sent};
pub use reader::Reader;
pub use sizes::{Frame, Tier, frame_of};
