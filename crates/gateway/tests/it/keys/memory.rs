//! The key table in memory: compared with the database, followed by every node, small.

use std::sync::Arc;
use std::time::{Duration, Instant};

use http::header::AUTHORIZATION;
use http::{HeaderMap, HeaderValue, Method};
use sha2::{Digest as _, Sha256};
use tokio::sync::oneshot;
use trunkline_db::SystemClock;
use trunkline_edge::authenticate::KeyOwner;
use trunkline_edge::key_table::Reconcile;
use trunkline_store::PolicyFields;
use trunkline_types::{ApiKey, Shard};

use crate::keys::calls::{below, call, call_at, chat, fine, no, own_id};
use crate::test_gateway::TestGateway;

/// A number that looks at first as if the node had seen it: the row is changed behind its back.
#[tokio::test]
async fn a_row_that_was_changed_behind_the_revisions_back_is_found_and_mended() {
    let harness = TestGateway::new().await;
    let first = harness.make_key(PolicyFields::default()).await;
    let id = own_id(&harness, &first).await;
    harness.make_key(PolicyFields::default()).await;
    harness.make_key(PolicyFields::default()).await;
    assert_eq!(harness.gateway.reconcile_keys().await, Ok(Reconcile::Same));
    let text = format!(
        "UPDATE app.api_key SET disabled_at = app.now(), revision = revision + 1 WHERE id = {id}"
    );
    harness.db.ask(&text).await;
    harness.gateway.refresh().await.unwrap();
    assert_eq!(
        chat(&harness, &first).await,
        fine(),
        "the number was seen before"
    );
    assert_eq!(
        harness.gateway.reconcile_keys().await,
        Ok(Reconcile::Mended)
    );
    assert_eq!(chat(&harness, &first).await, no(401, "revoked_api_key"));
    assert_eq!(chat(&harness, &harness.key).await, fine());
    assert_eq!(harness.gateway.reconcile_keys().await, Ok(Reconcile::Same));
    let metrics = harness.metrics().await;
    for line in ["keys_reconcile_total 3", "keys_reconcile_repaired_total 1"] {
        assert!(metrics.contains(line), "{line} in {metrics}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_revocation_reaches_another_node_within_two_seconds() {
    const TIMES: usize = 5;
    let harness = TestGateway::new().await;
    let node = harness.second_node(Arc::new(SystemClock)).await;
    let (stop, stopped) = oneshot::channel();
    #[expect(clippy::disallowed_methods, reason = "it ends with the test")]
    let fresh = tokio::spawn(trunkline_gateway::run_refresh(
        node.gateway.clone(),
        stopped,
    ));
    let mut lags = Vec::new();
    for _ in 0..TIMES {
        let (key, id) = below(&harness, &harness.key, serde_json::json!({})).await;
        let at = (node.address, key.as_str());
        let seen = async |status: u16| {
            for _ in 0..2_000 {
                let got = call_at(&harness, at, (Method::GET, "/v1/models"), None).await;
                if got.status == status {
                    return;
                }
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
            panic!("the other node never answered {status}");
        };
        seen(200).await;
        let path = format!("/v1/keys/{id}");
        let began = Instant::now();
        call(&harness, &harness.key, (Method::DELETE, &path), None).await;
        assert_eq!(
            chat(&harness, &key).await,
            no(401, "revoked_api_key"),
            "here at once"
        );
        seen(401).await;
        lags.push(began.elapsed());
    }
    lags.sort_unstable();
    println!("revocation lags: {lags:?}");
    // A machine that stalls may be late once; the nodes may not.
    assert!(lags[TIMES / 2] < Duration::from_secs(2), "{lags:?}");
    stop.send(()).unwrap();
    fresh.await.unwrap();
}

fn secret_of(number: u64) -> ApiKey {
    let digest: [u8; 32] = Sha256::digest(number.to_be_bytes()).into();
    ApiKey::new(Shard::new(1).unwrap(), &digest)
}

/// Keys by the number, over as many policies; the first ones can be called with.
async fn write_keys(harness: &TestGateway, keys: u64, policies: u64, known: u64) {
    let account = harness.account;
    let text = format!(
        "WITH n AS (UPDATE app.revision SET value = value + 1 WHERE topic = 'keys' RETURNING value)
         INSERT INTO app.api_key (account_id, name, key_hash, hint, models, requests_per_minute, revision)
         SELECT {account}, 'key ' || k, sha256(('scale ' || k)::bytea), 'sk-tl-01…abcd',
             ARRAY['sim-fast', 'model-' || k % {policies}], 1 + k % {policies}, n.value
         FROM generate_series(1, {keys}) AS k, n"
    );
    harness.db.ask(&text).await;
    for number in 0..known {
        let hash = Sha256::digest(secret_of(number).reveal().as_bytes());
        let hex: String = hash.iter().map(|byte| format!("{byte:02x}")).collect();
        let text = format!(
            "INSERT INTO app.api_key (account_id, name, key_hash, hint, revision)
             SELECT {account}, 'known', decode('{hex}', 'hex'), 'x', max(revision) FROM app.api_key"
        );
        harness.db.ask(&text).await;
    }
    harness.db.ask("VACUUM ANALYZE app.api_key").await;
}

fn resident_bytes() -> u64 {
    let text = String::from_utf8(std::fs::read("/proc/self/statm").unwrap()).unwrap();
    let pages: u64 = text.split(' ').nth(1).unwrap().parse().unwrap();
    pages * 4_096
}

/// What so many keys cost: bytes by the table's own count and by the system's, seconds to read them,
/// nanoseconds to find one.
async fn measured(keys: u64, policies: u64) -> (u64, u64, Duration, u128) {
    const KNOWN: u64 = 64;
    let harness = TestGateway::new().await;
    write_keys(&harness, keys, policies, KNOWN).await;
    let resident = resident_bytes();
    let began = Instant::now();
    harness.gateway.refresh().await.unwrap();
    let read = began.elapsed();
    let grown = resident_bytes().saturating_sub(resident);
    let table = harness.gateway.key_table_stats();
    assert_eq!(table.keys as u64, keys + KNOWN + 1);
    assert!(table.policies as u64 <= policies + 2, "{table:?}");
    assert_eq!(harness.gateway.reconcile_keys().await, Ok(Reconcile::Same));
    let requests: Vec<HeaderMap> = (0..KNOWN)
        .map(|number| {
            let bearer = format!("Bearer {}", secret_of(number).reveal());
            let bearer = HeaderValue::from_str(&bearer).unwrap();
            HeaderMap::from_iter([(AUTHORIZATION, bearer)])
        })
        .collect();
    let began = Instant::now();
    const ROUNDS: u128 = 200;
    for _ in 0..ROUNDS {
        for headers in &requests {
            assert!(matches!(
                trunkline_edge::authenticate::key_owner(harness.gateway.edge(), headers),
                KeyOwner::Known { .. }
            ));
        }
    }
    let nanos = began.elapsed().as_nanos() / (ROUNDS * u128::from(KNOWN));
    (table.bytes as u64 / keys, grown / keys, read, nanos)
}

#[tokio::test]
async fn twenty_thousand_keys_take_little_and_are_read_and_found_soon() {
    let (bytes, _, read, nanos) = measured(20_000, 200).await;
    println!("{bytes} bytes a key, read in {read:?}, {nanos} ns a lookup");
    assert!(bytes < 200, "{bytes} bytes a key");
    assert!(read < Duration::from_secs(60), "{read:?}");
}

#[tokio::test]
#[ignore = "takes minutes; `just keys-scale` runs it"]
async fn a_million_keys_over_ten_thousand_policies() {
    let (bytes, resident, read, nanos) = measured(1_000_000, 10_000).await;
    println!("bytes a key by the table's count: {bytes}");
    println!("bytes a key by resident memory, policies and buffers included: {resident}");
    println!("cold start: {read:?}");
    println!("parsing, hashing and finding a key: {nanos} ns");
    assert!(
        bytes < 200 && resident < 400,
        "{bytes} and {resident} bytes a key"
    );
}
