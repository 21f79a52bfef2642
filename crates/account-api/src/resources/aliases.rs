//! The account's own names for models. They apply to every key of the account, so only keys without a
//! parent may change them, which the dispatch checks.

use http::{Method, StatusCode};
use serde::Deserialize;
use serde_json::{Value, json};
use trunkline_catalog::{Book, GroupChoice};
use trunkline_db::DbError;
use trunkline_edge::caller::Caller;
use trunkline_edge::error::{ApiError, ErrorCode};
use trunkline_edge::percent::plain;
use trunkline_edge::response::{Response, json as answer};
use trunkline_store::accounts::{self, AliasError};

use super::ApiRequest;
use super::keys;
use crate::state::AccountApi;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct SetAlias {
    model: String,
}

pub(super) async fn handle(api: &AccountApi, visit: ApiRequest<'_>) -> Result<Response, ApiError> {
    let caller = &visit.caller;
    let name = visit.rest.first().map(|name| plain(name));
    match (name, &visit.method) {
        (None, _) => Ok(answer(StatusCode::OK, &list(caller))),
        (Some(name), &Method::PUT) => {
            let params: SetAlias = super::read_body(&visit.body)?;
            check_alias(visit.book, caller, &name, &params.model)?;
            write_alias(api, caller, &name, Some(&params.model)).await?;
            Ok(answer(StatusCode::OK, &alias_view(&name, &params.model)))
        }
        (Some(name), &Method::DELETE) => {
            if !write_alias(api, caller, &name, None).await? {
                return Err(unknown(&name));
            }
            let body = json!({ "object": "alias", "name": name, "deleted": true });
            Ok(answer(StatusCode::OK, &body))
        }
        (Some(name), _) => {
            let model = caller.account.aliases.get(&name);
            let model = model.ok_or_else(|| unknown(&name))?;
            Ok(answer(StatusCode::OK, &alias_view(&name, model)))
        }
    }
}

/// An unused name, for a model that the account can see.
fn check_alias(book: &Book, caller: &Caller, name: &str, model: &str) -> Result<(), ApiError> {
    if book.model(name).is_some() {
        let text = format!("{name:?} is the name of a model; choose another alias");
        return Err(invalid("alias", text));
    }
    if !is_seen(caller, book, model) {
        return Err(Caller::unknown_model(model));
    }
    Ok(())
}

async fn write_alias(
    api: &AccountApi,
    caller: &Caller,
    name: &str,
    model: Option<&str>,
) -> Result<bool, ApiError> {
    let mut tx = api.data.begin().await?;
    let done = accounts::set_alias(&mut tx, caller.account.id, name, model).await;
    let changed = tx.finish(done).await.map_err(fault_of)?;
    keys::refresh_keys(api).await;
    Ok(changed)
}

/// Whether a model is sold in a group that the account or the key is in.
fn is_seen(caller: &Caller, book: &Book, model: &str) -> bool {
    let account = &caller.account;
    let own = std::iter::once(&account.group).chain(&account.allowed_groups);
    let mut own = own.map(|group| GroupChoice::Named(group));
    own.any(|group| book.offer(model, group).is_ok()) || book.offer(model, caller.group()).is_ok()
}

fn list(caller: &Caller) -> Value {
    let aliases = caller.account.aliases.iter();
    let data: Vec<Value> = aliases
        .map(|(name, model)| alias_view(name, model))
        .collect();
    json!({ "object": "list", "data": data })
}

fn alias_view(name: &str, model: &str) -> Value {
    json!({ "object": "alias", "name": name, "model": model })
}

fn unknown(name: &str) -> ApiError {
    let name: String = name.chars().take(64).collect();
    let text = format!("this account has no alias {name:?}; GET /v1/aliases lists them");
    ApiError::new(ErrorCode::NotFound, text).at("alias")
}

fn invalid(param: &str, text: String) -> ApiError {
    ApiError::new(ErrorCode::Invalid("invalid_request"), text).at(param)
}

fn fault_of(error: AliasError) -> ApiError {
    match error {
        AliasError::Field(error) => invalid(error.field, error.to_string()),
        AliasError::Db(DbError::UnknownCommit(_)) => {
            let text = "the outcome is unknown; check GET /v1/aliases";
            ApiError::new(ErrorCode::Unavailable, text)
        }
        AliasError::UnknownAccount(_) | AliasError::Db(_) => ApiError::unavailable(),
    }
}
