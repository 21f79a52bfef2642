//! Policies: under the console's role a request of a customer sees and writes rows of its account alone.

use sqlx::PgConnection;
use trunkline_db::{Database, DbError, PoolSettings, Pooler, Role, tenant};
use trunkline_testkit::Db;
use trunkline_types::AccountId;

/// Tables with an account and without a policy for it: a sign-in is a person's, in whatever organisation.
const OF_PEOPLE: [&str; 1] = ["app.sign_in"];

/// What is said of a table whose rows are of one account each.
const BY_ACCOUNT: &str = "app.is_shown(account_id, ( SELECT app.tenant() AS tenant))";

async fn with_rows() -> Db {
    let db = Db::fresh().await;
    let query = "SET session_replication_role = replica; INSERT INTO app.low_balance_email (account_id, language)
        VALUES (1, 'en'), (2, 'en'), (3, 'zh')";
    db.ask(query).await;
    db
}

async fn count(connection: &mut PgConnection) -> i64 {
    sqlx::query_scalar("SELECT count(*) FROM app.low_balance_email")
        .fetch_one(connection)
        .await
        .unwrap()
}

async fn in_session(database: &Database) -> i64 {
    count(&mut database.session().await.unwrap()).await
}

async fn in_transaction(database: &Database) -> i64 {
    let mut tx = database.begin().await.unwrap();
    let count = count(&mut tx).await;
    tx.commit().await.unwrap();
    count
}

/// A pool of one connection, so that the next request has it. Behind PgBouncer the login itself has the role.
async fn one_connection(db: &Db, pooler: Pooler) -> Database {
    if pooler == Pooler::PgBouncer {
        let name = db.name();
        let text =
            format!("ALTER ROLE test_console IN DATABASE {name} SET role = 'trunkline_console'");
        db.ask(&text).await;
    }
    let settings = PoolSettings {
        max_connections: 1,
        pooler,
        ..PoolSettings::named("tenants")
    };
    db.connect_with(Role::Console, settings).await
}

#[tokio::test]
async fn a_customers_request_sees_its_account_alone_and_the_next_one_on_the_connection_all() {
    let db = with_rows().await;
    for pooler in [Pooler::Direct, Pooler::PgBouncer] {
        let console = one_connection(&db, pooler).await;
        assert_eq!(in_session(&console).await, 3);
        for _ in 0..2 {
            tenant::serve(async {
                assert_eq!(in_session(&console).await, 3, "whose it is was not said");
                tenant::enter(AccountId::new(2)).unwrap();
                assert_eq!(in_session(&console).await, 1);
                assert_eq!(in_transaction(&console).await, 1);
                let session = console.session().await.unwrap();
                let mut tx = session.begin().await.unwrap();
                assert_eq!(count(&mut tx).await, 1);
                tx.rollback().await.unwrap();
            })
            .await;
            assert_eq!(in_session(&console).await, 3);
            assert_eq!(in_transaction(&console).await, 3);
        }
    }
}

/// Between transactions PgBouncer gives the connection to others, so that the second statement of a session would be
/// another connection's.
#[tokio::test]
async fn a_customers_request_reads_in_one_transaction_and_cannot_write_there() {
    let db = with_rows().await;
    let console = one_connection(&db, Pooler::PgBouncer).await;
    let began = "SELECT pg_catalog.transaction_timestamp()::text";
    tenant::serve(async {
        tenant::enter(AccountId::new(2)).unwrap();
        let mut session = console.session().await.unwrap();
        let mut moments: Vec<String> = Vec::new();
        for _ in 0..2 {
            let moment = sqlx::query_scalar(began).fetch_one(&mut *session).await;
            moments.push(moment.unwrap());
        }
        assert_eq!(moments[0], moments[1]);
        let written = sqlx::query("DELETE FROM app.low_balance_email")
            .execute(&mut *session)
            .await;
        let text = written.unwrap_err().to_string();
        assert!(text.contains("read-only transaction"), "{text}");
        drop(session);
        // What a failed statement leaves behind ends with the session.
        assert_eq!(in_session(&console).await, 1);
    })
    .await;
    assert_eq!(in_session(&console).await, 3);
}

#[tokio::test]
async fn a_customers_request_that_is_given_up_leaves_no_transaction_behind() {
    let db = with_rows().await;
    let console = one_connection(&db, Pooler::Direct).await;
    let request = tenant::serve(async {
        tenant::enter(AccountId::new(2)).unwrap();
        let mut session = console.session().await.unwrap();
        let slow = sqlx::query("SELECT pg_catalog.pg_sleep(0.5)");
        slow.execute(&mut *session).await.unwrap();
    });
    let given_up = tokio::time::timeout(std::time::Duration::from_millis(100), request).await;
    assert!(given_up.is_err());
    assert_eq!(in_session(&console).await, 3);
    let open =
        "SELECT pid::text FROM pg_catalog.pg_stat_activity WHERE application_name = 'tenants'
        AND datname = current_database() AND state LIKE 'idle in transaction%'";
    assert_eq!(db.ask(open).await, Vec::<String>::new());
}

#[tokio::test]
async fn a_customers_request_writes_no_row_of_another() {
    let db = with_rows().await;
    let console = db.connect(Role::Console).await;
    tenant::serve(async {
        tenant::enter(AccountId::new(2)).unwrap();
        let mut tx = console.begin().await.unwrap();
        let deleted = sqlx::query("DELETE FROM app.low_balance_email")
            .execute(&mut *tx)
            .await;
        assert_eq!(deleted.unwrap().rows_affected(), 1);
        let foreign = sqlx::query("INSERT INTO app.low_balance_email VALUES (4, 'en')")
            .execute(&mut *tx)
            .await;
        let text = foreign.unwrap_err().to_string();
        assert!(text.contains("row-level security"), "{text}");
        tx.rollback().await.unwrap();
    })
    .await;
    assert_eq!(in_session(&console).await, 3);
}

