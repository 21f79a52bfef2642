//! `POST /api/playground/key`: a key for trying things out in the browser. Short-lived, one for each
//! person in each organisation; asked for again, it gets another secret and the old one is over.

use axum::Json;
use axum::extract::State;
use serde::Serialize;
use trunkline_store::keys::{self, Key, KeyState};
use trunkline_store::{ENDPOINT_NAMES, Policy, PolicyFields};
use trunkline_types::{ApiKey, Timestamp};
use utoipa::ToSchema;

use super::keys::{change_fault, create, finish, secret};
use super::query;
use crate::error::{ApiError, ConsoleErrorCode, ErrorBody};
use crate::session::{MemberSession, Right};
use crate::shared::Shared;
use crate::times::rfc3339;

/// How long it is good.
const LIFE_SECONDS: i64 = 2 * 3_600;
/// Longest name of a key.
const MAX_NAME: usize = 100;
/// Endpoints the playground key must not use: a stolen one must not create other keys.
const NOT_FOR_PAGES: [&str; 3] = ["keys", "aliases", "webhooks"];

/// A key for the playground.
#[derive(Serialize, ToSchema)]
pub(crate) struct PlaygroundKey {
    /// The secret, shown once.
    #[schema(example = "sk-tl-…")]
    secret: String,
    /// Expiry.
    #[schema(format = DateTime)]
    expires_at: String,
    /// Key id.
    key_id: i64,
}

/// Creates the user's playground key, or rotates its secret. It is valid for two hours and charges
/// the organisation like any key.
#[utoipa::path(post, path = "/api/playground/key", operation_id = "playground_key", tag = "keys",
    responses(
        (status = 200, description = "The key", body = PlaygroundKey),
        (status = 409, description = "The key is disabled", body = ErrorBody)
    ))]
pub(super) async fn key(
    State(shared): State<Shared>,
    own: MemberSession,
) -> Result<Json<PlaygroundKey>, ApiError> {
    own.require(Right::Playground)?;
    // It spends like any key, so it needs what any key needs.
    own.require_step_up()?;
    let ends = own.now.plus_seconds(LIFE_SECONDS);
    let tx = shared.people.begin().await.map_err(query::unwritten)?;
    let (key, plain) = made_or_rotated(&shared, &own, tx, ends).await?;
    shared.gateway.refresh_keys().await;
    Ok(Json(PlaygroundKey {
        secret: plain.reveal().to_owned(),
        expires_at: rfc3339(ends),
        key_id: key.id.number(),
    }))
}

async fn made_or_rotated(
    shared: &Shared,
    own: &MemberSession,
    mut tx: trunkline_db::Tx,
    ends: Timestamp,
) -> Result<(Key, ApiKey), ApiError> {
    let secret = secret(shared)?;
    let done = async {
        let known = keys::lock_playground_key(&mut tx, own.account, own.person).await;
        let known = match known.map_err(query::unwritten)? {
            Some(id) => keys::of_account(&mut tx, own.account, id)
                .await
                .map_err(query::unwritten)?,
            None => None,
        };
        let known = known.filter(|key| key.state(own.now) != KeyState::Revoked);
        if let Some(key) = known {
            check_on(&key, own.now)?;
            let change = keys::KeyChange {
                expires_at: Some(Some(ends)),
                ..keys::KeyChange::default()
            };
            let changed = keys::change(&mut tx, key.id, change).await;
            changed.map_err(change_fault)?;
            let rotated = keys::rotate(&mut tx, key.id, &secret, 0).await;
            let rotated = rotated.map_err(change_fault)?;
            let logged = own.log_key(&mut tx, "playground_key", &rotated.key).await;
            logged.map_err(query::unwritten)?;
            return Ok((rotated.key, rotated.plain));
        }
        let name = name_of(&own.email);
        let new = keys::NewKey {
            account: own.account,
            parent: None,
            name: &name,
            policy: policy(ends)?,
        };
        let made = create(&mut tx, &new, &secret).await?;
        let noted = keys::set_playground_key(&mut tx, own.account, own.person, made.key.id).await;
        noted.map_err(query::unwritten)?;
        let logged = own.log_key(&mut tx, "playground_key", &made.key).await;
        logged.map_err(query::unwritten)?;
        Ok((made.key, made.plain))
    };
    let done: Result<(Key, ApiKey), ApiError> = done.await;
    finish(tx, done).await
}

/// Who switched it off meant it.
fn check_on(key: &Key, now: Timestamp) -> Result<(), ApiError> {
    match key.state(now) {
        KeyState::Disabled => {
            let text = "your playground key is disabled; a member with the right keys.write can enable it. \
                        Nothing was changed";
            Err(ApiError::new(ConsoleErrorCode::Conflict, text))
        }
        KeyState::Live | KeyState::Expired | KeyState::Revoked => Ok(()),
    }
}

fn policy(ends: Timestamp) -> Result<Policy, ApiError> {
    let words = ENDPOINT_NAMES.into_iter();
    let words = words.filter(|word| !NOT_FOR_PAGES.contains(word));
    Ok(Policy::new(PolicyFields {
        endpoints: Some(words.map(str::to_owned).collect()),
        expires_at: Some(ends),
        ..PolicyFields::default()
    })?)
}

fn name_of(email: &str) -> String {
    let name = format!("Playground of {email}");
    name.chars().take(MAX_NAME).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_address_is_cut_and_the_key_makes_no_other_keys() {
        assert_eq!(name_of("ada@example.com"), "Playground of ada@example.com");
        assert_eq!(name_of(&"a".repeat(254)).chars().count(), MAX_NAME);
        let policy = policy(Timestamp::from_micros(1)).unwrap();
        let words = policy.fields().endpoints.clone().unwrap();
        assert!(words.contains(&"chat".to_owned()) && words.contains(&"videos".to_owned()));
        assert!(
            !words
                .iter()
                .any(|word| NOT_FOR_PAGES.contains(&word.as_str()))
        );
    }
}
