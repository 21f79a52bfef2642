//! What can go wrong on demand with social data.

use std::fmt;

use serde::{Deserialize, Serialize};

/// One way of failing. It is written the same in a request (`[[social:slow:300]]`) and in a rule
/// (`{"fault": {"social": "slow:300"}}`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum SocialFault {
    /// `empty`: the list has no items, the item no fields.
    Empty,
    /// `null`: the list or the item is null.
    Null,
    /// `inner`: the platform's own failure inside a good answer.
    Inner,
    /// `no_code`: status 200, and nothing in the body says that it went well.
    NoCode,
    /// `code_400_in_200`: status 200, and the body says 400.
    Code400In200,
    /// `no_data`: a good answer without `data`.
    NoData,
    /// `scalar`: `data` is a number.
    Scalar,
    /// `array`: `data` is a list.
    Array,
    /// `400`, `401`, `503`, …: this status, told under `detail`. 422 has a list there.
    Status(u16),
    /// `400_flat`: status 400, told without `detail`.
    Flat400,
    /// `404_item`: there is no such thing.
    NoItem,
    /// `404_path`: there is no such path.
    NoPath,
    /// `429`, `429:7`: too many requests; come back after so many seconds.
    RateLimited {
        /// Value of `retry-after`.
        retry_after_secs: u32,
    },
    /// `hang`: no answer comes, the connection stays open.
    Hang,
    /// `slow:300`: a good answer after so many milliseconds.
    Slow { millis: u32 },
    /// `close`: the connection ends without an answer.
    Close,
    /// `html`: status 200, and the body is a page.
    Html,
    /// `cut`: the connection ends in the middle of the body.
    Cut,
    /// `big`: a good answer of five million bytes.
    Big,
    /// `same_page`: every page is the first, and says that there is another.
    SamePage,
    /// `marker`: an error that names the vendor, an address and a token.
    Marker,
    /// `retire`: from now on there is no such path.
    Retire,
}

/// Those that are written without a number.
const PLAIN: [SocialFault; 19] = [
    SocialFault::Empty,
    SocialFault::Null,
    SocialFault::Inner,
    SocialFault::NoCode,
    SocialFault::Code400In200,
    SocialFault::NoData,
    SocialFault::Scalar,
    SocialFault::Array,
    SocialFault::Flat400,
    SocialFault::NoItem,
    SocialFault::NoPath,
    SocialFault::Hang,
    SocialFault::Close,
    SocialFault::Html,
    SocialFault::Cut,
    SocialFault::Big,
    SocialFault::SamePage,
    SocialFault::Marker,
    SocialFault::Retire,
];
const DEFAULT_RETRY_AFTER_SECS: u32 = 1;
const MAX_SLOW_MILLIS: u32 = 3_600_000;

// === impl SocialFault ===

impl TryFrom<String> for SocialFault {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        let found = PLAIN.iter().find(|fault| fault.to_string() == text);
        if let Some(fault) = found {
            return Ok(*fault);
        }
        let number = |digits: &str, most: u32| digits.parse().ok().filter(|n| *n <= most);
        let fault = match text.split_once(':') {
            Some(("slow", digits)) => {
                number(digits, MAX_SLOW_MILLIS).map(|millis| Self::Slow { millis })
            }
            Some(("429", digits)) => {
                let retry = |retry_after_secs| Self::RateLimited { retry_after_secs };
                number(digits, u32::MAX).map(retry)
            }
            Some(_) => None,
            None if text == "429" => Some(Self::RateLimited {
                retry_after_secs: DEFAULT_RETRY_AFTER_SECS,
            }),
            None => {
                let status = text.parse().ok().filter(|code| (400..600).contains(code));
                status.map(Self::Status)
            }
        };
        fault.ok_or_else(|| "[[social:…]] names no fault".to_owned())
    }
}

impl From<SocialFault> for String {
    fn from(fault: SocialFault) -> Self {
        fault.to_string()
    }
}

impl fmt::Display for SocialFault {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = match self {
            Self::Slow { millis } => return write!(formatter, "slow:{millis}"),
            Self::RateLimited { retry_after_secs } => {
                return write!(formatter, "429:{retry_after_secs}");
            }
            Self::Status(code) => return write!(formatter, "{code}"),
            Self::Empty => "empty",
            Self::Null => "null",
            Self::Inner => "inner",
            Self::NoCode => "no_code",
            Self::Code400In200 => "code_400_in_200",
            Self::NoData => "no_data",
            Self::Scalar => "scalar",
            Self::Array => "array",
            Self::Flat400 => "400_flat",
            Self::NoItem => "404_item",
            Self::NoPath => "404_path",
            Self::Hang => "hang",
            Self::Close => "close",
            Self::Html => "html",
            Self::Cut => "cut",
            Self::Big => "big",
            Self::SamePage => "same_page",
            Self::Marker => "marker",
            Self::Retire => "retire",
        };
        formatter.write_str(name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fault_is_written_as_it_is_read() {
        let plain = PLAIN.map(|fault| fault.to_string());
        let others = "slow:300 429 429:7 400 401 402 403 404 410 422 500 502 503";
        let texts = plain.iter().map(String::as_str);
        for text in texts.chain(others.split(' ')) {
            let fault = SocialFault::try_from(text.to_owned()).expect(text);
            let written = if text == "429" { "429:1" } else { text };
            assert_eq!(fault.to_string(), written);
            let json = serde_json::to_string(&fault).unwrap();
            assert_eq!(serde_json::from_str::<SocialFault>(&json).unwrap(), fault);
        }
        for text in [
            "",
            "nonsense",
            "slow",
            "slow:3600001",
            "200",
            "399",
            "600",
            "empty:1",
        ] {
            assert!(SocialFault::try_from(text.to_owned()).is_err(), "{text}");
        }
    }
}
