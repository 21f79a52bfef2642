//! What a client of a format makes of an answer: whole, failed in the format's own shape, or neither.

use serde_json::Value;

use crate::faults::formats::Format;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum ClientView {
    /// A whole answer.
    Complete,
    /// A fault of the gateway's, with its code: nothing was charged.
    Failed(String),
    /// The client left in the middle.
    Left,
    /// The connection broke.
    Unknown,
    /// It ended in order and is neither a whole answer of its format nor an error of it.
    Nonsense(String),
}

/// One event of a stream; comments are none.
struct Event {
    name: Option<String>,
    data: Data,
}

enum Data {
    Done,
    Json(Value),
}

/// Reads an answer that ended as its transport says it should.
pub(crate) fn reported(format: Format, status: u16, stream: bool, bytes: &[u8]) -> ClientView {
    let text = String::from_utf8_lossy(bytes);
    let received = match (status, stream) {
        (200, true) => events(&text).and_then(|events| streamed(format, &events)),
        (200, false) => json(&text)
            .filter(|body| is_whole(format, body))
            .map(|_| ClientView::Complete),
        (_, _) => json(&text).and_then(|body| Some(ClientView::Failed(code(format, &body)?))),
    };
    received.unwrap_or_else(|| ClientView::Nonsense(format!("{format:?} {status}: {text}")))
}

/// Words of an answer, as far as it has come.
pub(crate) fn words(format: Format, stream: bool, bytes: &[u8]) -> usize {
    let text = String::from_utf8_lossy(bytes);
    let bodies: Vec<Value> = if stream {
        let whole = text.rfind("\n\n").map_or("", |end| &text[..end + 2]);
        let events = events(whole).unwrap_or_default();
        let bodies = events.into_iter().filter_map(|event| match event.data {
            Data::Json(body) => Some(body),
            Data::Done => None,
        });
        bodies.collect()
    } else {
        json(&text).into_iter().collect()
    };
    let reply: String = bodies
        .iter()
        .map(|body| reply(format, stream, body))
        .collect();
    reply.split_whitespace().count()
}

fn json(text: &str) -> Option<Value> {
    serde_json::from_str(text).ok()
}

/// Nothing if a frame is cut, or a line is none of a stream's.
fn events(text: &str) -> Option<Vec<Event>> {
    let mut events = Vec::new();
    if text.is_empty() {
        return Some(events);
    }
    for frame in text.strip_suffix("\n\n")?.split("\n\n") {
        let (mut name, mut data) = (None, None);
        for line in frame.lines() {
            if let Some(word) = line.strip_prefix("event: ") {
                name = Some(word.to_owned());
            } else if let Some(body) = line.strip_prefix("data: ") {
                data = Some(match body {
                    "[DONE]" => Data::Done,
                    body => Data::Json(json(body)?),
                });
            } else if !line.starts_with(':') {
                return None;
            }
        }
        if let Some(data) = data {
            events.push(Event { name, data });
        }
    }
    Some(events)
}

/// One end, at the end, and no error; or no end, and an error at the end.
fn streamed(format: Format, events: &[Event]) -> Option<ClientView> {
    let (last, before) = events.split_last()?;
    let ends_early = before.iter().any(|event| is_end(format, event));
    let failed = |events: &[Event]| events.iter().any(|event| failure(format, event).is_some());
    if ends_early {
        return None;
    }
    if is_end(format, last) {
        return (!failed(before)).then_some(ClientView::Complete);
    }
    let code = failure(format, last)?;
    // Responses tell an error twice: as the event, and as what became of the response.
    let twice = matches!(&last.data, Data::Json(body) if body["type"] == "response.failed");
    if format == Format::Responses {
        let (first, before) = before.split_last()?;
        let first = failure(format, first)?;
        return (twice && first == code && !failed(before)).then_some(ClientView::Failed(code));
    }
    (!failed(before)).then_some(ClientView::Failed(code))
}

/// Whether an event is the last of a whole answer.
fn is_end(format: Format, event: &Event) -> bool {
    match (format, &event.data) {
        (Format::Chat, data) => matches!(data, Data::Done),
        (_, Data::Done) => false,
        (Format::Messages, Data::Json(body)) => named(event, body, "message_stop"),
        (Format::Responses, Data::Json(body)) => {
            named(event, body, "response.completed") && is_whole(format, &body["response"])
        }
        (Format::Gemini, Data::Json(body)) => is_whole(format, body),
    }
}

/// Both lines of an event say what it is.
fn named(event: &Event, body: &Value, name: &str) -> bool {
    event.name.as_deref() == Some(name) && body["type"] == name
}

/// The code of an event that says that the stream failed.
fn failure(format: Format, event: &Event) -> Option<String> {
    let Data::Json(body) = &event.data else {
        return None;
    };
    match format {
        Format::Chat | Format::Gemini => code(format, body),
        Format::Messages => code(format, body).filter(|_| named(event, body, "error")),
        Format::Responses if named(event, body, "response.failed") => {
            code(format, &body["response"]).filter(|_| body["response"]["status"] == "failed")
        }
        Format::Responses => code(format, body).filter(|_| named(event, body, "error")),
    }
}

