//! What a request for events wants.

use http::HeaderMap;
use trunkline_edge::error::{ApiError, ErrorCode};
use trunkline_edge::percent::plain;
use trunkline_types::Topic;
use uuid::Uuid;

use crate::event_hub::Cursor;
use crate::task_id::task_of;

/// The header by which a browser goes on where it was.
const LAST_EVENT_ID: &str = "last-event-id";

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Begin {
    /// With what happens from now on.
    Now,
    /// With the first that is kept.
    Kept,
    /// After what it has seen.
    After(Cursor),
}

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Filter {
    topics: Option<Vec<Topic>>,
    task: Option<Uuid>,
}

/// A request that was read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct EventQuery {
    pub(crate) begin: Begin,
    pub(crate) filter: Filter,
}

// === impl Filter ===

impl Filter {
    /// Whether an event is wanted.
    pub(super) fn lets(&self, topic: &str, task: Option<Uuid>) -> bool {
        let topics = self.topics.as_ref();
        topics.is_none_or(|topics| topics.iter().any(|one| one.name() == topic))
            && (self.task.is_none() || self.task == task)
    }
}

// === impl EventQuery ===

impl EventQuery {
    /// Reads the query and the header. The query's cursor counts where both name one.
    pub(crate) fn read(headers: &HeaderMap, query: Option<&str>) -> Result<Self, ApiError> {
        let mut begin = match headers.get(LAST_EVENT_ID) {
            // A browser that has seen nothing yet may send it empty.
            Some(value) if value.is_empty() => Begin::Now,
            Some(value) => Begin::After(cursor(value.to_str().unwrap_or_default())?),
            None => Begin::Now,
        };
        let mut filter = Filter::default();
        for pair in query.unwrap_or_default().split('&') {
            if pair.is_empty() {
                continue;
            }
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            let value = plain(value);
            match name {
                "last_event_id" => begin = Begin::After(cursor(&value)?),
                "from" if value == "start" => begin = Begin::Kept,
                "from" => return Err(wrong("from", "`from` must be `start` or omitted")),
                "topics" => filter.topics = Some(topics(&value)?),
                "task" => {
                    let text = "`task` must be a task id: `task_` and 32 characters";
                    filter.task = Some(task_of(&value).ok_or_else(|| wrong("task", text))?);
                }
                // Whose key it is was read before.
                "key" => {}
                _ => {
                    let name: String = name.chars().take(64).collect();
                    let text = format!(
                        "there is no `{name}` here; there are `topics`, `task`, \
                         `last_event_id` and `from`"
                    );
                    return Err(wrong(&name, &text));
                }
            }
        }
        Ok(Self { begin, filter })
    }
}

fn topics(text: &str) -> Result<Vec<Topic>, ApiError> {
    let read = |word: &str| {
        word.trim().parse::<Topic>().map_err(|_| {
            let word: String = word.chars().take(64).collect();
            let all: Vec<&str> = Topic::ALL.iter().map(|topic| topic.name()).collect();
            let text = format!("unknown topic {word:?}; topics: {}", all.join(", "));
            wrong("topics", &text)
        })
    };
    text.split(',').map(read).collect()
}

fn cursor(text: &str) -> Result<Cursor, ApiError> {
    Cursor::parse(text).ok_or_else(|| {
        let text = "invalid Last-Event-ID; send the `id` of the last event you received \
                    as it came, such as `a12-s5`, or leave it out to begin now";
        wrong("last_event_id", text)
    })
}

/// A request that cannot be understood.
pub(crate) fn wrong(param: &str, text: &str) -> ApiError {
    ApiError::new(ErrorCode::Invalid("invalid_request"), text).at(param)
}

#[cfg(test)]
mod tests {
    use http::HeaderValue;

    use super::*;

    fn parse(header: Option<&str>, query: &str) -> Result<EventQuery, String> {
        let mut headers = HeaderMap::new();
        if let Some(value) = header {
            headers.insert(LAST_EVENT_ID, HeaderValue::from_str(value).unwrap());
        }
        EventQuery::read(&headers, Some(query)).map_err(|error| error.param.unwrap())
    }

    #[test]
    fn a_place_is_read_from_the_header_or_the_query_and_the_query_wins() {
        let at = |account, system| Begin::After(Cursor { account, system });
        assert_eq!(parse(None, "").unwrap().begin, Begin::Now);
        assert_eq!(parse(Some(""), "").unwrap().begin, Begin::Now);
        assert_eq!(parse(Some("a3-s1"), "key=sk-x").unwrap().begin, at(3, 1));
        let both = parse(Some("a3-s1"), "last_event_id=a4-s2").unwrap();
        assert_eq!(both.begin, at(4, 2));
        assert_eq!(parse(None, "from=start").unwrap().begin, Begin::Kept);
        for wrong in ["last_event_id=7", "last_event_id=a1", "last_event_id="] {
            assert_eq!(parse(None, wrong), Err("last_event_id".to_owned()));
        }
        assert_eq!(parse(None, "from=end"), Err("from".to_owned()));
        assert_eq!(parse(None, "topic=x"), Err("topic".to_owned()));
    }

    #[test]
    fn a_filter_lets_through_what_it_names() {
        let task = Uuid::from_u128(7);
        let name = crate::task_id::task_name(task);
        let filter = parse(
            None,
            &format!("topics=task.failed%2Ctask.completed&task={name}"),
        );
        let filter = filter.unwrap().filter;
        assert!(filter.lets("task.failed", Some(task)));
        assert!(!filter.lets("task.progress", Some(task)));
        assert!(!filter.lets("task.failed", None));
        assert!(!filter.lets("task.failed", Some(Uuid::from_u128(8))));
        assert!(Filter::default().lets("price.changed", None));
        assert_eq!(parse(None, "topics=task.done"), Err("topics".to_owned()));
        assert_eq!(parse(None, "topics="), Err("topics".to_owned()));
        assert_eq!(parse(None, "task=video_7"), Err("task".to_owned()));
    }
}
