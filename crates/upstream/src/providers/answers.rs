//! What an upstream's refusal is about, by rows of data: the provider's own, then those of every provider.
//!
//! What no row knows is about the request: nothing that other callers share suffers from it.

use std::sync::LazyLock;

use http::HeaderMap;
use serde::Deserialize;

/// The rows of every provider.
const BASE: &str = include_str!("../../answers.toml");
/// Most rows of one provider.
const MAX_ROWS: usize = 64;
/// Most codes of one row, and the longest.
const MAX_CODES: usize = 64;
const MAX_CODE_CHARACTERS: usize = 128;

/// The rows of every provider, parsed. A test excludes a mistake in them.
static BASE_ROWS: LazyLock<Vec<AnswerRow>> = LazyLock::new(|| {
    let file = toml::from_str::<BaseFile>(BASE);
    file.map(|file| file.answers).unwrap_or_default()
});

/// What a refusal is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AnswerClass {
    /// This request; another channel would refuse it too.
    Request,
    /// The credential it was sent with.
    Credential,
    /// The vendor's account has nothing left for now.
    Quota,
    /// The model, which is not served there.
    ModelAbsent,
    /// The rate of requests. Nothing was done.
    RateLimited,
    /// The vendor has no capacity now. Nothing was done.
    Overloaded,
    /// The vendor failed, and may have done the work.
    Failed,
}

/// One row: which answers, and what they are about.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AnswerRow {
    /// Empty: any.
    #[serde(default)]
    status: Vec<u16>,
    /// Empty: any. A star at the end stands for any ending.
    #[serde(default)]
    codes: Vec<String>,
    /// The header whose value is the code; without one it is the body's.
    #[serde(default)]
    header: Option<String>,
    class: AnswerClass,
}

/// A refusal as it is classified.
#[derive(Debug, Clone, Copy)]
pub struct Refusal<'a> {
    pub status: u16,
    /// Its code and its type in the body.
    pub codes: [Option<&'a str>; 2],
    pub headers: &'a HeaderMap,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct BaseFile {
    answers: Vec<AnswerRow>,
}

/// What a refusal is about, by the provider's rows, then by those of every provider.
pub(super) fn class(rows: &[AnswerRow], refusal: Refusal<'_>) -> AnswerClass {
    let mut rows = rows.iter().chain(BASE_ROWS.iter());
    match rows.find(|row| row.matches(refusal)) {
        Some(row) => row.class,
        None if refusal.status >= 500 => AnswerClass::Failed,
        None => AnswerClass::Request,
    }
}

/// A provider's own rows. The error says what is wrong with them.
pub(super) fn read(value: &toml::Value) -> Result<Vec<AnswerRow>, String> {
    let rows: Vec<AnswerRow> = value
        .clone()
        .try_into()
        .map_err(|error: toml::de::Error| format!("has a wrong row: {}", error.message()))?;
    if rows.len() > MAX_ROWS {
        return Err(format!("has more than {MAX_ROWS} rows"));
    }
    for row in &rows {
        row.check()?;
    }
    Ok(rows)
}

// === impl AnswerRow ===

impl AnswerRow {
    fn check(&self) -> Result<(), String> {
        if self.status.is_empty() && self.codes.is_empty() {
            return Err(
                "has a row without status and codes: it would match every answer".to_owned(),
            );
        }
        if self.header.is_some() && self.codes.is_empty() {
            return Err("has a row with a header and no codes".to_owned());
        }
        let long = |code: &String| code.is_empty() || code.chars().count() > MAX_CODE_CHARACTERS;
        if self.codes.len() > MAX_CODES || self.codes.iter().any(long) {
            return Err(format!(
                "has a row with more than {MAX_CODES} codes, or one that is empty or too long"
            ));
        }
        Ok(())
    }

    fn matches(&self, refusal: Refusal<'_>) -> bool {
        let status = self.status.is_empty() || self.status.contains(&refusal.status);
        status && (self.codes.is_empty() || self.names(refusal))
    }

