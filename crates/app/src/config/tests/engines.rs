//! Engines beside PostgreSQL.

use super::{from_text, problem};

#[test]
fn an_address_of_redis_that_cannot_be_used_is_explained_and_not_repeated() {
    assert!(from_text("", &[]).unwrap().redis.is_none());
    for (url, says) in [
        ("rediss://:psst@cache", "tunnel"),
        ("http://:psst@cache", "redis://"),
    ] {
        let loaded = from_text(&format!("[redis]\nurl = \"{url}\""), &[]);
        let message = problem(loaded, "redis.url");
        assert!(
            message.contains(says) && !message.contains("psst"),
            "{message}"
        );
    }
    let slow = from_text("[redis]\ntimeout_ms = 60000", &[]);
    assert!(problem(slow, "redis.timeout_ms").contains("5000"));
    let none = from_text("[limits]\nconcurrent_calls = 0", &[]);
    assert!(problem(none, "limits.concurrent_calls").contains("from 1"));
}
