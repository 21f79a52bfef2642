//! How the vendor speaks: the envelope of a good answer, the forms of its refusals, and what both
//! carry beside their body. Wordings are ours; only their places are the vendor's.

use serde_json::{Map, Value, json};
use time::OffsetDateTime;
use time::macros::format_description;

use super::params::Arguments;
use crate::clock;
use crate::headers::set;
use crate::recorded_request::RecordedRequest;
use crate::script::{Head, Piece, Script, Step};
use crate::scripted_body::VendorResponse;
use crate::tokens::count;

#[derive(Debug)]
pub(super) struct Reply {
    pub(super) status: u16,
    body: String,
    is_page: bool,
    is_cut: bool,
    retry_after_secs: Option<u32>,
}

/// One request, as answers speak of it.
pub(super) struct Context<'a> {
    pub(super) path: &'a str,
    pub(super) request_id: String,
    pub(super) arguments: &'a Arguments,
    pub(super) now_micros: u64,
}

/// The vendor's clock in its answers is behind by these hours.
const ZONE_SECONDS: i64 = -8 * 3_600;
const ZONE: &str = "America/Los_Angeles";
const SUPPORT: &str = "Discord: https://discord.gg/simulated";
/// Text that makes an answer big.
const BIG_BYTES: usize = 5_000_000;

// === impl Context ===

impl<'a> Context<'a> {
    pub(super) fn new(recorded: &RecordedRequest, path: &'a str, arguments: &'a Arguments) -> Self {
        Self {
            path,
            request_id: recorded.uuid("social"),
            arguments,
            now_micros: clock::now_micros(),
        }
    }

    /// The fields that good and bad answers share.
    fn fields(&self, code: u16, message: &str, message_zh: &str) -> Map<String, Value> {
        let action = self.path.rsplit('/').next().unwrap_or_default();
        let seconds = clock::seconds(self.now_micros);
        let pairs = [
            ("code", Value::from(code)),
            ("request_id", Value::from(self.request_id.as_str())),
            ("message", Value::from(message)),
            ("message_zh", Value::from(message_zh)),
            ("support", Value::from(SUPPORT)),
            ("time", Value::from(written(seconds))),
            ("time_stamp", Value::from(seconds)),
            ("time_zone", Value::from(ZONE)),
            (
                "docs",
                Value::from(format!("https://api.tikhub.io/#/{action}")),
            ),
            ("router", Value::from(self.path)),
            ("params", self.params()),
        ];
        let fields = pairs.into_iter();
        fields
            .map(|(name, value)| (name.to_owned(), value))
            .collect()
    }

    fn params(&self) -> Value {
        let received = self.arguments.received.iter();
        let pairs = received.map(|(name, value)| (name.clone(), Value::from(value.as_str())));
        Value::Object(pairs.collect())
    }

    /// The envelope of a good answer.
    pub(super) fn envelope(&self, data: Value) -> Map<String, Value> {
        let mut fields = self.fields(
            200,
            "Request successful. This request will incur a charge.",
            "请求成功，本次请求将被计费。",
        );
        let cached = "This result is cached and can be read again for a day.";
        let address = format!(
            "https://cache.tikhub.io/api/v1/cache/public/{}?sign=simulated",
            self.request_id
        );
        for (name, value) in [
            ("cache_message", Value::from(cached)),
            ("cache_message_zh", Value::from("本次结果会被缓存一天。")),
            ("cache_url", Value::from(address)),
            ("data", data),
        ] {
            fields.insert(name.to_owned(), value);
        }
        fields
    }

    pub(super) fn good(&self, data: Value) -> Reply {
        Reply::json(200, &Value::Object(self.envelope(data)))
    }

    /// A good answer with so much text in its data that it is big.
    pub(super) fn big(&self, mut data: Value) -> Reply {
        let text = Value::from("x".repeat(BIG_BYTES));
        match data.as_object_mut() {
            Some(fields) => {
                fields.insert("long_text".to_owned(), text);
            }
            None => data = json!({ "long_text": text }),
        }
        self.good(data)
    }

