//! What a prompt may ask for beyond the common directives: only the APIs of OpenAI's family
//! understand these.

use serde::{Deserialize, Serialize};

use crate::directives::{DirectiveError, MAX_TOKENS, number};

/// The further directives of one prompt.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct OpenAiDirectives {
    /// `[[cache_write:7]]`
    pub(crate) cache_write_tokens: u64,
    /// `[[cite:2]]`: so many addresses beneath the text.
    pub(crate) citations: u64,
    /// `[[filter:prompt]]` or `[[filter:output]]`
    pub(crate) filter: Option<Filter>,
    /// `[[fail:server_error]]`: the response ends as failed, with this code.
    pub(crate) fail: Option<String>,
    /// `[[not_found:status404]]`: how an unknown earlier response is told.
    pub(crate) spelling: Option<Spelling>,
    /// `[[deployment:missing]]`: Azure knows no such deployment.
    pub(crate) is_deployment_missing: bool,
    /// `[[flag:violence]]`: what a moderation finds.
    pub(crate) flags: Vec<String>,
}

/// Where a content filter strikes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Filter {
    Prompt,
    Output,
}

/// How `previous_response_not_found` is told. The last four are for streams; a request that is not
/// streamed gets the first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Spelling {
    /// Status 400 with the code.
    #[default]
    Status400,
    /// Status 404 with the code.
    Status404,
    /// Status 400 without a code: only the words tell.
    NoCode,
    /// Status 200 and an `error` event, its fields beside the type.
    ErrorEvent,
    /// Status 200 and an `error` event with an object `error` inside.
    NestedErrorEvent,
    /// Status 200 and `response.failed` as the first event.
    FailedEvent,
    /// Status 200, `response.created`, `response.in_progress`, and then `response.failed`.
    LateFailedEvent,
}

/// Most citations of one text.
const MAX_CITATIONS: u64 = 100;

/// The codes with which a response may fail, as the vendor lists them.
const FAILURES: [&str; 21] = [
    "server_error",
    "rate_limit_exceeded",
    "invalid_prompt",
    "data_residency_mismatch",
    "bio_policy",
    "misalignment_policy_violation",
    "vector_store_timeout",
    "invalid_image",
    "invalid_image_format",
    "invalid_base64_image",
    "invalid_image_url",
    "image_too_large",
    "image_too_small",
    "image_parse_error",
    "image_content_policy_violation",
    "invalid_image_mode",
    "image_file_too_large",
    "unsupported_image_media_type",
    "empty_image_file",
    "failed_to_download_image",
    "image_file_not_found",
];

// === impl OpenAiDirectives ===

impl OpenAiDirectives {
    /// Whether this was one of ours.
    pub(crate) fn take(&mut self, name: &str, value: &str) -> Result<bool, DirectiveError> {
        match name {
            "cache_write" => self.cache_write_tokens = number(name, value, MAX_TOKENS)?,
            "cite" => self.citations = number(name, value, MAX_CITATIONS)?,
            "filter" => {
                self.filter = Some(match value {
                    "prompt" => Filter::Prompt,
                    "output" => Filter::Output,
                    _ => return Err(unknown(name, "prompt or output")),
                });
            }
            "fail" if FAILURES.contains(&value) => self.fail = Some(value.to_owned()),
            "fail" => return Err(unknown(name, "a code of the vendor's list")),
            "not_found" => self.spelling = Some(Spelling::from_text(value)?),
            "deployment" if value == "missing" => self.is_deployment_missing = true,
            "deployment" => return Err(unknown(name, "missing")),
            "flag" if crate::passthrough::is_category(value) => {
                if !self.flags.iter().any(|flag| flag == value) {
                    self.flags.push(value.to_owned());
                }
            }
            "flag" => return Err(unknown(name, "a category of moderation")),
            _ => return Ok(false),
        }
        Ok(true)
    }
}

// === impl Spelling ===

impl Spelling {
    fn from_text(text: &str) -> Result<Self, DirectiveError> {
        match text {
            "status400" => Ok(Self::Status400),
            "status404" => Ok(Self::Status404),
            "no_code" => Ok(Self::NoCode),
            "error_event" => Ok(Self::ErrorEvent),
            "nested_error_event" => Ok(Self::NestedErrorEvent),
            "failed_event" => Ok(Self::FailedEvent),
            "late_failed_event" => Ok(Self::LateFailedEvent),
            _ => Err(unknown(
                "not_found",
                "status400, status404, no_code, error_event, nested_error_event, failed_event or \
                 late_failed_event",
            )),
        }
    }
}

fn unknown(name: &str, takes: &str) -> DirectiveError {
    DirectiveError(format!("[[{name}:…]] takes {takes}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_name_of_a_spelling_in_a_prompt_is_its_name_in_json() {
        for name in [
            "status400",
            "status404",
            "no_code",
            "error_event",
            "nested_error_event",
            "failed_event",
            "late_failed_event",
        ] {
            let spelling = Spelling::from_text(name).expect(name);
            let json = serde_json::to_string(&spelling).unwrap();
            assert_eq!(json, format!("\"{name}\""));
        }
        assert!(Spelling::from_text("status500").is_err());
    }

    #[test]
    fn a_bad_value_behind_one_of_these_names_is_refused() {
        for (name, value) in [
            ("filter", "both"),
            ("fail", "tired"),
            ("cite", "101"),
            ("deployment", "there"),
            ("flag", "spam"),
        ] {
            assert!(
                OpenAiDirectives::default().take(name, value).is_err(),
                "{name}"
            );
        }
        assert_eq!(OpenAiDirectives::default().take("other", "x"), Ok(false));
        assert_eq!(OpenAiDirectives::default().take("cite", "100"), Ok(true));
    }
}
