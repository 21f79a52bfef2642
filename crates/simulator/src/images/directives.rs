//! What can go wrong on demand with pictures, and how a prompt asks for it: `[[image:dead_link]]`, or
//! any fault of the others as `[[fault:status:503]]`.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::directives::{DirectiveError, bracketed};
use crate::fault::Fault;

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

/// What one prompt asks for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct ImageDirectives {
    /// `[[id:NAME]]`: the name under which a checker finds the call.
    pub(super) marker: Option<String>,
    pub(super) fault: Option<Fault>,
    /// `[[image:count:3]]`: so many pictures, where the model itself decides.
    pub(super) count: Option<u32>,
}

const PLAIN: [ImageFault; 3] = [
    ImageFault::Refused,
    ImageFault::DeadLink,
    ImageFault::GarbageLink,
];
/// The longest name of a call.
const MAX_NAME_BYTES: usize = 200;
const MAX_COUNT: u32 = 1_000;

// === impl ImageFault ===

impl TryFrom<String> for ImageFault {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        let found = PLAIN.iter().find(|fault| fault.to_string() == text);
        if let Some(fault) = found {
            return Ok(*fault);
        }
        let count = text.strip_prefix("fail_some:").and_then(number);
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

// === impl ImageDirectives ===

impl ImageDirectives {
    /// Reads a prompt. Other brackets are left alone; a misspelled directive is refused, or a
    /// test that asks for it would pass.
    pub(super) fn read(prompt: &str) -> Result<Self, DirectiveError> {
        let mut directives = Self::default();
        for inside in bracketed(prompt) {
            directives.take(inside)?;
        }
        Ok(directives)
    }

    fn take(&mut self, inside: &str) -> Result<(), DirectiveError> {
        let wrong = |what: &str| DirectiveError(format!("[[{inside}]]: {what}"));
        match inside.split_once(':') {
            Some(("id", name)) => {
                let end = name.floor_char_boundary(MAX_NAME_BYTES);
                self.marker = name.get(..end).map(str::to_owned);
            }
            Some(("fault", text)) => {
                let fault =
                    Fault::from_text(text).map_err(|_| wrong("no fault, or no such one"))?;
                self.fault = Some(fault);
            }
            Some(("image", wish)) => match wish.split_once(':') {
                Some(("count", digits)) => {
                    let count = number(digits).ok_or_else(|| wrong("not a number of pictures"))?;
                    self.count = Some(count);
                }
                Some(_) | None => {
                    let fault = ImageFault::try_from(wish.to_owned()).map_err(DirectiveError)?;
                    self.fault = Some(Fault::Image(fault));
                }
            },
            Some(_) | None => {}
        }
        Ok(())
    }
}

fn number(digits: &str) -> Option<u32> {
    let number = digits.parse().ok()?;
    (1..=MAX_COUNT).contains(&number).then_some(number)
}

#[cfg(test)]
mod tests {
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

    #[test]
    fn directives_stand_anywhere_in_a_prompt_and_unknown_ones_are_ignored() {
        let directives =
            ImageDirectives::read("a [[id:x-1]] fox [[image:count:3]] [[b]] [[image:refused]]");
        let expected = ImageDirectives {
            marker: Some("x-1".to_owned()),
            fault: Some(Fault::Image(ImageFault::Refused)),
            count: Some(3),
        };
        assert_eq!(directives, Ok(expected));
        let other = ImageDirectives::read("[[fault:status:503]]").unwrap();
        assert_eq!(other.fault, Some(Fault::Status(503)));
        for wrong in ["[[image:no]]", "[[fault:no]]", "[[image:count:0]]"] {
            assert!(ImageDirectives::read(wrong).is_err(), "{wrong}");
        }
    }
}