    /// A refusal as the vendor tells it, under `detail`.
    pub(super) fn refused(&self, status: u16, message: &str) -> Reply {
        Reply::json(status, &json!({ "detail": self.error(status, message) }))
    }

    /// The same without `detail`.
    pub(super) fn refused_flat(&self, status: u16, message: &str) -> Reply {
        Reply::json(status, &self.error(status, message))
    }

    pub(super) fn limited(&self, retry_after_secs: u32) -> Reply {
        let mut reply = self.refused(429, "Too many requests. Slow down.");
        reply.retry_after_secs = Some(retry_after_secs);
        reply
    }

    /// Status 200 over a body that tells of a failure.
    pub(super) fn bad_under_ok(&self) -> Reply {
        Reply::json(200, &self.error(400, "Request failed. Please retry."))
    }

    fn error(&self, status: u16, message: &str) -> Value {
        Value::Object(self.fields(status, message, "请求失败，本次请求不计费。"))
    }
}

// === impl Reply ===

impl Reply {
    pub(super) fn json(status: u16, body: &Value) -> Self {
        Self {
            status,
            body: body.to_string(),
            is_page: false,
            is_cut: false,
            retry_after_secs: None,
        }
    }

    /// Parameters of the wrong form.
    pub(super) fn invalid(details: &Value) -> Self {
        Self::json(422, &json!({ "detail": details }))
    }

    pub(super) fn no_such_path() -> Self {
        Self::json(404, &json!({ "detail": "Not Found" }))
    }

    pub(super) fn wrong_method() -> Self {
        Self::json(405, &json!({ "detail": "Method Not Allowed" }))
    }

    /// A page for people, as something between us and the vendor sends it.
    pub(super) fn page() -> Self {
        Self {
            body: "<html><head><title>Just a moment…</title></head><body></body></html>".to_owned(),
            is_page: true,
            ..Self::json(200, &Value::Null)
        }
    }

    pub(super) fn cut(mut self) -> Self {
        self.is_cut = true;
        self
    }

    /// Sends it and leaves the record to it.
    pub(super) fn send(self, recorded: RecordedRequest, request_id: &str) -> VendorResponse {
        let reset = clock::seconds(clock::now_micros());
        let content_type = if self.is_page {
            "text/html; charset=utf-8"
        } else {
            "application/json"
        };
        let retry_after_secs = self.retry_after_secs;
        let mut response = recorded.respond(self.script(), content_type);
        let headers = response.headers_mut();
        if let Some(seconds) = retry_after_secs {
            let moment = reset.saturating_add(u64::from(seconds));
            set(headers, "x-ratelimit-reset", &moment.to_string());
        }
        set(headers, "x-request-id", request_id);
        response
    }

    fn script(self) -> Script {
        let head = Head {
            status: self.status,
            is_event_stream: false,
            content_length: Some(count(self.body.len())),
            retry_after_secs: self.retry_after_secs,
        };
        if !self.is_cut {
            return Script::new(head, vec![Step::Send(Piece::new(self.body))]);
        }
        let half = self.body.len().checked_div(2).unwrap_or(0);
        let half = self.body.get(..self.body.floor_char_boundary(half));
        let half = half.unwrap_or_default().to_owned();
        let mut script = Script::new(head, vec![Step::Send(Piece::new(half)), Step::Abort]);
        script.is_complete = false;
        script
    }
}

/// A moment as the vendor writes it.
fn written(seconds: u64) -> String {
    let seconds = i64::try_from(seconds).unwrap_or(0);
    let moment = OffsetDateTime::from_unix_timestamp(seconds.saturating_add(ZONE_SECONDS));
    let moment = moment.unwrap_or(OffsetDateTime::UNIX_EPOCH);
    let format = format_description!("[year]-[month]-[day] [hour]:[minute]:[second]");
    moment.format(format).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_moment_is_written_in_the_vendors_zone() {
        assert_eq!(written(1_767_348_672), "2026-01-02 02:11:12");
    }
}
