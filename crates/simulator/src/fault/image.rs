//! What can go wrong on demand with pictures.

use std::fmt;

use serde::{Deserialize, Serialize};

/// One way of failing that only makers of pictures have. It is written the same in a prompt
/// (`[[image:fail_some:2]]`) and in a rule (`{"fault": {"image": "fail_some:2"}}`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum ImageFault {
    /// `fail_some:2`: the first so many pictures are not made, which is told as the vendor does. If
    /// none is left, the vendor refuses.
    FailSome {
        /// Pictures that are not made.
        count: u32,
    },
    /// `refused`: the prompt is blocked, with the vendor's code for it.
    Refused,
    /// `dead_link`: links of this answer say 404. Pictures inside the answer are good.
    DeadLink,
    /// `garbage_link`: links of this answer say 200 and lead to bytes that are no picture.
    GarbageLink,
}

const PLAIN: [ImageFault; 3] = [
    ImageFault::Refused,
    ImageFault::DeadLink,
    ImageFault::GarbageLink,
];
const MAX_COUNT: u32 = 1_000;

// === impl ImageFault ===

impl ImageFault {
    /// A number of pictures.
    pub(crate) fn number(digits: &str) -> Option<u32> {
        let number = digits.parse().ok()?;
        (1..=MAX_COUNT).contains(&number).then_some(number)
    }
}

impl TryFrom<String> for ImageFault {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        let found = PLAIN.iter().find(|fault| fault.to_string() == text);
        if let Some(fault) = found {
            return Ok(*fault);
        }
        let count = text.strip_prefix("fail_some:").and_then(Self::number);
        let fault = count.map(|count| Self::FailSome { count });
        fault.ok_or_else(|| "[[image:…]] names no fault".to_owned())
    }
}

impl From<ImageFault> for String {
    fn from(fault: ImageFault) -> Self {
        fault.to_string()
    }
}

impl fmt::Display for ImageFault {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::FailSome { count } => return write!(formatter, "fail_some:{count}"),
            Self::Refused => "refused",
            Self::DeadLink => "dead_link",
            Self::GarbageLink => "garbage_link",
        })
    }
}

#[cfg(test)]
mod tests {
    use crate::fault::Fault;

    use super::*;

    #[test]
    fn a_fault_is_written_as_it_is_read() {
        for text in ["fail_some:2", "refused", "dead_link", "garbage_link"] {
            let fault = ImageFault::try_from(text.to_owned()).expect(text);
            assert_eq!(fault.to_string(), text);
            let json = serde_json::to_string(&Fault::Image(fault)).unwrap();
            assert_eq!(json, format!("{{\"image\":\"{text}\"}}"));
            let read: Fault = serde_json::from_str(&json).unwrap();
            assert_eq!(read, Fault::Image(fault));
        }
        for text in ["", "fail_some", "fail_some:0", "fail_some:1001", "dead"] {
            assert!(ImageFault::try_from(text.to_owned()).is_err(), "{text}");
        }
    }
}
