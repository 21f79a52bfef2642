//! What can go wrong on demand: the closed list of faults, and the rules that bring them about.
//!
//! A fault is chosen by a rule or by the prompt (`[[fault:no_usage]]`); how it looks on the wire
//! is decided in `script`.

mod audio;
mod image;
mod realtime;
mod social;
mod spelling;
mod upstream_error;

use serde::{Deserialize, Serialize};

pub use audio::AudioFault;
pub use image::ImageFault;
pub use realtime::RealtimeFault;
pub use social::SocialFault;
pub use spelling::Spelling;
pub(crate) use upstream_error::{UpstreamError, inside_200};

/// One way of failing. In JSON a fault is written as `"no_usage"`, `{"status": 503}` or
/// `{"hang_mid_stream": {"after_frames": 3}}`; in a prompt as `[[fault:hang_mid_stream:3]]`.
///
/// A fault that speaks of frames treats an answer that is not streamed as one frame and strikes in
/// its middle.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Fault {
    /// The connection ends without a byte of an answer.
    CloseBeforeHeaders,
    /// No byte of an answer comes, the connection stays open.
    HangBeforeHeaders,
    /// A good answer, whose first byte comes only after this time.
    SlowFirstByte { millis: u32 },
    /// After so many frames nothing more comes, the connection stays open.
    HangMidStream { after_frames: u32 },
    /// After so many frames the connection ends, in the middle of the body.
    CloseMidStream { after_frames: u32 },
    /// After so many frames comes one that is neither JSON nor UTF-8; then the stream goes on.
    GarbageFrame {
        /// Frames that arrive before it.
        after_frames: u32,
    },
    /// The document ends in its middle while the transport says that it is complete.
    TruncatedJson,
    /// Status 429 with `retry-after`.
    RateLimited {
        /// Value of `retry-after`.
        retry_after_secs: u32,
    },
    /// This status with an error body. Outside 400 to 599 it is served as 500.
    Status(u16),
    /// Status 200, and the body is an error.
    ErrorInside200,
    /// Status 200, and the body is an error as MiniMax writes it, with this code.
    BaseResp(u32),
    /// After so many frames comes a frame with an error, and the stream ends.
    ErrorFrameMidStream {
        /// Frames that arrive before it.
        after_frames: u32,
    },
    /// A pause before every frame, or before every few bytes of a whole answer.
    SlowDrip { millis: u32 },
    /// `content-length` promises more than is sent.
    WrongContentLength,
    /// A correct answer of about so many bytes.
    GiganticBody { bytes: u64 },
    /// One frame of about so many bytes, in one line.
    GiganticFrame {
        /// Size of the content in this frame.
        bytes: u64,
    },
    /// Usage is told, multiplied by this.
    LyingUsage {
        /// What the true counts are multiplied by.
        factor: u32,
    },
    /// Usage is never told.
    NoUsage,
    /// Usage comes in two frames, each with half of the fields.
    SplitUsage,
    /// The stream ends without its `[DONE]`.
    NoDone,
    /// No `finish_reason` is told.
    NoFinishReason,
    /// The bytes come in pieces of this size, cut without regard for lines and characters.
    SplitBytes {
        /// Bytes of each piece; zero is read as one.
        chunk: u32,
    },
    /// Lines end with CRLF, and comments stand between the frames.
    CrLf,
    /// The answer is good, but for so many seconds it cannot be continued by its id. It concerns
    /// the Responses API alone.
    NotReady {
        /// How long the id is unknown.
        secs: u32,
        /// How a request that comes too early is told so.
        #[serde(default)]
        spelling: Spelling,
    },
    /// A fault of speech and recognition, `{"audio": "dead_file"}`; in a prompt `[[fault:dead_file]]`.
    /// Its rules strike requests for either and no others.
    Audio(AudioFault),
    /// A fault of the source of social data, `{"social": "empty"}`. Its rules strike its requests and
    /// no others, and `model` is the path there.
    Social(SocialFault),
    /// A fault of makers of pictures, `{"image": "fail_some:2"}`. Its rules strike their requests and
    /// no others; they meet the rules of the other faults too.
    Image(ImageFault),
    /// A fault of realtime connections, `{"realtime": "zero_usage"}`; in a text `[[fault:zero_usage]]`.
    /// Its rules strike responses and transcriptions of such connections and nothing else.
    Realtime(RealtimeFault),
}

/// When a fault strikes. It concerns requests for a completion that are otherwise acceptable.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Rule {
    pub fault: Fault,
    /// How often it happens before the rule is spent; `None` is until the rules are cleared.
    #[serde(default)]
    pub times: Option<u32>,
    /// Only for this model; for social data, this path.
    #[serde(default)]
    pub model: Option<String>,
    /// Only for this key, given in full; for Bedrock it is the access key id.
    #[serde(default)]
    pub key: Option<String>,
    /// Every how many matching requests: 1 is each, 3 is the third, the sixth and so on. Zero is
    /// read as one.
    #[serde(default = "always")]
    pub one_in: u32,
}

