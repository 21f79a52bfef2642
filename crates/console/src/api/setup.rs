//! The setup link that creates an operator. Only an administrator of the machine can read it, so its
//! bearer is trusted: it creates a new user, or sets a new password for an existing one.

use axum::extract::State;
use axum::response::Response;
use http::HeaderMap;
use trunkline_db::Tx;
use trunkline_store::accounts;
use trunkline_store::people::{
    self, NewPerson, PersonId, Purpose, Role, check_email, check_person_name,
};
use trunkline_types::{AccountId, Secret};

use super::people::NewSession;
use super::person::renewed;
use super::session::Session;
use crate::error::{ApiError, ErrorBody};
use crate::json_body::{Caller, JsonBody};
use crate::organisations::{self, wrong_name};
use crate::passwords;
use crate::request_bodies::SetupBody;
use crate::shared::Shared;
use crate::tokens;

/// Creates the operator account with an organisation and signs in.
#[utoipa::path(post, path = "/api/setup", operation_id = "setup", tag = "people",
    request_body = SetupBody,
    responses(
        (status = 200, description = "Operator created and signed in", body = Session),
        (status = 400, description = "The link is invalid, expired or used, or a field is invalid", body = ErrorBody)
    ))]
pub(super) async fn setup(
    State(shared): State<Shared>,
    caller: Caller,
    headers: HeaderMap,
    JsonBody(body): JsonBody<SetupBody>,
) -> Result<Response, ApiError> {
    let hash = tokens::hash_of(body.token.reveal()).ok_or_else(ApiError::token_invalid)?;
    let email = check_email("email", &body.email)?;
    let name = check_person_name("name", &body.name)?;
    check_person_name("organisation", &body.organisation)?;
    passwords::check("password", &body.password, &email)?;
    // A stranger who makes links up makes us hash nothing.
    let mut session = shared.people.session().await?;
    if !people::has_token(&mut session, Purpose::Setup, &hash).await? {
        return Err(ApiError::token_invalid());
    }
    drop(session);
    let operator = Operator {
        email: &email,
        name: &name,
        password: &shared.passwords.hash(&body.password).await?,
        organisation: body.organisation.trim(),
    };
    let mut tx = shared.people.begin().await?;
    let done = async {
        let taken = people::take_token(&mut tx, Purpose::Setup, &hash).await?;
        taken.ok_or_else(ApiError::token_invalid)?;
        let (person, account) = operator.make(&shared, &mut tx).await?;
        NewSession::write(&shared, &mut tx, person, Some(account), &caller, &headers).await
    };
    let done = done.await;
    let opened = tx.finish(done).await?;
    tracing::info!("operator created by the setup link");
    opened.answer(&shared).await
}

/// An operator to make.
struct Operator<'a> {
    email: &'a str,
    name: &'a str,
    password: &'a Secret,
    organisation: &'a str,
}

impl Operator<'_> {
    async fn make(&self, shared: &Shared, tx: &mut Tx) -> Result<(PersonId, AccountId), ApiError> {
        let new = NewPerson {
            email: self.email,
            name: self.name,
            password: Some(self.password),
            is_verified: true,
            is_operator: true,
        };
        let person = match people::create_person(tx, &new).await? {
            Some(person) => person,
            None => self.renew(tx).await?,
        };
        let own = people::memberships(tx, person).await?;
        if let Some(first) = own.first() {
            return Ok((person, first.account));
        }
        let account = self.organisation(shared, tx, person).await?;
        Ok((person, account))
    }

    /// The address has an account: the link also replaces a lost password.
    async fn renew(&self, tx: &mut Tx) -> Result<PersonId, ApiError> {
        let person = people::by_email(tx, self.email).await?;
        let person = person.ok_or_else(ApiError::unavailable)?.id;
        renewed(tx, person, self.password, None).await?;
        people::rename_person(tx, person, self.name).await?;
        people::verify_email(tx, person).await?;
        people::set_operator(tx, person).await?;
        Ok(person)
    }

    /// The seeded account of `dev` while it has no owner, else a new one.
    async fn organisation(
        &self,
        shared: &Shared,
        tx: &mut Tx,
        person: PersonId,
    ) -> Result<AccountId, ApiError> {
        if let Some(seeded) = shared.settings.first_account
            && people::count_members(tx, seeded).await? == 0
        {
            let renamed = accounts::rename(tx, seeded, self.organisation).await;
            renamed.map_err(wrong_name)?;
            people::add_member(tx, seeded, person, Role::Owner).await?;
            return Ok(seeded);
        }
        let random = shared.random.as_ref();
        organisations::create(tx, random, self.organisation, person).await
    }
}
