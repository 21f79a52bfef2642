//! Payments.

use std::path::Path;

use super::{from_text, problem};

fn written(folder: &Path, name: &str, text: &str) -> String {
    let path = folder.join(name);
    std::fs::write(&path, text).unwrap();
    path.to_str().unwrap().to_owned()
}

#[test]
fn payments_need_a_key_and_webhook_secrets_which_are_never_repeated() {
    assert!(from_text("", &[]).unwrap().stripe.is_none());
    let folder = tempfile::tempdir().unwrap();
    let key = written(folder.path(), "key", "sk_test_canary\n");
    let secrets = written(folder.path(), "secrets", "whsec_canary1\n\nwhsec_canary2\n");
    let empty = written(folder.path(), "empty", "\n");
    let text = |key: &str, secrets: &str| {
        format!("[payments]\nstripe_key_file = {key:?}\nstripe_webhook_secret_file = {secrets:?}")
    };
    let config = from_text(&text(&key, &secrets), &[]).unwrap();
    assert!(!format!("{config:?}").contains("canary"));
    let stripe = config.stripe.unwrap();
    assert_eq!(stripe.api, "https://api.stripe.com");
    assert_eq!(stripe.key.reveal(), "sk_test_canary");
    let read: Vec<&str> = stripe
        .webhook_secrets
        .iter()
        .map(|one| one.reveal())
        .collect();
    assert_eq!(read, ["whsec_canary1", "whsec_canary2"]);
    let missing = problem(
        from_text(&text(&key, ""), &[]),
        "payments.stripe_webhook_secret_file",
    );
    assert!(missing.contains("must be set"), "{missing}");
    let missing = problem(
        from_text(&text("", &secrets), &[]),
        "payments.stripe_key_file",
    );
    assert!(missing.contains("must be set"), "{missing}");
    let two = problem(
        from_text(&text(&secrets, &secrets), &[]),
        "payments.stripe_key_file",
    );
    assert!(
        two.contains("one secret key") && !two.contains("canary"),
        "{two}"
    );
    let none = problem(
        from_text(&text(&key, &empty), &[]),
        "payments.stripe_webhook_secret_file",
    );
    assert!(none.contains("one to eight"), "{none}");
    for api in ["http://api.stripe.com", "https://x/y", "stripe", ""] {
        let text = format!("[payments]\nstripe_api = {api:?}");
        let reported = problem(from_text(&text, &[]), "payments.stripe_api");
        assert!(
            reported.contains("such as https://api.stripe.com"),
            "{api}: {reported}"
        );
    }
}
