//! The console as operators write it.

use super::{from_text, problem};

#[test]
fn people_open_the_console_over_tls_or_on_this_machine() {
    let config = from_text("", &[]).unwrap();
    assert_eq!(config.console.dash_url, "http://127.0.0.1:8081");
    assert!(config.console.database_url.is_none() && config.console.trial.is_none());
    let message = problem(
        from_text("[console]\nlisten = \"0.0.0.0:8081\"", &[]),
        "console.public_url",
    );
    assert!(message.contains("must be set"), "{message}");
    let shared =
        "[edge]\ntls_certificate = \"c\"\ntls_key = \"k\"\n[console]\nlisten = \"127.0.0.1:8080\"";
    let config = from_text(shared, &[]).unwrap();
    assert_eq!(config.console.dash_url, "https://127.0.0.1:8080");
    for (good, kept) in [
        ("https://dash.example/", "https://dash.example"),
        ("https://dash.example:8443", "https://dash.example:8443"),
        ("http://localhost:5173", "http://localhost:5173"),
        ("http://[::1]:81", "http://[::1]:81"),
    ] {
        let config = from_text(&format!("[console]\npublic_url = {good:?}"), &[]).unwrap();
        assert_eq!(config.console.dash_url, kept);
    }
    for (wrong, message) in [
        ("http://dash.example", "https://"),
        ("http://10.0.0.1", "https://"),
        ("https://dash.example/console", "without a path"),
        ("https://u:p@dash.example", "without a path"),
        ("dash.example", "without a path"),
        ("ftp://dash.example", "without a path"),
    ] {
        let text = format!("[console]\npublic_url = {wrong:?}");
        let reported = problem(from_text(&text, &[]), "console.public_url");
        assert!(reported.contains(message), "{wrong}: {reported}");
    }
}

#[test]
fn trial_credit_and_sign_up_are_checked() {
    let text = "[console]\nsign_up = \"open\"\ntrial_amount_usd = \"0.20\"\ntrial_days = 14";
    let console = from_text(text, &[]).unwrap().console;
    assert_eq!(console.sign_up, trunkline_console::SignUp::Open);
    let trial = console.trial.unwrap();
    assert_eq!(
        (trial.amount.to_string().as_str(), trial.days, trial.per_day),
        ("0.2", 14, 100)
    );
    for (key, value) in [
        ("sign_up", "\"public\""),
        ("name", "\"\""),
        ("trial_amount_usd", "\"much\""),
        ("trial_amount_usd", "\"-1\""),
        ("trial_amount_usd", "\"0\""),
        ("trial_days", "0"),
        ("trial_per_day", "0"),
        ("database_url", "\"mysql://psst@h\""),
    ] {
        let text = format!("[console]\n{key} = {value}");
        let message = problem(from_text(&text, &[]), &format!("console.{key}"));
        assert!(!message.contains("psst"), "{message}");
    }
}

#[test]
fn edge_and_console_may_share_an_address_but_admin_may_not() {
    assert!(from_text("[console]\nlisten = \"127.0.0.1:8080\"", &[]).is_ok());
    let shared = from_text("[admin]\nlisten = \"127.0.0.1:8080\"", &[]);
    assert!(problem(shared, "admin.listen").contains("edge.listen"));
    let shared = from_text("[admin]\nlisten = \"127.0.0.1:8081\"", &[]);
    assert!(problem(shared, "admin.listen").contains("console.listen"));
    let free = "[admin]\nlisten = \"127.0.0.1:0\"\n[console]\nlisten = \"127.0.0.1:0\"";
    assert!(
        from_text(free, &[]).is_ok(),
        "free ports are different ones"
    );
}
