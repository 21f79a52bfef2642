//! The rules of a model's record, checked in one place for every operation: an operation supplies the
//! fields of its request.

use trunkline_catalog::{Sale, first_breach};

use crate::error::{ApiError, ErrorCode};
use crate::operation::Operation;

/// Refuses what the model is not sold for, and what a rule of its record refuses.
pub(crate) fn check<O: Operation>(operation: &O, sale: &Sale) -> Result<(), ApiError> {
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
