//! What a prompt may ask for beyond the common directives: only the APIs of OpenAI's family
//! understand these.

use crate::fault::Spelling;

use super::{DirectiveError, MAX_TOKENS, number};

/// The further directives of one prompt.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct OpenAiDirectives {
    /// `[[cache_write:7]]`
    pub(crate) cache_write_tokens: u64,
    /// `[[served_tier:default]]`: the tier that serves it, whatever was asked for.
    pub(crate) service_tier: Option<String>,
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

/// The tiers that the vendor serves.
const TIERS: [&str; 5] = ["default", "flex", "scale", "priority", "fast"];
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

pub(crate) const CATEGORIES: [&str; 13] = [
    "harassment",
    "harassment/threatening",
    "hate",
    "hate/threatening",
    "illicit",
    "illicit/violent",
    "self-harm",
    "self-harm/instructions",
    "self-harm/intent",
    "sexual",
    "sexual/minors",
    "violence",
    "violence/graphic",
];

// === impl OpenAiDirectives ===

impl OpenAiDirectives {
    /// Whether this was one of ours.
    pub(crate) fn take(&mut self, name: &str, value: &str) -> Result<bool, DirectiveError> {
        match name {
            "cache_write" => self.cache_write_tokens = number(name, value, MAX_TOKENS)?,
            "served_tier" if TIERS.contains(&value) => self.service_tier = Some(value.to_owned()),
            "served_tier" => return Err(unknown(name, "a tier of the vendor's")),
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
            "not_found" => self.spelling = Some(spelling(value)?),
            "deployment" if value == "missing" => self.is_deployment_missing = true,
            "deployment" => return Err(unknown(name, "missing")),
            "flag" if CATEGORIES.contains(&value) => {
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

/// The way to say no that a prompt names.
fn spelling(text: &str) -> Result<Spelling, DirectiveError> {
    match text {
        "status400" => Ok(Spelling::Status400),
        "status404" => Ok(Spelling::Status404),
        "no_code" => Ok(Spelling::NoCode),
        "error_event" => Ok(Spelling::ErrorEvent),
        "nested_error_event" => Ok(Spelling::NestedErrorEvent),
        "failed_event" => Ok(Spelling::FailedEvent),
        "late_failed_event" => Ok(Spelling::LateFailedEvent),
        _ => Err(unknown(
            "not_found",
            "status400, status404, no_code, error_event, nested_error_event, failed_event or \
             late_failed_event",
        )),
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
            let read = spelling(name).expect(name);
            let json = serde_json::to_string(&read).unwrap();
            assert_eq!(json, format!("\"{name}\""));
        }
        assert!(spelling("status500").is_err());
    }

    #[test]
    fn a_bad_value_behind_one_of_these_names_is_refused() {
        for (name, value) in [
            ("filter", "both"),
            ("fail", "tired"),
            ("cite", "101"),
            ("served_tier", "auto"),
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
