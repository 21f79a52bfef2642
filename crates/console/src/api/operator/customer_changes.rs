//! Changes of a customer: fields, suspension, notes and invitations.

use axum::Json;
use axum::extract::rejection::PathRejection;
use axum::extract::{Path, State};
use http::StatusCode;
use serde::Serialize;
use serde_json::{Value, json};
use trunkline_db::Tx;
use trunkline_ledger::accounts as ledger_accounts;
use trunkline_store::account_notes::{self, TEXT_MAX_CHARACTERS};
use trunkline_store::accounts::{self, Account, AccountState, CreateAccountError};
use trunkline_store::action_log::NewAction;
use trunkline_store::limits::{self, Rates, SetLimitError};
use trunkline_store::people::{self, NewInvitation, check_email};
use trunkline_types::Money;
use utoipa::ToSchema;

use super::customers::{CustomerDetail, NoteView, detail};
use super::views::{customer, customer_id, reason, subject_of, unknown_customer};
use crate::api::INVITATION_SECONDS;
use crate::api::customer::query;
use crate::error::{ApiError, ConsoleErrorCode, ErrorBody};
use crate::json_body::JsonBody;
use crate::operator_bodies::{
    CustomerChange, CustomerLimitsBody, InviteToCustomer, NewNote, ReasonBody,
};
use crate::operator_session::{CustomersWrite, May, Operator};
use crate::request_bodies::RoleName;
use crate::shared::Shared;
use crate::times::rfc3339;
use crate::tokens::Token;

/// An invitation with its link.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct CustomerInvitationLink {
    /// Email address.
    email: String,
    /// Role.
    #[schema(inline = false)]
    role: RoleName,
    /// The link to share; it works once, for a week.
    link: String,
    /// Expiry.
    #[schema(format = DateTime)]
    expires_at: String,
}

/// Changes the name, the group, the limits or the low-balance threshold of a customer.
#[utoipa::path(patch, path = "/api/operator/customers/{id}", operation_id = "change_customer", tag = "customers",
    params(("id" = i64, Path, description = "The customer")),
    request_body = CustomerChange,
    responses((status = 200, description = "The customer", body = CustomerDetail)))]
pub(super) async fn change(
    State(shared): State<Shared>,
    operator: May<CustomersWrite>,
    id: Result<Path<i64>, PathRejection>,
    JsonBody(body): JsonBody<CustomerChange>,
) -> Result<Json<CustomerDetail>, ApiError> {
    let id = customer_id(id)?;
    let mut tx = shared.people.begin().await.map_err(query::unwritten)?;
    let changed = async {
        let before = accounts::find(&mut tx, id).await?;
        let before = before.ok_or_else(unknown_customer)?;
        let mark = apply(&mut tx, &before, &body).await?;
        let after = accounts::find(&mut tx, id).await?;
        let after = after.ok_or_else(unknown_customer)?;
        let mut after_value = fields(&after);
        if let (Some(mark), Value::Object(map)) = (mark, &mut after_value) {
            let mark = mark.map(|mark| mark.to_string());
            map.insert("low_balance_usd".to_owned(), json!(mark));
        }
        let action = NewAction {
            action: "change_customer",
            account: Some(id),
            subject: &subject_of(&before),
            before: Some(fields(&before)),
            after: Some(after_value),
            reason: None,
        };
        Ok::<_, ApiError>(operator.log(&mut tx, &action).await?)
    };
    let changed = changed.await;
    tx.finish(changed).await?;
    Ok(Json(detail(&shared, id).await?))
}

/// Applies what was named; returns the new low-balance threshold if it was.
async fn apply(
    tx: &mut Tx,
    before: &Account,
    body: &CustomerChange,
) -> Result<Option<Option<Money>>, ApiError> {
    let id = before.id;
    if let Some(name) = &body.name {
        let renamed = accounts::rename(tx, id, name.trim()).await;
        renamed.map_err(field_fault)?;
    }
    if body.group.is_some() || body.allowed_groups.is_some() {
        let group = body.group.as_deref().unwrap_or(&before.group);
        let allowed = body.allowed_groups.as_deref();
        let set = accounts::set_group(tx, id, group, allowed).await;
        set.map_err(field_fault)?;
    }
    if let Some(limits) = body.limits {
        let set = limits::set_account(tx, id, limits.rates()).await;
        set.map_err(limit_fault)?;
    }
    let Some(mark) = &body.low_balance_usd else {
        return Ok(None);
    };
    let mark = mark.as_deref();
    let mark = mark.map(|text| query::usd("low_balance_usd", text));
    let mark = mark.transpose()?.filter(|mark| *mark > Money::ZERO);
    ledger_accounts::set_low_balance(tx, id, mark).await?;
    Ok(Some(mark))
}

