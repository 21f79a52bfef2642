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

#[test]
fn webhook_bounds_are_settings_and_an_attempt_fits_in_half_its_lease() {
    let hooks = from_text("", &[]).unwrap().webhooks;
    assert_eq!((hooks.most, hooks.wait.as_secs()), (20, 15));
    for (key, beyond) in [
        ("at_once", 10_001),
        ("at_once_per_webhook", 10_001),
        ("at_once_per_account", 10_001),
        ("wait_seconds", 26),
        ("per_account", 101),
    ] {
        for value in [0, beyond] {
            let text = format!("[webhooks]\n{key} = {value}");
            let message = problem(from_text(&text, &[]), &format!("webhooks.{key}"));
            assert!(message.contains("must be from"), "{message}");
        }
    }
    let longest = from_text("[webhooks]\nwait_seconds = 25", &[]).unwrap();
    assert!(longest.webhooks.wait * 2 < longest.webhooks.lease);
}
