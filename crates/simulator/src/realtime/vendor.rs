//! Who serves realtime connections, where, and what each spells otherwise than OpenAI.

use std::time::Duration;

use percent_encoding::percent_decode_str;

use crate::models;
use crate::realtime_log::RealtimeWork;
use crate::refusal::Refusal;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Vendor {
    OpenAi,
    Azure,
    /// Grok Voice: OpenAI's path, told apart by the model.
    Xai,
    /// GLM-Realtime.
    Zhipu,
    /// Qwen-Omni Realtime.
    Alibaba,
}

/// How usage is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum UsageSpelling {
    OpenAi,
    Plural,
    Zeros,
    Empty,
}

/// What an address asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Address {
    pub(super) vendor: Vendor,
    pub(super) work: RealtimeWork,
    /// Empty where it is named later.
    pub(super) model: String,
}

const OPENAI_PATH: &str = "/v1/realtime";
const AZURE_PATH: &str = "/openai/v1/realtime";
const OLD_AZURE_PATH: &str = "/openai/realtime";
const ZHIPU_PATH: &str = "/api/paas/v4/realtime";
const ALIBABA_PATH: &str = "/api-ws/v1/realtime";
const RESPONSES_PATH: &str = "/v1/responses";
const AZURE_RESPONSES_PATH: &str = "/openai/v1/responses";
const ZHIPU_MODEL: &str = "glm-realtime";
/// How the names of realtime models begin, beside those of the simulator's own family.
const FAMILIES: [&str; 4] = ["gpt-realtime", "grok-voice", ZHIPU_MODEL, "qwen"];
const HEARTBEAT: Duration = Duration::from_secs(30);

/// Whether connections are upgraded here.
pub(super) fn has_upgrade(path: &str) -> bool {
    [
        OPENAI_PATH,
        AZURE_PATH,
        OLD_AZURE_PATH,
        ZHIPU_PATH,
        ALIBABA_PATH,
        RESPONSES_PATH,
        AZURE_RESPONSES_PATH,
    ]
    .contains(&path)
}

/// Reads an address; the refusal is for a client that asked for nothing or for too much.
pub(super) fn address(path: &str, query: &str) -> Result<Address, Refusal> {
    let value = |name: &str| {
        let mut pairs = query.split('&').filter_map(|pair| pair.split_once('='));
        let (_, value) = pairs.find(|(known, _)| *known == name)?;
        let text = percent_decode_str(value).decode_utf8_lossy().into_owned();
        (!text.is_empty()).then_some(text)
    };
    if path == ZHIPU_PATH {
        return Ok(Address {
            vendor: Vendor::Zhipu,
            work: RealtimeWork::Conversation,
            model: ZHIPU_MODEL.to_owned(),
        });
    }
    if path == RESPONSES_PATH || path == AZURE_RESPONSES_PATH {
        let vendor = if path == RESPONSES_PATH {
            Vendor::OpenAi
        } else {
            Vendor::Azure
        };
        return Ok(Address {
            vendor,
            work: RealtimeWork::Responses,
            model: String::new(),
        });
    }
    if path == OLD_AZURE_PATH && value("api-version").is_none() {
        return Err(Refusal::no_such_path("GET", path));
    }
    let model_field = if path == OLD_AZURE_PATH {
        "deployment"
    } else {
        "model"
    };
    let model = value(model_field);
    let is_transcription = value("intent").as_deref() == Some("transcription");
    let is_azure = path == AZURE_PATH || path == OLD_AZURE_PATH;
    let work = match (&model, is_transcription) {
        (_, true) => RealtimeWork::Transcription,
        (Some(_), false) => RealtimeWork::Conversation,
        (None, false) => {
            let message = format!("Missing required parameter: '{model_field}'.");
            let code = Some("missing_required_parameter");
            return Err(Refusal::invalid(model_field, code, message));
        }
    };
    let model = model.unwrap_or_default();
    if is_azure && model.contains("whisper") {
        // [unverified] The spelling is the vendor's, seen once.
        let code = Some("OpperationNotSupported");
        let message = format!("The realtime operation does not work with {model}.");
        return Err(Refusal::invalid(model_field, code, message));
    }
    if work == RealtimeWork::Conversation && !is_known(&model) {
        return Err(Refusal::no_such_model(&model));
    }
    let vendor = match path {
        ALIBABA_PATH => Vendor::Alibaba,
        _ if is_azure => Vendor::Azure,
        _ if model.starts_with("grok-voice") || model.starts_with("sim-xai") => Vendor::Xai,
        _ => Vendor::OpenAi,
    };
    Ok(Address {
        vendor,
        work,
        model,
    })
}