/// Why the text of a fault in a prompt is not a fault.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum FaultTextError {
    UnknownName,
    NotANumber,
    TakesNoNumber,
}

/// The rules in force, in the order in which they were planned.
#[derive(Debug, Default)]
pub(crate) struct Plans {
    rules: Vec<Planned>,
}

#[derive(Debug)]
struct Planned {
    rule: Rule,
    matched: u32,
    struck: u32,
}

/// Defaults for faults that a prompt names without a number.
const DEFAULT_AFTER_FRAMES: u32 = 2;
const DEFAULT_RETRY_AFTER_SECS: u32 = 1;
const DEFAULT_STATUS: u16 = 500;
const DEFAULT_DRIP_MILLIS: u32 = 50;
const DEFAULT_FIRST_BYTE_MILLIS: u32 = 1000;
const DEFAULT_GIGANTIC_BYTES: u64 = 64 * 1024 * 1024;
const DEFAULT_FACTOR: u32 = 10;
const DEFAULT_CHUNK: u32 = 1;
const DEFAULT_NOT_READY_SECS: u32 = 10;
/// MiniMax's code for bad parameters.
const DEFAULT_BASE_CODE: u32 = 2013;

// === impl Fault ===

impl Fault {
    /// Whether it is none of one kind of vendor alone.
    fn is_common(self) -> bool {
        !matches!(
            self,
            Self::Audio(_) | Self::Social(_) | Self::Image(_) | Self::Realtime(_)
        )
    }

    /// Whether it strikes before or instead of an answer.
    fn is_of_head(self) -> bool {
        matches!(
            self,
            Self::CloseBeforeHeaders
                | Self::HangBeforeHeaders
                | Self::SlowFirstByte { .. }
                | Self::RateLimited { .. }
                | Self::Status(_)
        )
    }

    /// Reads `name` or `name:number`, as it stands in a prompt.
    pub(crate) fn from_text(text: &str) -> Result<Self, FaultTextError> {
        let (name, number) = match text.split_once(':') {
            Some((name, digits)) => {
                let number = digits.parse().map_err(|_| FaultTextError::NotANumber)?;
                (name, Some(number))
            }
            None => (text, None),
        };
        let plain = |fault| match number {
            None => Ok(fault),
            Some(_) => Err(FaultTextError::TakesNoNumber),
        };
        let small = |default: u32| match number {
            None => Ok(default),
            Some(number) => u32::try_from(number).map_err(|_| FaultTextError::NotANumber),
        };
        match name {
            "close_before_headers" => plain(Self::CloseBeforeHeaders),
            "hang_before_headers" => plain(Self::HangBeforeHeaders),
            "slow_first_byte" => {
                small(DEFAULT_FIRST_BYTE_MILLIS).map(|millis| Self::SlowFirstByte { millis })
            }
            "hang_mid_stream" => {
                small(DEFAULT_AFTER_FRAMES).map(|after_frames| Self::HangMidStream { after_frames })
            }
            "close_mid_stream" => small(DEFAULT_AFTER_FRAMES)
                .map(|after_frames| Self::CloseMidStream { after_frames }),
            "garbage_frame" => {
                small(DEFAULT_AFTER_FRAMES).map(|after_frames| Self::GarbageFrame { after_frames })
            }
            "truncated_json" => plain(Self::TruncatedJson),
            "rate_limited" => small(DEFAULT_RETRY_AFTER_SECS)
                .map(|retry_after_secs| Self::RateLimited { retry_after_secs }),
            "status" => status(number),
            "error_inside200" => plain(Self::ErrorInside200),
            "base_resp" => small(DEFAULT_BASE_CODE).map(Self::BaseResp),
            "error_frame_mid_stream" => small(DEFAULT_AFTER_FRAMES)
                .map(|after_frames| Self::ErrorFrameMidStream { after_frames }),
            "slow_drip" => small(DEFAULT_DRIP_MILLIS).map(|millis| Self::SlowDrip { millis }),
            "wrong_content_length" => plain(Self::WrongContentLength),
            "gigantic_body" => Ok(Self::GiganticBody {
                bytes: number.unwrap_or(DEFAULT_GIGANTIC_BYTES),
            }),
            "gigantic_frame" => Ok(Self::GiganticFrame {
                bytes: number.unwrap_or(DEFAULT_GIGANTIC_BYTES),
            }),
            "lying_usage" => small(DEFAULT_FACTOR).map(|factor| Self::LyingUsage { factor }),
            "no_usage" => plain(Self::NoUsage),
            "split_usage" => plain(Self::SplitUsage),
            "no_done" => plain(Self::NoDone),
            "no_finish_reason" => plain(Self::NoFinishReason),
            "split_bytes" => small(DEFAULT_CHUNK).map(|chunk| Self::SplitBytes { chunk }),
            "cr_lf" => plain(Self::CrLf),
            "not_ready" => small(DEFAULT_NOT_READY_SECS).map(|secs| Self::NotReady {
                secs,
                spelling: Spelling::default(),
            }),
            _ => match AudioFault::from_text(text) {
                Err(FaultTextError::UnknownName) => {
                    RealtimeFault::from_text(text).map(Self::Realtime)
                }
                audio => audio.map(Self::Audio),
            },
        }
    }
}

