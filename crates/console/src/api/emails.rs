//! Unsent emails with their links, for operators.

use axum::extract::State;
use axum::response::{IntoResponse as _, Response};
use serde::Serialize;
use trunkline_keyring::{Binding, Purpose};
use trunkline_store::emails::{self, Content, Kind, State as EmailState};
use utoipa::ToSchema;

use crate::error::{ApiError, ErrorBody};
use crate::operator_session::{EmailsRead, May};
use crate::shared::Shared;
use crate::times::rfc3339;

/// Emails of one answer at most, the newest.
const MOST: i64 = 200;

/// Unsent emails.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Emails {
    /// Newest first; emails with an expired link are omitted.
    data: Vec<EmailView>,
}

/// An unsent email.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Email)]
pub(crate) struct EmailView {
    /// Its id.
    id: String,
    /// Recipient.
    to: String,
    /// Type of email.
    kind: EmailKind,
    /// Creation time.
    #[schema(format = DateTime)]
    created_at: String,
    /// Expiry of its link.
    #[schema(format = DateTime)]
    expires_at: String,
    /// The link to share: as good as a password.
    link: String,
    /// Current state.
    state: EmailStateName,
    /// Last delivery error; null if no delivery was attempted.
    #[schema(required)]
    last_error: Option<String>,
}

/// Type of email.
#[derive(Debug, Clone, Copy, Serialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum EmailKind {
    /// It proves an address.
    Verify,
    /// It leads to a new password.
    Reset,
    /// It leads into an organisation.
    Invitation,
}

/// Delivery state of an email.
#[derive(Debug, Clone, Copy, Serialize, ToSchema)]
#[serde(rename_all = "lowercase")]
#[schema(as = EmailState)]
pub(crate) enum EmailStateName {
    /// It is sent, or tried again later.
    Waiting,
    /// A mail server has taken it.
    Sent,
    /// It was given up.
    Failed,
    /// There is no mail server.
    Kept,
}

/// Lists unsent emails with their links, after step-up.
#[utoipa::path(get, path = "/api/operator/emails", operation_id = "list_emails", tag = "instance",
    responses(
        (status = 200, description = "Unsent emails with their links, newest first", body = Emails),
        (status = 401, description = "Not signed in", body = ErrorBody),
        (status = 403, description = "Step-up required", body = ErrorBody),
        (status = 404, description = "Not an operator", body = ErrorBody)
    ))]
pub(super) async fn list(
    State(shared): State<Shared>,
    _operator: May<EmailsRead>,
) -> Result<Response, ApiError> {
    let mut session = shared.people.session().await?;
    let unsent = emails::unsent(&mut session, MOST).await?;
    drop(session);
    let data = unsent.iter().filter_map(|email| email_view(&shared, email));
    let emails = Emails {
        data: data.collect(),
    };
    Ok(axum::Json(emails).into_response())
}

/// None for an email that has no link, or that another keyring sealed.
fn email_view(shared: &Shared, email: &emails::Email) -> Option<EmailView> {
    let kind = match email.kind {
        Kind::Verify => EmailKind::Verify,
        Kind::Reset => EmailKind::Reset,
        Kind::Invitation => EmailKind::Invitation,
        Kind::Known | Kind::LowBalance => return None,
    };
    let state = match email.state {
        EmailState::Waiting => EmailStateName::Waiting,
        EmailState::Sent => EmailStateName::Sent,
        EmailState::Failed => EmailStateName::Failed,
        EmailState::Kept => EmailStateName::Kept,
    };
    let context = emails::context(email.id);
    let binding = Binding::of_operator(&context);
    let opened = shared
        .keyring
        .open(Purpose::Emails, &binding, &email.sealed);
    let content = opened
        .ok()
        .and_then(|bytes| Content::of_bytes(bytes.reveal()));
    let Some(content) = content else {
        tracing::error!(email = %email.id, "email cannot be decrypted: sealed by another keyring");
        return None;
    };
    Some(EmailView {
        id: email.id.to_string(),
        to: email.to.clone(),
        kind,
        created_at: rfc3339(email.created_at),
        expires_at: rfc3339(email.expires_at),
        link: content.link,
        state,
        last_error: email.last_error.clone(),
    })
}