fn is_known(model: &str) -> bool {
    models::is_known(model) || FAMILIES.iter().any(|family| model.starts_with(family))
}

// === impl Vendor ===

impl Vendor {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::OpenAi => "openai",
            Self::Azure => "azure",
            Self::Xai => "xai",
            Self::Zhipu => "zhipu",
            Self::Alibaba => "alibaba",
        }
    }

    pub(super) fn usage(self) -> UsageSpelling {
        match self {
            Self::OpenAi | Self::Azure => UsageSpelling::OpenAi,
            Self::Xai => UsageSpelling::Empty,
            Self::Zhipu => UsageSpelling::Zeros,
            Self::Alibaba => UsageSpelling::Plural,
        }
    }

    /// Whether events are named as in OpenAI's beta. [unverified] of Zhipu.
    pub(super) fn has_beta_names(self) -> bool {
        match self {
            Self::OpenAi | Self::Azure | Self::Xai => false,
            Self::Zhipu | Self::Alibaba => true,
        }
    }

    /// Whether `session.type` must be sent.
    pub(super) fn needs_session_type(self) -> bool {
        !self.has_beta_names() && self != Self::Xai
    }

    /// The event that keeps a connection alive, and how often it comes.
    pub(super) fn keep_alive(self) -> Option<(&'static str, Duration)> {
        match self {
            Self::OpenAi | Self::Azure | Self::Alibaba => None,
            Self::Xai => Some(("ping", HEARTBEAT)),
            Self::Zhipu => Some(("heartbeat", HEARTBEAT)),
        }
    }

    /// Whether a voice turn makes a response unless the session says otherwise.
    pub(super) fn creates_responses(self) -> bool {
        self != Self::Xai
    }

    /// The model as the session shows it: Azure names the dated model and not the deployment.
    pub(super) fn shown_model(self, model: &str) -> String {
        match self {
            Self::Azure if !model.is_empty() => format!("{model}-2026-05-06"),
            Self::Azure | Self::OpenAi | Self::Xai | Self::Zhipu | Self::Alibaba => {
                model.to_owned()
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_says_vendor_model_and_work() {
        let read = |path: &str, query: &str| {
            let read = address(path, query).expect(query);
            (read.vendor, read.work, read.model)
        };
        let conversation = RealtimeWork::Conversation;
        for (path, query, vendor, model) in [
            (OPENAI_PATH, "model=sim%2Da", Vendor::OpenAi, "sim-a"),
            (OPENAI_PATH, "model=sim-xai-1", Vendor::Xai, "sim-xai-1"),
            (AZURE_PATH, "model=sim-d", Vendor::Azure, "sim-d"),
            (ZHIPU_PATH, "", Vendor::Zhipu, ZHIPU_MODEL),
            (ALIBABA_PATH, "model=sim-q", Vendor::Alibaba, "sim-q"),
            (
                OLD_AZURE_PATH,
                "api-version=1&deployment=sim-d",
                Vendor::Azure,
                "sim-d",
            ),
        ] {
            let expected = (vendor, conversation, model.to_owned());
            assert_eq!(read(path, query), expected, "{path}?{query}");
        }
        let intent = read(OPENAI_PATH, "intent=transcription");
        assert_eq!(intent.1, RealtimeWork::Transcription);
        for (path, query, status) in [
            (OPENAI_PATH, "", 400),
            (OPENAI_PATH, "model=nonsense", 404),
            (OLD_AZURE_PATH, "deployment=sim-d", 404),
            (AZURE_PATH, "model=gpt-realtime-whisper", 400),
        ] {
            let refusal = address(path, query).expect_err(query);
            assert_eq!(refusal.status, status, "{path}?{query}");
        }
    }
}