/// Suspends a customer: its keys are refused within seconds.
#[utoipa::path(post, path = "/api/operator/customers/{id}/suspend", operation_id = "suspend_customer",
    tag = "customers",
    params(("id" = i64, Path, description = "The customer")),
    request_body = ReasonBody,
    responses(
        (status = 200, description = "The customer", body = CustomerDetail),
        (status = 409, description = "It is suspended or closed", body = ErrorBody)
    ))]
pub(super) async fn suspend(
    State(shared): State<Shared>,
    operator: May<CustomersWrite>,
    id: Result<Path<i64>, PathRejection>,
    JsonBody(body): JsonBody<ReasonBody>,
) -> Result<Json<CustomerDetail>, ApiError> {
    set_suspended(&shared, &operator, id, &body.reason, true).await
}

/// Resumes a suspended customer.
#[utoipa::path(post, path = "/api/operator/customers/{id}/resume", operation_id = "resume_customer",
    tag = "customers",
    params(("id" = i64, Path, description = "The customer")),
    request_body = ReasonBody,
    responses(
        (status = 200, description = "The customer", body = CustomerDetail),
        (status = 409, description = "It is not suspended", body = ErrorBody)
    ))]
pub(super) async fn resume(
    State(shared): State<Shared>,
    operator: May<CustomersWrite>,
    id: Result<Path<i64>, PathRejection>,
    JsonBody(body): JsonBody<ReasonBody>,
) -> Result<Json<CustomerDetail>, ApiError> {
    set_suspended(&shared, &operator, id, &body.reason, false).await
}

async fn set_suspended(
    shared: &Shared,
    operator: &Operator,
    id: Result<Path<i64>, PathRejection>,
    why: &str,
    suspended: bool,
) -> Result<Json<CustomerDetail>, ApiError> {
    let id = customer_id(id)?;
    let why = reason(why)?;
    let account = customer(shared, id).await?;
    let action = if suspended {
        "suspend_customer"
    } else {
        "resume_customer"
    };
    let mut tx = shared.people.begin().await.map_err(query::unwritten)?;
    let changed = async {
        let is_open = account.state() != AccountState::Closed;
        if !is_open || !accounts::set_suspended(&mut tx, id, suspended).await? {
            let text = "the customer is closed, or is so already. Nothing was changed";
            return Err(ApiError::new(ConsoleErrorCode::Conflict, text));
        }
        let action = NewAction {
            action,
            account: Some(id),
            subject: &subject_of(&account),
            before: Some(json!({ "suspended": !suspended })),
            after: Some(json!({ "suspended": suspended })),
            reason: Some(&why),
        };
        Ok(operator.log(&mut tx, &action).await?)
    };
    let changed = changed.await;
    tx.finish(changed).await?;
    Ok(Json(detail(shared, id).await?))
}

/// Adds a note about a customer. Customers do not see it.
#[utoipa::path(post, path = "/api/operator/customers/{id}/notes", operation_id = "add_note", tag = "customers",
    params(("id" = i64, Path, description = "The customer")),
    request_body = NewNote,
    responses((status = 201, description = "The note", body = NoteView)))]
