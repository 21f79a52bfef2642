//! The log of actions: listed by filters, and copied out as a table or as JSON lines.
#![expect(
    unused_qualifications,
    reason = "the OpenAPI attribute writes the whole path of the query"
)]

use axum::Json;
use axum::body::Body;
use axum::extract::rejection::QueryRejection;
use axum::extract::{Query, State};
use axum::response::Response;
use http::HeaderValue;
use http::header::{CONTENT_DISPOSITION, CONTENT_TYPE};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use trunkline_store::action_log::{self as store, Action, ActorKind, Filter, PAGE_MAX};
use trunkline_store::people::PersonId;
use trunkline_types::{AccountId, csv};
use utoipa::{IntoParams, ToSchema};

use crate::api::customer::query;
use crate::error::ApiError;
use crate::operator_session::Operator;
use crate::shared::Shared;
use crate::times::rfc3339;

const USUAL_PAGE: u32 = 50;
const MOST_PER_PAGE: u32 = 200;
/// Most rows of one copy.
const MAX_COPIED: usize = 100_000;
const HEAD: [&str; 13] = [
    "id",
    "at",
    "kind",
    "actor",
    "person_id",
    "address",
    "agent",
    "action",
    "customer_id",
    "subject",
    "before",
    "after",
    "reason",
];

/// Which actions.
#[derive(Debug, Default, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct ActionsQuery {
    /// A part of the actor's name.
    #[param(nullable = false, max_length = 200)]
    actor: Option<String>,
    /// An action.
    #[param(nullable = false, max_length = 60, example = "suspend_customer")]
    action: Option<String>,
    /// About this customer.
    #[param(nullable = false)]
    customer: Option<i64>,
    /// A part of the subject.
    #[param(nullable = false, max_length = 200)]
    subject: Option<String>,
    /// `operator`, `member`, `command` or `system`.
    #[param(nullable = false)]
    kind: Option<String>,
    /// At or after this time: a timestamp or a UTC day.
    #[param(nullable = false)]
    from: Option<String>,
    /// At or before this time; a day includes its end.
    #[param(nullable = false)]
    to: Option<String>,
    /// `next_before` of the previous page.
    #[param(nullable = false)]
    before: Option<i64>,
    /// Page size; 50 by default.
    #[param(nullable = false, minimum = 1, maximum = 200)]
    limit: Option<u32>,
    /// Of a copy: `csv` or `jsonl`, which is the default.
    #[param(nullable = false)]
    format: Option<String>,
}

/// A page of actions.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Actions {
    /// Newest first.
    data: Vec<ActionView>,
    /// `before` of the next page; null at the end.
    #[schema(required)]
    next_before: Option<i64>,
}

/// An action: who, from where, what, before and after.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Action)]
pub(crate) struct ActionView {
    /// Number.
    id: i64,
    /// Time.
    #[schema(format = DateTime)]
    at: String,
    /// `operator`, `member`, `command` or `system`.
    #[schema(example = "operator")]
    kind: String,
    /// Email address, login at the command line, or part of this program.
    #[schema(example = "ada@example.com")]
    actor: String,
    /// User id; null for commands.
    #[schema(required)]
    person_id: Option<i64>,
    /// IP address; null for commands.
    #[schema(required)]
    address: Option<String>,
    /// User agent; null for commands.
    #[schema(required)]
    agent: Option<String>,
    /// What was done.
    #[schema(example = "suspend_customer")]
    action: String,
    /// The customer that it concerns; null for none.
    #[schema(required)]
    customer_id: Option<i64>,
    /// What was changed.
    #[schema(example = "customer 1000 Acme")]
    subject: String,
    /// What it was; null for nothing.
    #[schema(required, value_type = Option<Object>)]
    before: Option<Value>,
    /// What it is; null for nothing.
    #[schema(required, value_type = Option<Object>)]
    after: Option<Value>,
    /// Why; null where no reason is asked for.
    #[schema(required)]
    reason: Option<String>,
}

/// Lists actions of operators, members and commands.
#[utoipa::path(get, path = "/api/operator/actions", operation_id = "list_actions", tag = "operators",
    params(ActionsQuery),
    responses((status = 200, description = "A page of actions", body = Actions)))]
