//! A new organisation: an account with its ledger, a name, a place, and an owner.

use trunkline_db::Tx;
use trunkline_keyring::RandomSource;
use trunkline_ledger::accounts::{self as ledger_accounts, AccountKind};
use trunkline_store::accounts::{self, CreateAccountError, DEFAULT_GROUP, NewAccount};
use trunkline_store::people::{self, PersonId, Role};
use trunkline_types::{AccountId, SHARDS, Shard};

use crate::error::ApiError;

/// Makes an organisation of a person's own.
pub(crate) async fn create(
    tx: &mut Tx,
    random: &dyn RandomSource,
    name: &str,
    owner: PersonId,
) -> Result<AccountId, ApiError> {
    let account = ledger_accounts::create_account(tx, AccountKind::Live).await?;
    let new = NewAccount {
        id: account,
        name: name.trim(),
        group: DEFAULT_GROUP,
        allowed_groups: &[],
        shard: any_shard(random)?,
    };
    accounts::create(tx, &new).await.map_err(wrong_name)?;
    people::add_member(tx, account, owner, Role::Owner).await?;
    Ok(account)
}

/// What is wrong with an organisation's name, under the parameter that has it.
pub(crate) fn wrong_name(error: CreateAccountError) -> ApiError {
    match error {
        CreateAccountError::Field(wrong) => {
            ApiError::invalid_param("organisation", wrong.problem.to_string())
        }
        CreateAccountError::Db(error) => error.into(),
    }
}

/// Any shard, all of them equally likely but for one part in a million million.
pub(crate) fn any_shard(random: &dyn RandomSource) -> Result<Shard, ApiError> {
    let mut bytes = [0; 8];
    random.fill(&mut bytes)?;
    let number = u64::from_be_bytes(bytes).rem_euclid(u64::from(SHARDS));
    let shard = u16::try_from(number).ok().map(Shard::new);
    shard.and_then(Result::ok).ok_or_else(ApiError::unavailable)
}
