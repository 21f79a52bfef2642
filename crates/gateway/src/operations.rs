//! The paid operations. Each supplies what differs; the pipeline does the rest.

pub(crate) mod chat;
pub(crate) mod generation;
pub(crate) mod social;
pub(crate) mod video;
