//! The signed-in link of `trunkline dev`: it opens the console as the operator of the seeded account, so
//! that a first look at the console needs no form. It exists only while a `trunkline dev` runs and its
//! console listens on this machine alone; everywhere else the path answers as one that does not exist.

use axum::extract::State;
use axum::response::Response;
use http::HeaderMap;
use trunkline_db::Tx;
use trunkline_store::people::{self, NewPerson, PersonId, Role, TokenHash};
use trunkline_types::AccountId;

use super::people::NewSession;
use super::session::Session;
use crate::error::{ApiError, ConsoleErrorCode, ErrorBody};
use crate::json_body::{Caller, JsonBody};
use crate::request_bodies::DevSessionBody;
use crate::settings::Mode;
use crate::shared::Shared;
use crate::tokens;

/// Address of the operator that the link creates if there is none. It cannot receive mail.
const EMAIL: &str = "developer@localhost";
const NAME: &str = "Developer";

/// Signs in with the link printed by `trunkline dev`. It is valid until that process ends.
#[utoipa::path(post, path = "/api/session/dev", operation_id = "sign_in_to_dev", tag = "people",
    request_body = DevSessionBody,
    responses(
        (status = 200, description = "Signed in as the operator of the seeded account", body = Session),
        (status = 400, description = "The link is invalid or belongs to an earlier start", body = ErrorBody),
        (status = 404, description = "Not a `trunkline dev` on the caller's machine", body = ErrorBody)
    ))]
pub(super) async fn open(
    State(shared): State<Shared>,
    caller: Caller,
    headers: HeaderMap,
    JsonBody(body): JsonBody<DevSessionBody>,
) -> Result<Response, ApiError> {
    let Some((expected, account)) = offered(&shared, &caller) else {
        return Err(ApiError::new(ConsoleErrorCode::NotFound, "not found"));
    };
    if tokens::hash_of(body.token.reveal()) != Some(expected) {
        return Err(ApiError::token_invalid());
    }
    let mut tx = shared.people.begin().await?;
    let done = async {
        let person = match people::operator_of(&mut tx, account).await? {
            Some(person) => person,
            None => make_operator(&mut tx, account).await?,
        };
        NewSession::write(&shared, &mut tx, person, Some(account), &caller, &headers).await
    };
    let done = done.await;
    let opened = tx.finish(done).await?;
    opened.answer(&shared).await
}

/// The link's hash and the seeded account, where there is a link and the caller is on this machine.
fn offered(shared: &Shared, caller: &Caller) -> Option<(TokenHash, AccountId)> {
    let settings = &shared.settings;
    let is_local = caller.address.to_canonical().is_loopback();
    match settings.mode {
        Mode::Dev if is_local => settings.dev_link.zip(settings.first_account),
        Mode::Dev | Mode::Live => None,
    }
}

async fn make_operator(tx: &mut Tx, account: AccountId) -> Result<PersonId, ApiError> {
    let new = NewPerson {
        email: EMAIL,
        name: NAME,
        password: None,
        is_verified: true,
        is_operator: true,
    };
    let person = match people::create_person(tx, &new).await? {
        Some(person) => person,
        // Two tabs opened the link at once, or an earlier start has made this person.
        None => {
            let known = people::by_email(tx, EMAIL).await?;
            let person = known.ok_or_else(ApiError::unavailable)?.id;
            people::set_operator(tx, person).await?;
            person
        }
    };
    people::add_member(tx, account, person, Role::Owner).await?;
    tracing::info!("operator created by the link of `trunkline dev`");
    Ok(person)
}
