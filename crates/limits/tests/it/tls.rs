//! TLS to Redis, with a certificate that an authority of the operator's own has signed.

use std::time::Duration;

use trunkline_limits::{Limits, Mode, RedisSettings};
use trunkline_testkit::{Certificates, Redis};
use trunkline_types::Secret;

use crate::suite::{Node, TAG, requests};

const IN_VAIN: Duration = Duration::from_secs(2);

fn settings(name: &str, url: String, roots: &Certificates) -> RedisSettings {
    RedisSettings {
        timeout: Duration::from_secs(5),
        roots: Some(std::fs::read(roots.roots()).unwrap()),
        ..RedisSettings::new(Secret::new(url), name)
    }
}

#[tokio::test]
async fn nodes_count_together_over_tls_and_trust_their_own_authority_alone() {
    let (own, other) = (Certificates::new().await, Certificates::new().await);
    let (_redis, port) = Redis::with_tls(&own, "hunter2").await;
    let url = |host: &str, password: &str| format!("rediss://:{password}@{host}:{port}");
    let one = Node::with(settings("n1", url("localhost", "hunter2"), &own)).await;
    let two = Node::with(settings("n2", url("localhost", "hunter2"), &own)).await;
    assert_eq!(two.limits.mode(), Mode::Shared);
    for limits in [&one.limits, &two.limits] {
        limits.take(TAG, vec![requests(1, 100)]).await.unwrap();
    }
    for wrong in [
        settings("n3", url("localhost", "hunter2"), &other),
        settings("n3", url("127.0.0.1", "hunter2"), &own),
        settings("n3", url("localhost", "hunter3"), &own),
    ] {
        let (limits, keeper) = Limits::redis(wrong).unwrap();
        let node = Node::keep(limits, keeper);
        tokio::time::sleep(IN_VAIN).await;
        assert_eq!(node.limits.mode(), Mode::Fallback);
    }
}