#[tokio::test]
async fn a_customers_request_keeps_no_connection_and_an_account_is_entered_in_a_request_only() {
    let db = with_rows().await;
    let console = one_connection(&db, Pooler::Direct).await;
    let outside = tenant::enter(AccountId::new(2));
    assert!(matches!(outside, Err(DbError::Bug(_))), "{outside:?}");
    tenant::serve(async {
        tenant::enter(AccountId::new(2)).unwrap();
        let tx = console.begin().await.unwrap();
        let kept = tx.commit_and_keep().await;
        assert!(matches!(kept, Err(DbError::Bug(_))), "{kept:?}");
    })
    .await;
    assert_eq!(in_session(&console).await, 3);
}

#[tokio::test]
async fn a_customers_request_sees_its_rows_alone_in_partitions_that_were_made_later_and_in_views() {
    let db = with_rows().await;
    db.ask("SELECT ledger.make_partitions((app.now() AT TIME ZONE 'UTC')::date + 40, 1)::text")
        .await;
    let rows = "SET session_replication_role = replica;
        INSERT INTO ledger.transfer (request_id, kind, leg, account_id, debit, credit, amount, at)
        SELECT app.uuid_v7_floor(app.now() + interval '40 days'), 'refund', w.id - 1, w.id, -1, w.id * 2, 5, app.now()
        FROM (VALUES (1::bigint), (2)) AS w (id)";
    db.ask(rows).await;
    let console = db.connect(Role::Console).await;
    for relation in ["ledger.transfer", "ledger.posting"] {
        let query = format!("SELECT account_id FROM {relation} ORDER BY account_id");
        let seen = async || {
            let mut session = console.session().await.unwrap();
            let query = sqlx::query_scalar(sqlx::AssertSqlSafe(query.clone()));
            let seen: Vec<i64> = query.fetch_all(&mut *session).await.unwrap();
            seen
        };
        assert_eq!(seen().await, [1, 2], "{relation}");
        tenant::serve(async {
            tenant::enter(AccountId::new(2)).unwrap();
            assert_eq!(seen().await, [2], "{relation}");
        })
        .await;
    }
}

#[tokio::test]
async fn every_table_of_accounts_has_its_policies_and_no_partition_is_open() {
    let db = Db::fresh().await;
    let all = "SELECT format('%I.%I', n.nspname, c.relname) FROM pg_catalog.pg_class AS c
        JOIN pg_catalog.pg_namespace AS n ON n.oid = c.relnamespace
        JOIN pg_catalog.pg_attribute AS a ON a.attrelid = c.oid AND a.attname = 'account_id'
        WHERE n.nspname IN ('app', 'ledger') AND c.relkind IN ('r', 'p') AND NOT c.relispartition";
    let open = format!(
        "{all} AND NOT (c.relrowsecurity AND EXISTS (SELECT FROM pg_catalog.pg_policy AS p
             WHERE p.polrelid = c.oid AND p.polname = 'everyone' AND p.polroles = '{{0}}' AND p.polpermissive)
         AND EXISTS (SELECT FROM pg_catalog.pg_policy AS p
             WHERE p.polrelid = c.oid AND p.polname = 'tenant' AND NOT p.polpermissive AND p.polcmd = '*'
                 AND p.polroles = ARRAY['trunkline_console'::regrole::oid])) ORDER BY 1"
    );
    assert_eq!(db.ask(&open).await, OF_PEOPLE);
    // A row of the log without an account is the operator's, and an account has its own name for its number.
    let others = format!(
        "SELECT p.polrelid::regclass::text FROM pg_catalog.pg_policy AS p WHERE p.polname = 'tenant'
             AND pg_catalog.pg_get_expr(p.polqual, p.polrelid) <> '{BY_ACCOUNT}' ORDER BY 1"
    );
    let odd = [
        "app.account",
        "app.action_log",
        "ledger.account",
        "ledger.hold_batch",
    ];
    assert_eq!(db.ask(&others).await, odd);
    let rights = "'SELECT, INSERT, UPDATE, DELETE'";
    let partitions = format!(
        "SELECT c.relname::text FROM pg_catalog.pg_class AS c
         JOIN pg_catalog.pg_namespace AS n ON n.oid = c.relnamespace
         WHERE n.nspname IN ('app', 'ledger') AND c.relispartition AND c.relkind = 'r'
             AND (has_table_privilege('trunkline_console', c.oid, {rights})
                 OR has_any_column_privilege('trunkline_console', c.oid, 'SELECT, INSERT, UPDATE'))"
    );
    assert_eq!(db.ask(&partitions).await, Vec::<String>::new());
}

#[tokio::test]
async fn every_view_of_the_console_reads_with_the_rights_of_its_caller() {
    let db = Db::fresh().await;
    let views = "SELECT c.relname::text FROM pg_catalog.pg_class AS c
        JOIN pg_catalog.pg_namespace AS n ON n.oid = c.relnamespace
        WHERE n.nspname IN ('app', 'ledger') AND c.relkind = 'v'
            AND has_any_column_privilege('trunkline_console', c.oid, 'SELECT')
            AND NOT COALESCE(c.reloptions @> ARRAY['security_invoker=true'], false)";
    assert_eq!(db.ask(views).await, Vec::<String>::new());
}
