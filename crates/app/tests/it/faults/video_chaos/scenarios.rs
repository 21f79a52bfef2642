//! What is asked for: videos of every vendor's family at a fixed price, and what shall become of each.

use serde_json::{Map, Value, json};
use trunkline_testkit::random_bytes;

/// A request without its prompt, by the vendor that serves it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Shape {
    pub(crate) vendor: Vendor,
    /// The fields beside the prompt, as JSON.
    fields: &'static str,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Vendor {
    Dashscope,
    Ark,
    Kling,
    Minimax,
    Openai,
}

const fn shape(vendor: Vendor, fields: &'static str) -> Shape {
    Shape { vendor, fields }
}

/// Every family that makes a video of a text.
pub(crate) const SHAPES: [Shape; 11] = [
    shape(Vendor::Dashscope, r#"{"model":"wan2.7-t2v"}"#),
    shape(
        Vendor::Dashscope,
        r#"{"model":"wan2.7-t2v","size":"1920*1080","duration":10}"#,
    ),
    shape(
        Vendor::Dashscope,
        r#"{"model":"happyhorse-1.1-t2v","size":"832*480"}"#,
    ),
    shape(
        Vendor::Ark,
        r#"{"model":"doubao-seedance-2-0-260128","seconds":"4"}"#,
    ),
    shape(
        Vendor::Ark,
        r#"{"model":"doubao-seedance-2-5-260628","duration":6,"metadata":{"resolution":"480p"}}"#,
    ),
    shape(Vendor::Kling, r#"{"model":"kling-v3","mode":"pro"}"#),
    shape(Vendor::Kling, r#"{"model":"kling-v3","duration":10}"#),
    shape(Vendor::Kling, r#"{"model":"kling-3.0-turbo"}"#),
    shape(
        Vendor::Minimax,
        r#"{"model":"MiniMax-H3","metadata":{"ratio":"16:9"}}"#,
    ),
    shape(
        Vendor::Minimax,
        r#"{"model":"MiniMax-Hailuo-2.3","duration":10}"#,
    ),
    shape(Vendor::Openai, r#"{"model":"sim-clip","seconds":"8"}"#),
];

/// The planned outcome of a video task.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Scenario {
    Done,
    Slow,
    Failed,
    /// Not taken by the upstream.
    Refused,
    /// Taken, and the answer breaks off.
    Lost,
    /// Taken, and no answer comes.
    Silent,
    /// No capacity at first.
    FullOnce,
    /// Never any capacity.
    FullForever,
    /// Reported with an unknown status while it runs.
    Odd,
    /// It never ends.
    Stuck,
    /// Its file comes late.
    FileLater,
}

// === impl Vendor ===

impl Vendor {
    pub(crate) const ALL: [Self; 5] = [
        Self::Dashscope,
        Self::Ark,
        Self::Kling,
        Self::Minimax,
        Self::Openai,
    ];

    /// The provider, and where the simulator hears it.
    pub(crate) const fn provider(self) -> (&'static str, &'static str) {
        match self {
            Self::Dashscope => ("dashscope_native", "/api/v1"),
            Self::Ark => ("ark", "/api/v3"),
            Self::Kling => ("kling", ""),
            Self::Minimax => ("minimax", "/v1"),
            Self::Openai => ("openai", "/v1"),
        }
    }

    /// A word of the vendor's for what is wrong with a request.
    const fn refusal(self) -> &'static str {
        match self {
            Self::Dashscope | Self::Ark => "InvalidParameter",
            Self::Kling => "1201",
            Self::Minimax => "2013",
            Self::Openai => "invalid_value",
        }
    }

    /// And for a job that went wrong.
    const fn failure(self) -> &'static str {
        match self {
            Self::Dashscope | Self::Ark => "InternalError",
            Self::Kling => "1301",
            Self::Minimax => "1027",
            Self::Openai => "video_generation_failed",
        }
    }
}

// === impl Shape ===

impl Shape {
    pub(crate) fn model(self) -> String {
        self.fields()["model"].as_str().unwrap().to_owned()
    }

    fn fields(self) -> Map<String, Value> {
        serde_json::from_str(self.fields).unwrap()
    }

    /// The request with a prompt.
    pub(crate) fn body(self, prompt: &str) -> String {
        let mut fields = self.fields();
        fields.insert("prompt".to_owned(), json!(prompt));
        Value::Object(fields).to_string()
    }
}

// === impl Scenario ===

impl Scenario {
    pub(crate) const ALL: [Self; 11] = [
        Self::Done,
        Self::Slow,
        Self::Failed,
        Self::Refused,
        Self::Lost,
        Self::Silent,
        Self::FullOnce,
        Self::FullForever,
        Self::Odd,
        Self::Stuck,
        Self::FileLater,
    ];

    /// Drawn: half of them go well.
    pub(crate) fn drawn() -> Self {
        let [dice] = random_bytes::<1>();
        match dice {
            0..90 => Self::Done,
            90..115 => Self::Slow,
            115..150 => Self::Failed,
            150..170 => Self::Refused,
            170..185 => Self::Lost,
            185..195 => Self::Silent,
            195..208 => Self::FullOnce,
            208..214 => Self::FullForever,
            214..228 => Self::Odd,
            228..240 => Self::Stuck,
            240.. => Self::FileLater,
        }
    }

    /// How a prompt asks for it.
    pub(crate) fn words(self, vendor: Vendor) -> String {
        let [dice] = random_bytes::<1>();
        let short = 50 + 4 * u32::from(dice);
        match self {
            Self::Done => format!("[[job:ms:{short}]]"),
            Self::Slow => format!("[[job:ms:{}]]", 4_000 + short),
            Self::Failed => format!("[[job:ms:{short}]] [[job:fail:{}]]", vendor.failure()),
            Self::Refused => format!("[[job:refuse:{}]]", vendor.refusal()),
            Self::Lost => "[[job:lost]]".to_owned(),
            Self::Silent => "[[job:silent]]".to_owned(),
            Self::FullOnce => "[[job:full:1]]".to_owned(),
            Self::FullForever => "[[job:full:1000]]".to_owned(),
            Self::Odd => format!("[[job:ms:{short}]] [[job:odd]]"),
            Self::Stuck => "[[job:stuck]]".to_owned(),
            Self::FileLater => "[[job:file_later:1]]".to_owned(),
        }
    }
}
