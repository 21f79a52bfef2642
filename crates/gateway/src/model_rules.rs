//! The rules of a model's record, checked in one place for every operation: an operation supplies the
//! fields of its request.

use trunkline_catalog::{Entry, Sale, first_breach};
use trunkline_types::Timestamp;

use crate::error::{ApiError, ErrorCode};
use crate::operation::Operation;

/// Refuses a model that is gone, what it is not sold for, and what a rule of its record refuses.
pub(crate) fn check<O: Operation>(
    operation: &O,
    sale: &Sale,
    now: Timestamp,
) -> Result<(), ApiError> {
    check_shutdown(operation.model(), sale.model.entry(), now)?;
    operation.check_endpoint(sale)?;
    let field = |name: &str| operation.field(name);
    let Some(breach) = first_breach(&sale.model.entry().rules, &field) else {
        return Ok(());
    };
    let rule = breach.rule;
    let code = rule.error_code.as_ref().unwrap_or(&rule.code);
    let text = format!(
        "{:?} does not take this: {}; nothing was charged",
        operation.model(),
        rule.fix
    );
    Err(ApiError::new(ErrorCode::Rule(code.clone()), text).at(&breach.param))
}

/// Refuses a model from its last day on, and names the one to use instead.
fn check_shutdown(model: &str, entry: &Entry, now: Timestamp) -> Result<(), ApiError> {
    let Some(day) = entry.sunset_on.as_ref().filter(|_| entry.is_shut_down(now)) else {
        return Ok(());
    };
    let instead = entry.replaced_by.as_ref();
    let fix = instead.map(|other| format!("; use {other:?} instead"));
    let text = format!(
        "{model:?} was shut down by its vendor on {day}{}; nothing was charged",
        fix.unwrap_or_default()
    );
    Err(ApiError::new(ErrorCode::ModelShutDown, text)
        .at("model")
        .with("shutdown_date", day.as_str())
        .with("replacement", instead.cloned()))
}