pub(super) async fn add_note(
    State(shared): State<Shared>,
    operator: May<CustomersWrite>,
    id: Result<Path<i64>, PathRejection>,
    JsonBody(body): JsonBody<NewNote>,
) -> Result<(StatusCode, Json<NoteView>), ApiError> {
    let account = customer(&shared, customer_id(id)?).await?;
    let text = body.text.trim();
    if text.is_empty() || text.chars().count() > TEXT_MAX_CHARACTERS || text.contains('\0') {
        let words = format!("must have 1 to {TEXT_MAX_CHARACTERS} characters");
        return Err(ApiError::invalid_param("text", words));
    }
    let mut tx = shared.people.begin().await.map_err(query::unwritten)?;
    let added = async {
        let note = account_notes::add(&mut tx, account.id, text, &operator.email).await?;
        let action = NewAction {
            action: "add_note",
            account: Some(account.id),
            subject: &subject_of(&account),
            after: Some(json!({ "note": note.id })),
            ..NewAction::default()
        };
        operator.log(&mut tx, &action).await?;
        Ok::<_, ApiError>(note)
    };
    let added = added.await;
    let note = tx.finish(added).await?;
    Ok((StatusCode::CREATED, Json(NoteView::of(note))))
}

/// Invites a person to a customer's organisation; the link is in the answer.
#[utoipa::path(post, path = "/api/operator/customers/{id}/invitations", operation_id = "invite_to_customer",
    tag = "customers",
    params(("id" = i64, Path, description = "The customer")),
    request_body = InviteToCustomer,
    responses(
        (status = 201, description = "The invitation", body = CustomerInvitationLink),
        (status = 409, description = "A member already, or the customer is closed", body = ErrorBody)
    ))]
pub(super) async fn invite(
    State(shared): State<Shared>,
    operator: May<CustomersWrite>,
    id: Result<Path<i64>, PathRejection>,
    JsonBody(body): JsonBody<InviteToCustomer>,
) -> Result<(StatusCode, Json<CustomerInvitationLink>), ApiError> {
    let account = customer(&shared, customer_id(id)?).await?;
    let email = check_email("email", &body.email)?;
    let token = Token::fresh(shared.random.as_ref())?;
    let new = NewInvitation {
        account: account.id,
        email: &email,
        role: body.role.into(),
        token: &token.hash,
        // It is shown here and goes whatever way the operator chooses.
        is_mailed: false,
        invited_by: Some(operator.person),
        life_seconds: INVITATION_SECONDS,
    };
    let mut tx = shared.people.begin().await.map_err(query::unwritten)?;
    let invited = async {
        let person = people::by_email(&mut tx, &email).await?;
        let is_member = match person {
            Some(person) => people::member(&mut tx, account.id, person.id)
                .await?
                .is_some(),
            None => false,
        };
        if is_member || account.closed_at.is_some() {
            let text =
                "the person is a member already, or the customer is closed. Nothing was changed";
            return Err(ApiError::new(ConsoleErrorCode::Conflict, text));
        }
        people::invite(&mut tx, &new).await?;
        let action = NewAction {
            action: "invite_to_customer",
            account: Some(account.id),
            subject: &subject_of(&account),
            after: Some(json!({ "email": email, "role": new.role.as_str() })),
            ..NewAction::default()
        };
        Ok(operator.log(&mut tx, &action).await?)
    };
    let invited = invited.await;
    tx.finish(invited).await?;
    let link = CustomerInvitationLink {
        role: body.role,
        link: shared.settings.link("invitation", token.text.reveal()),
        expires_at: rfc3339(operator.now.plus_seconds(INVITATION_SECONDS)),
        email,
    };
    Ok((StatusCode::CREATED, Json(link)))
}

fn fields(account: &Account) -> Value {
    json!({
        "name": account.name,
        "group": account.group,
        "allowed_groups": account.allowed_groups,
        "limits": CustomerLimitsBody::of(account),
    })
}

fn field_fault(error: CreateAccountError) -> ApiError {
    match error {
        CreateAccountError::Field(wrong) => wrong.into(),
        CreateAccountError::Db(error) => query::unwritten(error),
    }
}

fn limit_fault(error: SetLimitError) -> ApiError {
    match error {
        SetLimitError::Field(wrong) => wrong.into(),
        SetLimitError::Db(error) => query::unwritten(error),
        SetLimitError::UnknownAccount(_) => unknown_customer(),
        error @ (SetLimitError::Nothing | SetLimitError::TooMany) => {
            ApiError::invalid_param("limits", error.to_string())
        }
    }
}

// === impl CustomerLimitsBody ===

impl CustomerLimitsBody {
    const fn rates(self) -> Rates {
        Rates {
            requests_per_minute: self.requests_per_minute,
            tokens_per_minute: self.tokens_per_minute,
            concurrent_calls: self.concurrent_calls,
        }
    }
}
