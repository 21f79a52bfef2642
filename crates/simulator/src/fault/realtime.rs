//! What can go wrong with realtime connections beside the faults that every vendor knows.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::FaultTextError;

/// One way of failing. It is written the same in a text (`[[fault:close_code:1011]]`) and in a rule
/// (`{"fault": {"realtime": "close_code:1011"}}`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum RealtimeFault {
    /// `zero_usage`: every count of the usage is zero.
    ZeroUsage,
    /// `empty_usage`: the usage is an empty object.
    EmptyUsage,
    /// `plural_usage`: the details stand under `input_tokens_details` and `output_tokens_details`.
    PluralUsage,
    /// `usage_twice`: `response.done` comes twice, with the same usage.
    UsageTwice,
    /// `binary_frame:2`: after so many events of the response comes a binary frame, and it goes on.
    BinaryFrame { after_frames: u32 },
    /// `binary_audio`: the audio comes in binary frames and not in events.
    BinaryAudio,
    /// `close_code:1011`: after two events of the response the connection is closed with this code.
    CloseCode(u16),
    /// `expire`: after two events the session ends as one that hit its maximum duration.
    Expire,
    /// `response_fails`: after two events the response ends as failed.
    ResponseFails,
    /// `filtered`: after half of its words the response ends as stopped by a content filter.
    Filtered,
    /// `unknown_event:2`: after so many events comes one of an unknown type.
    UnknownEvent { after_frames: u32 },
    /// `late_transcription`: a voice turn's transcription comes after its response.
    LateTranscription,
    /// `transcription_fails`: a voice turn is not transcribed.
    TranscriptionFails,
    /// `no_transcription_usage`: a transcription without usage.
    NoTranscriptionUsage,
}

const PLAIN: [RealtimeFault; 11] = [
    RealtimeFault::ZeroUsage,
    RealtimeFault::EmptyUsage,
    RealtimeFault::PluralUsage,
    RealtimeFault::UsageTwice,
    RealtimeFault::BinaryAudio,
    RealtimeFault::Expire,
    RealtimeFault::ResponseFails,
    RealtimeFault::Filtered,
    RealtimeFault::LateTranscription,
    RealtimeFault::TranscriptionFails,
    RealtimeFault::NoTranscriptionUsage,
];
const DEFAULT_AFTER_FRAMES: u32 = 2;
const DEFAULT_CODE: u16 = 1011;
/// The codes that a server may send.
const MIN_CODE: u16 = 1000;
const MAX_CODE: u16 = 4999;

// === impl RealtimeFault ===

impl RealtimeFault {
    /// Whether it concerns the transcription of a turn and not the response.
    pub(crate) fn is_of_transcription(self) -> bool {
        match self {
            Self::LateTranscription | Self::TranscriptionFails | Self::NoTranscriptionUsage => true,
            Self::ZeroUsage
            | Self::EmptyUsage
            | Self::PluralUsage
            | Self::UsageTwice
            | Self::BinaryFrame { .. }
            | Self::BinaryAudio
            | Self::CloseCode(_)
            | Self::Expire
            | Self::ResponseFails
            | Self::Filtered
            | Self::UnknownEvent { .. } => false,
        }
    }

    pub(crate) fn from_text(text: &str) -> Result<Self, FaultTextError> {
        if let Some(fault) = PLAIN.iter().find(|fault| fault.to_string() == text) {
            return Ok(*fault);
        }
        let (name, number) = match text.split_once(':') {
            Some((name, digits)) => (name, Some(digits)),
            None => (text, None),
        };
        let after_frames = match number {
            None => Ok(DEFAULT_AFTER_FRAMES),
            Some(digits) => digits.parse().map_err(|_| FaultTextError::NotANumber),
        };
        match name {
            "binary_frame" => after_frames.map(|after_frames| Self::BinaryFrame { after_frames }),
            "unknown_event" => after_frames.map(|after_frames| Self::UnknownEvent { after_frames }),
            "close_code" => match number.map(str::parse) {
                None => Ok(Self::CloseCode(DEFAULT_CODE)),
                Some(Ok(code)) if (MIN_CODE..=MAX_CODE).contains(&code) => {
                    Ok(Self::CloseCode(code))
                }
                Some(Ok(_) | Err(_)) => Err(FaultTextError::NotANumber),
            },
            _ if PLAIN.iter().any(|fault| fault.to_string() == name) => {
                Err(FaultTextError::TakesNoNumber)
            }
            _ => Err(FaultTextError::UnknownName),
        }
    }
}

impl TryFrom<String> for RealtimeFault {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        let error_text = |error| match error {
            FaultTextError::UnknownName => "no fault of realtime connections has this name",
            FaultTextError::NotANumber => "behind the colon stands a number of this fault's range",
            FaultTextError::TakesNoNumber => "this fault takes no number",
        };
        Self::from_text(&text).map_err(|error| error_text(error).to_owned())
    }
}

impl From<RealtimeFault> for String {
    fn from(fault: RealtimeFault) -> Self {
        fault.to_string()
    }
}

impl fmt::Display for RealtimeFault {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::BinaryFrame { after_frames } => {
                return write!(formatter, "binary_frame:{after_frames}");
            }
            Self::UnknownEvent { after_frames } => {
                return write!(formatter, "unknown_event:{after_frames}");
            }
            Self::CloseCode(code) => return write!(formatter, "close_code:{code}"),
            Self::ZeroUsage => "zero_usage",
            Self::EmptyUsage => "empty_usage",
            Self::PluralUsage => "plural_usage",
            Self::UsageTwice => "usage_twice",
            Self::BinaryAudio => "binary_audio",
            Self::Expire => "expire",
            Self::ResponseFails => "response_fails",
            Self::Filtered => "filtered",
            Self::LateTranscription => "late_transcription",
            Self::TranscriptionFails => "transcription_fails",
            Self::NoTranscriptionUsage => "no_transcription_usage",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fault_is_written_as_it_is_read() {
        let plain = PLAIN.map(|fault| fault.to_string());
        let others = ["binary_frame:3", "unknown_event:1", "close_code:1013"];
        for text in plain.iter().map(String::as_str).chain(others) {
            let fault = RealtimeFault::from_text(text).expect(text);
            assert_eq!(fault.to_string(), text);
            let json = serde_json::to_string(&fault).unwrap();
            assert_eq!(serde_json::from_str::<RealtimeFault>(&json).unwrap(), fault);
        }
        for text in ["zero_usage:1", "close_code:999", "binary_frame:x", "dead"] {
            assert!(RealtimeFault::try_from(text.to_owned()).is_err(), "{text}");
        }
    }
}
