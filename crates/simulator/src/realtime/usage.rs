//! How usage is written, by vendor and by fault.

use serde_json::{Value, json};

use super::vendor::UsageSpelling;
use crate::fault::{Fault, RealtimeFault};
use crate::fault_stage;
use crate::realtime_log::RealtimeUsage;

/// Usage as an event shows it; `value` is none where it is left out.
pub(super) struct Reported {
    pub(super) value: Option<Value>,
    /// What a client reads from it.
    pub(super) counts: Option<RealtimeUsage>,
}

/// What the client is sent of the true usage.
pub(super) fn reported(
    usage: RealtimeUsage,
    spelling: UsageSpelling,
    fault: Option<Fault>,
) -> Reported {
    let spelling = match fault {
        Some(Fault::Realtime(RealtimeFault::ZeroUsage)) => UsageSpelling::Zeros,
        Some(Fault::Realtime(RealtimeFault::EmptyUsage)) => UsageSpelling::Empty,
        Some(Fault::Realtime(RealtimeFault::PluralUsage)) => UsageSpelling::Plural,
        Some(_) | None => spelling,
    };
    let Some(factor) = fault_stage::usage_factor(fault) else {
        return Reported {
            value: None,
            counts: None,
        };
    };
    let usage = usage.times(factor);
    let (value, counts) = match spelling {
        UsageSpelling::OpenAi => (written(usage, "token"), Some(usage)),
        UsageSpelling::Plural => (written(usage, "tokens"), Some(usage)),
        UsageSpelling::Zeros => {
            let zeros = RealtimeUsage::default();
            (written(zeros, "token"), Some(zeros))
        }
        UsageSpelling::Empty => (json!({}), None),
    };
    Reported {
        value: Some(value),
        counts,
    }
}

fn written(usage: RealtimeUsage, noun: &str) -> Value {
    let (input_details, output_details) = (
        format!("input_{noun}_details"),
        format!("output_{noun}_details"),
    );
    json!({
        "total_tokens": usage.input().saturating_add(usage.output()),
        "input_tokens": usage.input(),
        "output_tokens": usage.output(),
        input_details: {
            "text_tokens": usage.input_text,
            "audio_tokens": usage.input_audio,
            "image_tokens": usage.input_image,
            "cached_tokens": usage.cached(),
            "cached_tokens_details": {
                "text_tokens": usage.cached_text,
                "audio_tokens": usage.cached_audio,
                "image_tokens": usage.cached_image,
            },
        },
        output_details: {
            "text_tokens": usage.output_text,
            "audio_tokens": usage.output_audio,
        },
    })
}
