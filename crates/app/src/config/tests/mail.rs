//! Emails.

use super::{from_text, problem};

#[test]
fn mail_needs_a_server_and_a_sender_and_its_password_is_never_repeated() {
    assert!(from_text("", &[]).unwrap().mail.is_none());
    let text = "[mail]\nsmtp = \"smtp://u:hunter2canary@mail.example.com\"\nfrom = \"Trunkline <mail@example.com>\"";
    let config = from_text(text, &[]).unwrap();
    assert!(!format!("{config:?}").contains("canary"));
    assert_eq!(config.mail.unwrap().timeout.as_secs(), 30);
    let no_sender = from_text("[mail]\nsmtp = \"smtp://127.0.0.1\"", &[]);
    assert!(problem(no_sender, "mail.from").contains("such as Trunkline <mail@example.com>"));
    for url in [
        "mail.example.com:587",
        "smtp://u@hunter2canary",
        "imap://u:hunter2canary@h",
    ] {
        let variables = [
            ("TRUNKLINE__MAIL__SMTP", url),
            ("TRUNKLINE__MAIL__FROM", "mail@example.com"),
        ];
        let message = problem(from_text("", &variables), "mail.smtp");
        assert!(
            message.contains("TRUNKLINE__MAIL__SMTP") && !message.contains("canary"),
            "{message}"
        );
    }
    for seconds in [0, 301] {
        let slow = from_text(&format!("[mail]\ntimeout_seconds = {seconds}"), &[]);
        assert!(problem(slow, "mail.timeout_seconds").contains("from 1 to 300"));
    }
}

#[test]
fn alarms_by_email_need_a_mail_server_and_by_webhook_a_secret() {
    let alone = from_text("[alarms]\nemails = [\"ops@example.com\"]", &[]);
    assert!(problem(alone, "alarms.emails").contains("needs mail.smtp"));
    let unsigned = from_text("[alarms]\nwebhook_url = \"https://ops.example.com\"", &[]);
    assert!(problem(unsigned, "alarms.webhook_secret").contains("whsec_"));
    let wrong = from_text("[alarms]\naccount_usd = \"-1\"", &[]);
    assert!(problem(wrong, "alarms.account_usd").contains("must be an amount"));
}