pub(super) async fn list(
    State(shared): State<Shared>,
    _operator: Operator,
    params: Result<Query<ActionsQuery>, QueryRejection>,
) -> Result<Json<Actions>, ApiError> {
    let params = query::query(params)?;
    let limit = query::limit(params.limit, USUAL_PAGE, MOST_PER_PAGE)?;
    let before = params.before;
    let filter = filter(params)?;
    let mut session = shared.people.session().await?;
    let found = store::list(&mut session, &filter, before, i64::from(limit)).await?;
    let full = u32::try_from(found.len()).is_ok_and(|count| count == limit);
    let next_before = found.last().filter(|_| full).map(|action| action.id);
    Ok(Json(Actions {
        data: found.into_iter().map(ActionView::of).collect(),
        next_before,
    }))
}

/// Copies actions out, oldest first, at most 100,000.
#[utoipa::path(get, path = "/api/operator/actions/export", operation_id = "export_actions", tag = "operators",
    params(ActionsQuery),
    responses((status = 200, description = "The actions, as a file", body = String,
        content_type = "application/x-ndjson")))]
pub(super) async fn export(
    State(shared): State<Shared>,
    _operator: Operator,
    params: Result<Query<ActionsQuery>, QueryRejection>,
) -> Result<Response, ApiError> {
    let params = query::query(params)?;
    let is_table = match params.format.as_deref() {
        Some("csv") => true,
        Some("jsonl") | None => false,
        Some(_) => {
            let text = "must be csv or jsonl";
            return Err(ApiError::invalid_param("format", text));
        }
    };
    let filter = filter(params)?;
    let mut text = String::new();
    if is_table {
        csv::write(&mut text, &HEAD.map(str::to_owned));
    }
    let mut session = shared.people.session().await?;
    let (mut after, mut count) = (None, 0_usize);
    while count < MAX_COPIED {
        let found = store::list_after(&mut session, &filter, after, PAGE_MAX).await?;
        let Some(last) = found.last() else { break };
        after = Some(last.id);
        count = count.saturating_add(found.len());
        for action in found {
            let view = ActionView::of(action);
            if is_table {
                csv::write(&mut text, &view.cells());
            } else {
                text.push_str(&view.line());
            }
        }
    }
    if is_table {
        return Ok(query::table("actions", text));
    }
    let mut answered = Response::new(Body::from(text));
    let headers = answered.headers_mut();
    let content_type = HeaderValue::from_static("application/x-ndjson");
    headers.insert(CONTENT_TYPE, content_type);
    let saved = HeaderValue::from_static("attachment; filename=\"actions.jsonl\"");
    headers.insert(CONTENT_DISPOSITION, saved);
    Ok(answered)
}

fn filter(params: ActionsQuery) -> Result<Filter, ApiError> {
    let kind = params.kind.as_deref().map(|word| {
        let known = ActorKind::ALL
            .into_iter()
            .find(|kind| kind.as_str() == word);
        let text = "must be operator, member, command or system";
        known.ok_or_else(|| ApiError::invalid_param("kind", text))
    });
    Ok(Filter {
        actor: query::text("actor", params.actor)?,
        action: query::text("action", params.action)?,
        account: params.customer.map(AccountId::new),
        subject: query::text("subject", params.subject)?,
        kind: kind.transpose()?,
        from: query::from(params.from.as_deref())?,
        until: query::until(params.to.as_deref())?,
    })
}

// === impl ActionView ===

impl ActionView {
    fn of(action: Action) -> Self {
        Self {
            id: action.id,
            at: rfc3339(action.at),
            kind: action.kind,
            actor: action.actor,
            person_id: action.person.map(PersonId::number),
            address: action.address,
            agent: action.agent,
            action: action.action,
            customer_id: action.account.map(AccountId::number),
            subject: action.subject,
            before: action.before,
            after: action.after,
            reason: action.reason,
        }
    }

    fn line(&self) -> String {
        let line = serde_json::to_string(self).unwrap_or_default();
        format!("{line}\n")
    }

    fn cells(&self) -> [String; 13] {
        let number = |value: Option<i64>| value.map(|value| value.to_string()).unwrap_or_default();
        let json = |value: &Option<Value>| value.as_ref().map(Value::to_string).unwrap_or_default();
        let text = |value: &Option<String>| value.clone().unwrap_or_default();
        [
            self.id.to_string(),
            self.at.clone(),
            self.kind.clone(),
            self.actor.clone(),
            number(self.person_id),
            text(&self.address),
            text(&self.agent),
            self.action.clone(),
            number(self.customer_id),
            self.subject.clone(),
            json(&self.before),
            json(&self.after),
            text(&self.reason),
        ]
    }
}