fn is_whole(format: Format, body: &Value) -> bool {
    match format {
        Format::Chat => body["choices"][0]["finish_reason"].is_string(),
        Format::Messages => body["type"] == "message" && body["stop_reason"].is_string(),
        Format::Responses => body["object"] == "response" && body["status"] == "completed",
        Format::Gemini => body["candidates"][0]["finishReason"].is_string(),
    }
}

/// The gateway's code in an error of this format; nothing if it has another shape.
fn code(format: Format, body: &Value) -> Option<String> {
    let error = &body["error"];
    error["message"].as_str()?;
    let code = match format {
        Format::Chat | Format::Responses => &error["code"],
        Format::Messages => {
            error["type"].as_str()?;
            (body["type"] == "error").then_some(&error["code"])?
        }
        Format::Gemini => {
            error["status"].as_str()?;
            error["code"].as_u64()?;
            &error["details"][0]["reason"]
        }
    };
    Some(code.as_str()?.to_owned())
}

/// What one event, or a whole answer, says.
fn reply(format: Format, stream: bool, body: &Value) -> String {
    let list = |value: &Value| value.as_array().cloned().unwrap_or_default();
    let joined = |parts: Vec<Value>| -> String {
        parts
            .iter()
            .filter_map(|part| part["text"].as_str())
            .collect()
    };
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    match (format, stream) {
        (Format::Chat, true) => text(&body["choices"][0]["delta"]["content"]),
        (Format::Chat, false) => text(&body["choices"][0]["message"]["content"]),
        (Format::Messages, true) => text(&body["delta"]["text"]),
        (Format::Messages, false) => joined(list(&body["content"])),
        (Format::Responses, true) if body["type"] == "response.output_text.delta" => {
            text(&body["delta"])
        }
        (Format::Responses, true) => String::new(),
        (Format::Responses, false) => {
            let items = list(&body["output"]).into_iter();
            items.map(|item| joined(list(&item["content"]))).collect()
        }
        (Format::Gemini, _) => joined(list(&body["candidates"][0]["content"]["parts"])),
    }
}

mod detects {
    //! A reader who takes anything for whole finds nothing.

    use super::*;

    const ENDS: [(Format, &str); 4] = [
        (Format::Chat, "data: {\"choices\":[]}\n\ndata: [DONE]\n\n"),
        (
            Format::Messages,
            "event: message_stop\ndata: {\"type\":\"message_stop\"}\n\n",
        ),
        (
            Format::Responses,
            "event: response.completed\ndata: {\"type\":\"response.completed\",\
             \"response\":{\"object\":\"response\",\"status\":\"completed\"}}\n\n",
        ),
        (
            Format::Gemini,
            "data: {\"candidates\":[{\"finishReason\":\"STOP\"}]}\n\n",
        ),
    ];
    const ERRORS: [(Format, &str); 4] = [
        (
            Format::Chat,
            "data: {\"error\":{\"message\":\"no\",\"code\":\"c\"}}\n\n",
        ),
        (
            Format::Messages,
            "event: error\ndata: {\"type\":\"error\",\
             \"error\":{\"type\":\"api_error\",\"message\":\"no\",\"code\":\"c\"}}\n\n",
        ),
        (
            Format::Responses,
            "event: error\ndata: {\"type\":\"error\",\"error\":{\"message\":\"no\",\"code\":\"c\"}}\n\n\
             event: response.failed\ndata: {\"type\":\"response.failed\",\"response\":\
             {\"status\":\"failed\",\"error\":{\"message\":\"no\",\"code\":\"c\"}}}\n\n",
        ),
        (
            Format::Gemini,
            "data: {\"error\":{\"code\":502,\"status\":\"UNAVAILABLE\",\"message\":\"no\",\
             \"details\":[{\"reason\":\"c\"}]}}\n\n",
        ),
    ];

    fn hear(format: Format, text: &str) -> ClientView {
        reported(format, 200, true, text.as_bytes())
    }

    #[test]
    fn each_format_has_an_end_and_an_error_and_takes_no_others() {
        for (format, end) in ENDS {
            assert_eq!(hear(format, end), ClientView::Complete);
            for (other, text) in ENDS.into_iter().chain(ERRORS) {
                let reported = hear(other, end);
                assert!(
                    other == format || matches!(reported, ClientView::Nonsense(_)),
                    "{reported:?}"
                );
                // Something behind the end, whatever it is.
                let behind = hear(format, &format!("{end}{text}"));
                assert!(matches!(behind, ClientView::Nonsense(_)), "{behind:?}");
            }
        }
        for (format, error) in ERRORS {
            assert_eq!(hear(format, error), ClientView::Failed("c".to_owned()));
            let ended = ENDS.iter().find(|(other, _)| *other == format).unwrap().1;
            let ended = hear(format, &format!("{error}{ended}"));
            assert!(matches!(ended, ClientView::Nonsense(_)), "{ended:?}");
        }
    }

    #[test]
    fn a_stream_that_just_stops_is_nothing_of_a_format() {
        for (format, end) in ENDS {
            for stops in ["", "data: {}\n\n", ": alive\n\n", end.trim_end()] {
                let reported = hear(format, stops);
                assert!(
                    matches!(reported, ClientView::Nonsense(_)),
                    "{format:?} {reported:?}"
                );
            }
        }
    }
}
