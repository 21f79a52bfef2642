//! A database with accounts and keys in it.

use trunkline_db::{Database, DbError, Role};
use trunkline_store::accounts::{self, Account, NewAccount};
use trunkline_store::keys::{self, CreateKeyError, CreatedKey, NewKey};
use trunkline_store::{Policy, PolicyFields};
use trunkline_testkit::{Db, random_bytes};
use trunkline_types::{AccountId, KeyId, Shard};

pub(crate) struct TestStore {
    pub(crate) db: Db,
    pub(crate) console: Database,
}

impl TestStore {
    pub(crate) async fn new() -> Self {
        let db = Db::fresh().await;
        let console = db.connect(Role::Console).await;
        Self { db, console }
    }

    /// An account in group `default`, allowed `night`.
    pub(crate) async fn account(&self) -> AccountId {
        let mut tx = self.console.begin().await.unwrap();
        let id = ledger_account(&mut tx).await;
        let allowed = ["night".to_owned()];
        let new = NewAccount {
            id,
            name: "Ada",
            group: "default",
            allowed_groups: &allowed,
            shard: Shard::new(63).unwrap(),
        };
        accounts::create(&mut tx, &new).await.unwrap();
        tx.commit().await.unwrap();
        id
    }

    pub(crate) async fn read_account(&self, id: AccountId) -> Account {
        let mut session = self.console.session().await.unwrap();
        let found = accounts::find(&mut session, id).await.unwrap();
        found.unwrap()
    }

    pub(crate) async fn make(
        &self,
        account: AccountId,
        parent: Option<KeyId>,
        fields: PolicyFields,
    ) -> Result<CreatedKey, CreateKeyError> {
        let mut tx = self.console.begin().await.unwrap();
        let new = NewKey {
            account,
            parent,
            name: "key",
            policy: Policy::new(fields).unwrap(),
        };
        let done = keys::create(&mut tx, &new, &random_bytes()).await;
        tx.finish(done).await
    }

    /// A key that may do everything.
    pub(crate) async fn key(&self, account: AccountId, parent: Option<KeyId>) -> CreatedKey {
        let made = self.make(account, parent, PolicyFields::default()).await;
        made.unwrap()
    }

    /// Runs a statement as a role.
    pub(crate) async fn say(&self, database: &Database, statement: &str) -> Result<(), DbError> {
        let mut session = database.session().await.unwrap();
        let text = sqlx::AssertSqlSafe(statement.to_owned());
        let reply = sqlx::raw_sql(text).execute(&mut *session).await;
        reply.map(|_| ()).map_err(DbError::from)
    }
}

/// The ledger gives accounts their numbers; its crate is not known here.
pub(crate) async fn ledger_account(tx: &mut trunkline_db::Tx) -> AccountId {
    let id = sqlx::query_scalar("INSERT INTO ledger.account (kind) VALUES ('live') RETURNING id")
        .fetch_one(&mut **tx)
        .await
        .unwrap();
    AccountId::new(id)
}
