//! Where the pipeline asks the guardrail. What the guardrail is and says: `guardrail`.

use crate::error::ApiError;
use crate::guardrail::{AnswerExcerpt, Excerpt, Stage};
use crate::operation::{Execution, Operation};
use crate::priced_call::PricedCall;
use crate::services::Services;

/// Asks the guardrail about a request.
pub(crate) async fn check_request(services: &Services, call: &PricedCall) -> Result<(), ApiError> {
    let Some(guardrail) = &services.guardrail else {
        return Ok(());
    };
    let excerpt = call.excerpt.clone().unwrap_or_default();
    let checked = guardrail.check(call.subject(), Stage::Request, &excerpt);
    checked.await
}

/// What the guardrail gets of an answer, cut before anything is waited for; and whether the answer is still here.
pub(crate) fn excerpt_of<E: Execution>(
    services: &Services,
    execution: &E,
    relayed: &E::Relayed,
) -> Option<(Excerpt, bool)> {
    let guardrail = services.guardrail.as_ref()?;
    Some(match execution.answer_excerpt(relayed) {
        AnswerExcerpt::Held(answer) => (guardrail.cut(&answer), true),
        AnswerExcerpt::Sent(answer) => (guardrail.cut(&answer), false),
    })
}

/// Asks the guardrail about an answer. One that the client has is told of and not waited for.
pub(crate) async fn check_answer(
    services: &Services,
    call: &PricedCall,
    answer: Option<(Excerpt, bool)>,
) -> Result<(), ApiError> {
    let (Some(guardrail), Some((excerpt, is_here))) = (&services.guardrail, answer) else {
        return Ok(());
    };
    if !is_here {
        guardrail.tell(call.subject(), &excerpt);
        return Ok(());
    }
    let checked = guardrail.check(call.subject(), Stage::Response, &excerpt);
    checked.await
}

/// What the guardrail gets of a request.
pub(crate) fn request_excerpt<O: Operation>(services: &Services, operation: &O) -> Option<Excerpt> {
    let guardrail = services.guardrail.as_ref()?;
    Some(guardrail.cut(&operation.excerpt()))
}
