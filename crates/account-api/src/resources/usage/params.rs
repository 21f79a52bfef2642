//! The query, read strictly. A parameter that would have no effect is refused.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use http::HeaderMap;
use http::header::ACCEPT;
use percent_encoding::percent_decode_str;
use trunkline_edge::error::{ApiError, ErrorCode};
use trunkline_ledger::usage_report::{GroupKey, Grouping, MAX_CALLS, UtcDay};
use trunkline_types::{KeyId, RequestId};

/// Lines of a page if nothing is asked for.
const USUAL_LINES: u32 = 100;
/// Most lines of a page.
const MOST_LINES: u32 = 1_000;
/// Bytes of a value; the longest is a cursor with a model's name in it.
const MAX_VALUE_BYTES: usize = 2_048;
/// Keys begin with this: one in the query authenticates the caller and filters nothing.
const KEY_PREFIX: &str = "sk-";
const PARAMETERS: &str = "from, to, group_by, key, model, detail, format, limit, after";
const GROUPS: &str = "day, key, model, group, endpoint";

/// Sums, or single calls.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Detail {
    Sums,
    Calls,
}

/// What the answer looks like.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Shape {
    Json,
    Csv,
}

#[derive(Debug)]
pub(super) struct UsageQuery {
    pub(super) from: Option<UtcDay>,
    pub(super) to: Option<UtcDay>,
    pub(super) by: Grouping,
    pub(super) key: Option<KeyId>,
    pub(super) model: Option<String>,
    pub(super) detail: Detail,
    pub(super) shape: Shape,
    pub(super) limit: u32,
    /// Sums after this one.
    pub(super) after: Option<GroupKey>,
    /// Calls before this one.
    pub(super) before: Option<RequestId>,
}

/// The values as they were sent.
#[derive(Debug, Default)]
struct Raw {
    from: Option<String>,
    to: Option<String>,
    group_by: Option<String>,
    key: Option<String>,
    model: Option<String>,
    detail: Option<String>,
    format: Option<String>,
    limit: Option<String>,
    after: Option<String>,
}

// === impl UsageQuery ===

impl UsageQuery {
    pub(super) fn read(query: Option<&str>, headers: &HeaderMap) -> Result<Self, ApiError> {
        let raw = Raw::read(query.unwrap_or_default())?;
        let detail = match raw.detail.as_deref() {
            None | Some("sums") => Detail::Sums,
            Some("calls") => Detail::Calls,
            Some(_) => return Err(invalid("detail", "`detail` must be `sums` or `calls`")),
        };
        let shape = match raw.format.as_deref() {
            None if wants_csv(headers) => Shape::Csv,
            None | Some("json") => Shape::Json,
            Some("csv") => Shape::Csv,
            Some(_) => return Err(invalid("format", "`format` must be `json` or `csv`")),
        };
        let mut params = Self {
            from: day("from", raw.from.as_deref())?,
            to: day("to", raw.to.as_deref())?,
            by: Grouping {
                day: true,
                ..Grouping::default()
            },
            key: key(raw.key.as_deref())?,
            model: raw.model,
            detail,
            shape,
            limit: limit(raw.limit.as_deref())?,
            after: None,
            before: None,
        };
        match detail {
            Detail::Sums => {
                if let Some(columns) = &raw.group_by {
                    params.by = grouping(columns)?;
                }
                if shape == Shape::Csv && (raw.limit.is_some() || raw.after.is_some()) {
                    let text = "CSV has no pages; omit `limit` and `after`";
                    return Err(invalid("limit", text));
                }
                params.after = raw.after.as_deref().map(parse_cursor).transpose()?;
            }
            Detail::Calls => {
                if raw.group_by.is_some() {
                    let text = "`detail=calls` cannot be grouped; omit `group_by`";
                    return Err(invalid("group_by", text));
                }
                params.limit = params.limit.min(MAX_CALLS);
                params.before = raw.after.as_deref().map(request).transpose()?;
            }
        }
        Ok(params)
    }
}

// === impl Raw ===

impl Raw {
    fn read(query: &str) -> Result<Self, ApiError> {
        let mut raw = Self::default();
        for pair in query.split('&').filter(|pair| !pair.is_empty()) {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            let slot = match name {
                "from" => &mut raw.from,
                "to" => &mut raw.to,
                "group_by" => &mut raw.group_by,
                "key" if value.starts_with(KEY_PREFIX) => continue,
                "key" => &mut raw.key,
                "model" => &mut raw.model,
                "detail" => &mut raw.detail,
                "format" => &mut raw.format,
                "limit" => &mut raw.limit,
                "after" => &mut raw.after,
                _ => {
                    let name: String = name.chars().take(64).collect();
                    let text = format!("unknown parameter {name:?}; parameters: {PARAMETERS}");
                    return Err(
                        ApiError::new(ErrorCode::Invalid("invalid_request"), text).at(&name)
                    );
                }
            };
            if slot.is_some() {
                return Err(invalid(name, "a parameter may be given once"));
            }
            *slot = Some(decoded(name, value)?);
        }
        Ok(raw)
    }
}

fn decoded(name: &str, value: &str) -> Result<String, ApiError> {
    let spaced = value.replace('+', " ");
    let text = percent_decode_str(&spaced).decode_utf8();
    let text = text.map_err(|_| invalid(name, "a value must be UTF-8"))?;
    if text.is_empty() || text.len() > MAX_VALUE_BYTES || text.contains('\0') {
        let text =
            format!("a value must have 1 to {MAX_VALUE_BYTES} bytes; omit the parameter instead");
        return Err(invalid(name, &text));
    }
    Ok(text.into_owned())
}

