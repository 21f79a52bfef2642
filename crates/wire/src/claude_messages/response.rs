//! A whole answer as far as money is concerned.

use std::borrow::Cow;

use serde::Deserialize;
use serde_json::value::RawValue;

use super::usage::RawUsage;
use crate::lent::lent;
use crate::openai_chat::{estimated_tokens, read_error};
use crate::{AnswerError, Whole};

#[derive(Deserialize)]
struct Message<'a> {
    #[serde(borrow, default, deserialize_with = "lent")]
    id: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    content: Option<Vec<&'a RawValue>>,
    #[serde(default)]
    usage: Option<RawUsage>,
    #[serde(borrow, default)]
    error: Option<&'a RawValue>,
}

/// Looks at a whole answer for what it used.
pub(crate) fn read_whole(body: &[u8]) -> Result<Whole, AnswerError> {
    let message: Message<'_> = serde_json::from_slice(body).map_err(|_| AnswerError::Garbage)?;
    let Some(content) = message.content.filter(|_| message.error.is_none()) else {
        return Err(AnswerError::Failed(read_error(body)));
    };
    let bytes = content.iter().map(|block| block.get().len());
    let bytes = bytes.fold(0_usize, usize::saturating_add);
    Ok(Whole {
        counted: message.usage.and_then(|usage| usage.whole()),
        written: estimated_tokens(u64::try_from(bytes).unwrap_or(u64::MAX), 0),
        id: message.id.unwrap_or_default().into_owned(),
    })
}