    /// Whether one of its codes is the refusal's.
    fn names(&self, refusal: Refusal<'_>) -> bool {
        let given = match &self.header {
            None => refusal.codes,
            Some(name) => {
                let value = refusal.headers.get(name.as_str());
                let value = value.and_then(|value| value.to_str().ok());
                // AWS writes a link behind the name of its error.
                let code = value.and_then(|value| value.split(':').next());
                [code.map(str::trim), None]
            }
        };
        let mut given = given.into_iter().flatten();
        given.any(|code| self.codes.iter().any(|known| fits(known, code)))
    }
}

fn fits(known: &str, code: &str) -> bool {
    match known.strip_suffix('*') {
        Some(beginning) => code.starts_with(beginning),
        None => code == known,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn class_of(rows: &str, status: u16, codes: [Option<&str>; 2]) -> AnswerClass {
        let rows: BaseFile = toml::from_str(rows).unwrap();
        let headers = HeaderMap::new();
        let refusal = Refusal {
            status,
            codes,
            headers: &headers,
        };
        class(&rows.answers, refusal)
    }

    #[test]
    fn a_refusal_that_no_row_names_is_about_the_request() {
        assert!(toml::from_str::<BaseFile>(BASE).is_ok());
        let by_status = |status| class_of("answers = []", status, [None, None]);
        for (status, class) in [
            (400, AnswerClass::Request),
            (401, AnswerClass::Credential),
            (402, AnswerClass::Quota),
            (403, AnswerClass::Request),
            (404, AnswerClass::Request),
            (418, AnswerClass::Request),
            (429, AnswerClass::RateLimited),
            (500, AnswerClass::Failed),
            (503, AnswerClass::Overloaded),
            (529, AnswerClass::Overloaded),
            (599, AnswerClass::Failed),
        ] {
            assert_eq!(by_status(status), class, "{status}");
        }
    }

    #[test]
    fn the_code_or_the_type_of_the_body_decides_where_a_row_names_it() {
        let base = |status, code, kind| class_of("answers = []", status, [Some(code), Some(kind)]);
        assert_eq!(
            base(429, "insufficient_quota", "insufficient_quota"),
            AnswerClass::Quota
        );
        assert_eq!(
            base(404, "model_not_found", "invalid_request_error"),
            AnswerClass::ModelAbsent
        );
        assert_eq!(base(403, "content_policy", "x"), AnswerClass::Request);
        let own = "[[answers]]\nstatus = [404]\ncodes = [\"NotFound*\"]\nclass = \"model_absent\"\n\
                   [[answers]]\nstatus = [401]\nclass = \"request\"";
        assert_eq!(
            class_of(own, 404, [None, Some("NotFound.Model")]),
            AnswerClass::ModelAbsent
        );
        assert_eq!(class_of(own, 401, [None, None]), AnswerClass::Request);
        assert_eq!(class_of(own, 402, [None, None]), AnswerClass::Quota);
    }

    #[test]
    fn a_header_can_be_the_code() {
        let rows = "[[answers]]\nheader = \"x-amzn-errortype\"\ncodes = [\"ThrottlingException\"]\n\
                    class = \"rate_limited\"";
        let rows: BaseFile = toml::from_str(rows).unwrap();
        let mut headers = HeaderMap::new();
        let value = "ThrottlingException:http://internal.amazon.com/coral/".parse();
        headers.insert("x-amzn-errortype", value.unwrap());
        let refusal = Refusal {
            status: 400,
            codes: [None, None],
            headers: &headers,
        };
        assert_eq!(class(&rows.answers, refusal), AnswerClass::RateLimited);
    }

    #[test]
    fn a_row_that_would_match_every_answer_is_refused() {
        let read = |text: &str| read(text.parse::<toml::Table>().unwrap().get("answers").unwrap());
        assert!(read("[[answers]]\nclass = \"quota\"").is_err());
        assert!(read("[[answers]]\nstatus = [1]\nclass = \"weather\"").is_err());
        assert!(read("[[answers]]\nstatus = [1]\nheader = \"x\"\nclass = \"quota\"").is_err());
        assert!(read("[[answers]]\nstatus = [1]\nclass = \"quota\"").is_ok());
        assert!(read("[[answers]]\ncodes = [\"\"]\nclass = \"quota\"").is_err());
    }
}