fn wants_csv(headers: &HeaderMap) -> bool {
    let accepted = headers.get(ACCEPT).and_then(|value| value.to_str().ok());
    accepted.is_some_and(|accepted| {
        let mut types = accepted
            .split(',')
            .filter_map(|kind| kind.split(';').next());
        types.any(|kind| kind.trim().eq_ignore_ascii_case("text/csv"))
    })
}

fn day(name: &str, text: Option<&str>) -> Result<Option<UtcDay>, ApiError> {
    let parsed = text.map(UtcDay::parse).transpose();
    parsed.map_err(|error| invalid(name, &format!("`{name}`: {error}, in UTC")))
}

fn key(text: Option<&str>) -> Result<Option<KeyId>, ApiError> {
    let Some(text) = text else { return Ok(None) };
    let number = text.parse().ok().filter(|number: &i64| *number > 0);
    let text = "`key` must be a key id as in GET /v1/key";
    let number = number.ok_or_else(|| invalid("key", text))?;
    Ok(Some(KeyId::new(number)))
}

fn limit(text: Option<&str>) -> Result<u32, ApiError> {
    let Some(text) = text else {
        return Ok(USUAL_LINES);
    };
    let number = text.parse().ok();
    let number = number.filter(|number| (1..=MOST_LINES).contains(number));
    let text = format!("`limit` must be from 1 to {MOST_LINES}");
    number.ok_or_else(|| invalid("limit", &text))
}

fn grouping(columns: &str) -> Result<Grouping, ApiError> {
    let text = format!("`group_by` must be a list of {GROUPS}");
    Grouping::parse(columns).ok_or_else(|| invalid("group_by", &text))
}

/// Where the next page begins, as text that fits into an address.
pub(super) fn cursor(group_key: &GroupKey) -> String {
    // A place is plain text and numbers: it can always be written.
    let json = serde_json::to_vec(group_key).unwrap_or_default();
    URL_SAFE_NO_PAD.encode(json)
}

fn parse_cursor(text: &str) -> Result<GroupKey, ApiError> {
    let bytes = URL_SAFE_NO_PAD.decode(text).ok();
    let group_key = bytes.and_then(|bytes| serde_json::from_slice(&bytes).ok());
    group_key.ok_or_else(|| invalid("after", "`after` must be the `next` of the previous page"))
}

fn request(text: &str) -> Result<RequestId, ApiError> {
    let text_of_error = "`after` must be the `request_id` of the last call of the previous page";
    text.parse().map_err(|_| invalid("after", text_of_error))
}

fn invalid(param: &str, text: &str) -> ApiError {
    ApiError::new(ErrorCode::Invalid("invalid_request"), text).at(param)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn error(query: &str) -> ApiError {
        UsageQuery::read(Some(query), &HeaderMap::new()).expect_err(query)
    }

    #[test]
    fn what_would_have_no_effect_is_refused_and_named() {
        for (query, param) in [
            ("day=2026-11-01", "day"),
            ("from=yesterday", "from"),
            ("to=2026-02-30", "to"),
            ("group_by=", "group_by"),
            ("group_by=day,week", "group_by"),
            ("key=seven", "key"),
            ("key=0", "key"),
            ("model=", "model"),
            ("model=%ff", "model"),
            ("model=a%00", "model"),
            ("detail=all", "detail"),
            ("format=xml", "format"),
            ("limit=0", "limit"),
            ("limit=1001", "limit"),
            ("limit=1&limit=2", "limit"),
            ("after=here", "after"),
            ("format=csv&limit=5", "limit"),
            ("detail=calls&group_by=day", "group_by"),
            ("detail=calls&after=here", "after"),
        ] {
            let error = error(query);
            assert_eq!(error.param.as_deref(), Some(param), "{query}");
            assert_eq!(error.kind.status(), 400, "{query}");
        }
        assert!(error("day=1").message.contains("group_by"));
    }

    #[test]
    fn a_key_in_the_query_authenticates_and_is_no_parameter() {
        let params =
            UsageQuery::read(Some("key=sk-tl-secret&model=a%2Bb+c"), &HeaderMap::new()).unwrap();
        assert_eq!((params.key, params.model.as_deref()), (None, Some("a+b c")));
    }

    #[test]
    fn a_cursor_comes_back_as_the_place_it_was_made_of() {
        let made = GroupKey {
            day: UtcDay::parse("2026-11-16").unwrap(),
            key: 7,
            model: "odd, \"name\"".to_owned(),
            group: String::new(),
            endpoint: "chat".to_owned(),
        };
        assert_eq!(parse_cursor(&cursor(&made)).unwrap(), made);
        assert!(parse_cursor("e30").is_err());
    }

    #[test]
    fn a_client_that_accepts_csv_gets_it_unless_it_says_otherwise() {
        let mut headers = HeaderMap::new();
        headers.insert(ACCEPT, "text/html, Text/CSV;q=0.9".parse().unwrap());
        let shape = |query| UsageQuery::read(query, &headers).unwrap().shape;
        assert_eq!(shape(None), Shape::Csv);
        assert_eq!(shape(Some("format=json")), Shape::Json);
    }
}