// === impl Plans ===

impl Plans {
    pub(crate) fn add(&mut self, rule: Rule) {
        self.rules.push(Planned {
            rule,
            matched: 0,
            struck: 0,
        });
    }

    pub(crate) fn len(&self) -> usize {
        self.rules.len()
    }

    pub(crate) fn clear(&mut self) {
        self.rules.clear();
    }

    /// The fault for this request. The first rule that strikes wins, and the later ones do not
    /// count this request, so that two rules never share one.
    pub(crate) fn strike(&mut self, model: &str, key: &str) -> Option<Fault> {
        self.struck(model, key, Fault::is_common)
    }

    /// The same for a request for speech or recognition, which knows the common faults and its own.
    pub(crate) fn strike_audio(&mut self, model: &str, key: &str) -> Option<Fault> {
        let is_ours = |fault: Fault| fault.is_common() || matches!(fault, Fault::Audio(_));
        self.struck(model, key, is_ours)
    }

    /// The same for a request for pictures.
    pub(crate) fn strike_image(&mut self, model: &str, key: &str) -> Option<Fault> {
        let is_ours = |fault: Fault| fault.is_common() || matches!(fault, Fault::Image(_));
        self.struck(model, key, is_ours)
    }

    /// The same for the upgrade of a connection: what strikes before or instead of an answer.
    pub(crate) fn strike_upgrade(&mut self, model: &str, key: &str) -> Option<Fault> {
        self.struck(model, key, Fault::is_of_head)
    }

    /// The same for a response of a realtime connection: the common faults that strike an answer, and its own.
    pub(crate) fn strike_realtime(&mut self, model: &str, key: &str) -> Option<Fault> {
        let is_ours = |fault: Fault| {
            let is_own = matches!(fault, Fault::Realtime(own) if !own.is_of_transcription());
            is_own || (fault.is_common() && !fault.is_of_head())
        };
        self.struck(model, key, is_ours)
    }

    /// The same for a transcription of a realtime connection.
    pub(crate) fn strike_transcription(&mut self, model: &str, key: &str) -> Option<RealtimeFault> {
        let is_ours =
            |fault: Fault| matches!(fault, Fault::Realtime(own) if own.is_of_transcription());
        match self.struck(model, key, is_ours) {
            Some(Fault::Realtime(fault)) => Some(fault),
            Some(_) | None => None,
        }
    }

    /// The same for a request for social data.
    pub(crate) fn strike_social(&mut self, path: &str, key: &str) -> Option<SocialFault> {
        let is_ours = |fault: Fault| matches!(fault, Fault::Social(_));
        match self.struck(path, key, is_ours) {
            Some(Fault::Social(fault)) => Some(fault),
            Some(_) | None => None,
        }
    }

    fn struck(&mut self, model: &str, key: &str, is_ours: fn(Fault) -> bool) -> Option<Fault> {
        for planned in &mut self.rules {
            if !is_ours(planned.rule.fault) {
                continue;
            }
            if let Some(fault) = planned.strike(model, key) {
                let spent = planned.rule.times == Some(planned.struck);
                if spent {
                    self.rules
                        .retain(|other| other.rule.times != Some(other.struck));
                }
                return Some(fault);
            }
        }
        None
    }
}

// === impl Planned ===

impl Planned {
    fn strike(&mut self, model: &str, key: &str) -> Option<Fault> {
        let rule = &self.rule;
        if rule.times == Some(self.struck)
            || rule
                .model
                .as_deref()
                .is_some_and(|expected| expected != model)
            || rule.key.as_deref().is_some_and(|expected| expected != key)
        {
            return None;
        }
        self.matched = self.matched.saturating_add(1);
        if self.matched < rule.one_in {
            return None;
        }
        // The count starts again, so it cannot run to the end of its range.
        self.matched = 0;
        self.struck = self.struck.saturating_add(1);
        Some(rule.fault)
    }
}

fn status(number: Option<u64>) -> Result<Fault, FaultTextError> {
    let Some(number) = number else {
        return Ok(Fault::Status(DEFAULT_STATUS));
    };
    match u16::try_from(number) {
        Ok(code) if (400..600).contains(&code) => Ok(Fault::Status(code)),
        Ok(_) | Err(_) => Err(FaultTextError::NotANumber),
    }
}

fn always() -> u32 {
    1
}

#[cfg(test)]
mod tests;
