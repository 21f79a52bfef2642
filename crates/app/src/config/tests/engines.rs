//! Engines beside PostgreSQL.

use super::{from_text, problem};

#[test]
fn an_address_of_redis_that_cannot_be_used_is_explained_and_not_repeated() {
    assert!(from_text("", &[]).unwrap().redis.is_none());
    for (url, says) in [
        ("http://:psst@cache", "rediss://"),
        ("cache:6379#psst", "redis://"),
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
fn certificates_of_an_engine_are_looked_at_when_the_configuration_is() {
    let tls = from_text("[redis]\nurl = \"rediss://:psst@cache\"", &[]).unwrap();
    assert!(tls.redis.unwrap().roots.is_none());
    for (key, url) in [("redis", "rediss://cache"), ("nats", "tls://bus")] {
        let of = |roots: &str, url: &str| {
            let text = format!("[{key}]\nurl = \"{url}\"\ntls_roots = \"{roots}\"");
            problem(from_text(&text, &[]), &format!("{key}.tls_roots"))
        };
        assert!(of("/nowhere", url).contains("cannot read"));
        assert!(of("/etc/hostname", url).contains("certificate"));
        let plain = url.replace("rediss", "redis").replace("tls", "nats");
        assert!(of("/nowhere", &plain).contains("does not speak TLS"));
    }
}

#[test]
fn a_secret_is_read_from_its_file_and_from_one_place_alone() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("redis");
    std::fs::write(&file, "rediss://:canary@cache\n").unwrap();
    let named = file.to_str().unwrap();
    let text = format!("[redis]\nurl_file = \"{named}\"");
    let config = from_text(&text, &[]).unwrap();
    let url = config.redis.as_ref().unwrap().url.reveal();
    assert_eq!(url, "rediss://:canary@cache");
    assert!(!format!("{config:?}").contains("canary"));
    let variable = [("TRUNKLINE__REDIS__URL_FILE", named)];
    let config = from_text("", &variable).unwrap();
    assert_eq!(config.redis.unwrap().url.reveal(), "rediss://:canary@cache");
    let both = from_text(&format!("{text}\nurl = \"redis://a\""), &[]);
    assert!(problem(both, "redis.url_file").contains("keep one"));
    let absent = from_text("[mail]\nsmtp_file = \"/nowhere\"", &[]);
    assert!(problem(absent, "mail.smtp_file").contains("cannot read"));
    let other = from_text("[edge]\nlisten_file = \"/nowhere\"", &[]);
    assert!(problem(other, "edge.listen_file").contains("unknown key"));
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
