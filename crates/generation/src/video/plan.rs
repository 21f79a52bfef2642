//! The plan of a request: the field report, the billable units, and the one body that is sent.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use trunkline_catalog::{Attributes, FieldReport};
use trunkline_types::{Bucket, Usage};

use crate::video::media_facts::ProbeTarget;

/// A request, planned by its family.
#[derive(Debug, Clone, PartialEq)]
pub struct Plan {
    /// The treatment of each field.
    pub report: FieldReport,
    pub bill: BillableUnits,
    pub outbound: Outbound,
    /// Media that would make the price exact, or the request refusable, if it were measured. Empty
    /// when nothing is left to measure.
    pub to_probe: Vec<ProbeTarget>,
    /// The size as it is shown: as it was written, or as it was filled in.
    pub size: Option<String>,
}

/// What a video costs, in units. A price book knows what they are worth.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BillableUnits {
    /// Seconds that are made.
    pub output_seconds: u64,
    /// Seconds of clips that go in and are billed like those that come out.
    pub input_seconds: u64,
    /// Pictures beyond those that are free.
    pub extra_images: u64,
    /// The attributes that a tier of the price book may match: `resolution`, `mode`, `sound`, `reference_video`.
    pub attributes: Attributes,
    /// False: something could not be measured, and this is the upper bound.
    pub exact: bool,
}

/// What is sent upstream, but for the model's name there. It is stored with its task, sealed: a worker
/// that takes the task over sends the same.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Outbound {
    /// The vendor's protocol by its name in provider files, such as `kling_video`.
    pub protocol: String,
    /// Which of the protocol's endpoints, where it has several; empty where it has one.
    pub endpoint: String,
    /// The body without the model.
    pub body: Map<String, Value>,
}

// === impl Outbound ===

impl Outbound {
    /// The body of a protocol's endpoint. It is a struct, so it serialises to an object.
    pub(crate) fn new(protocol: &str, endpoint: &str, body: &impl Serialize) -> Self {
        let body = match serde_json::to_value(body) {
            Ok(Value::Object(fields)) => fields,
            Ok(_) | Err(_) => Map::new(),
        };
        Self {
            protocol: protocol.to_owned(),
            endpoint: endpoint.to_owned(),
            body,
        }
    }
}

// === impl BillableUnits ===

impl BillableUnits {
    /// So many seconds of output and nothing else, exactly.
    pub(crate) const fn seconds(output_seconds: u64, attributes: Attributes) -> Self {
        Self {
            output_seconds,
            input_seconds: 0,
            extra_images: 0,
            attributes,
            exact: true,
        }
    }

    /// The usage that the price book prices.
    #[must_use]
    pub fn usage(&self) -> Usage {
        let seconds = self.output_seconds.saturating_add(self.input_seconds);
        let usage = Usage::unknown()
            .with(Bucket::VideoSeconds, seconds)
            .with(Bucket::Calls, 1);
        if self.extra_images > 0 {
            usage.with(Bucket::ReferenceImages, self.extra_images)
        } else {
            usage
        }
    }
}
