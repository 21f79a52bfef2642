//! How the Responses API says that an earlier response is not there.

use serde::{Deserialize, Serialize};

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
