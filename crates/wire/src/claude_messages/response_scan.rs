//! A whole response as far as money is concerned.

use std::borrow::Cow;

use serde::Deserialize;
use serde_json::value::RawValue;

use super::usage::RawUsage;
use crate::borrowed_str::borrowed_str;
use crate::token_estimate::tokens_of_bytes;
use crate::upstream_error::read_error;
use crate::{ResponseError, ResponseSummary};

#[derive(Deserialize)]
struct Message<'a> {
    #[serde(borrow, default, deserialize_with = "borrowed_str")]
    id: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    content: Option<Vec<&'a RawValue>>,
    #[serde(default)]
    usage: Option<RawUsage>,
    #[serde(borrow, default)]
    error: Option<&'a RawValue>,
}

/// Looks at a whole response for what it used.
pub(crate) fn scan_response(body: &[u8]) -> Result<ResponseSummary, ResponseError> {
    let message: Message<'_> = serde_json::from_slice(body).map_err(|_| ResponseError::Invalid)?;
    let Some(content) = message.content.filter(|_| message.error.is_none()) else {
        return Err(ResponseError::Upstream(read_error(body)));
    };
    let bytes = content.iter().map(|block| block.get().len());
    let bytes = bytes.fold(0_usize, usize::saturating_add);
    Ok(ResponseSummary {
        reported: message.usage.and_then(|usage| usage.whole()),
        written: tokens_of_bytes(bytes),
        id: message.id.unwrap_or_default().into_owned(),
        usage_at: None,
    })
}
