//! Redemption codes and emails at the command line.

use trunkline_db::Role;

use crate::admin_cli::AdminCli;

#[tokio::test]
async fn codes_are_shown_once_listed_by_their_hints_and_taken_back() {
    let cli = AdminCli::new().await;
    let made = cli.json(&[
        "code",
        "create",
        "--amount",
        "5",
        "--count",
        "3",
        "--batch",
        "fair",
        "--expires",
        "30d",
    ]);
    assert_eq!(
        (&made["amount_usd"], &made["wallet"]),
        (&"5".into(), &"paid".into())
    );
    let codes = made["codes"].as_array().unwrap();
    assert_eq!(codes.len(), 3);
    let first = codes[0]["code"].as_str().unwrap();
    assert!(first.starts_with("TL-") && first.len() == 22, "{first}");
    let other = cli.json(&["code", "create", "--amount", "0.5", "--wallet", "trial"]);
    assert_ne!(other["batch"], "fair");

    let reply = cli.run(&["code", "list"]);
    assert!(!reply.out.contains(first), "{}", reply.out);
    let listed = cli.json(&["code", "list", "--batch", "fair"]);
    let rows = listed["codes"].as_array().unwrap();
    assert_eq!(rows.len(), 3);
    assert!(
        rows.iter()
            .all(|row| row["state"] == "open" && row["made_by"] == "command line")
    );
    let kept = cli
        .db
        .ask("SELECT c::text FROM app.redemption_code AS c")
        .await
        .join("\n");
    let body = first.trim_start_matches("TL-").replace('-', "");
    assert!(!kept.contains(&body) && !kept.contains(first), "{kept}");

    let one = rows[0]["id"].as_str().unwrap();
    assert_eq!(cli.json(&["code", "revoke", one])["revoked"], 1);
    assert!(
        cli.refused(&["code", "revoke", one])
            .contains("nothing was taken back")
    );
    assert_eq!(
        cli.json(&["code", "revoke", "--batch", "fair"])["revoked"],
        2
    );
    let listed = cli.json(&["code", "list", "--batch", "fair"]);
    let states = listed["codes"].as_array().unwrap().iter();
    assert!(states.into_iter().all(|row| row["state"] == "revoked"));

    for wrong in [
        &["code", "create", "--amount", "0"][..],
        &["code", "create", "--amount", "1", "--count", "1001"],
        &["code", "revoke"],
        &["code", "revoke", "7"],
    ] {
        assert_eq!(cli.run(wrong).code, Some(2), "{wrong:?}");
    }
    let past = [
        "code",
        "create",
        "--amount",
        "1",
        "--expires",
        "2020-01-01T00:00:00Z",
    ];
    assert!(cli.refused(&past).contains("in the past"));
    let blank = ["code", "create", "--amount", "1", "--batch", "a b"];
    assert!(cli.refused(&blank).contains("without blanks"));
    let audit = cli.run_as(Role::Audit, &["audit"]);
    assert_eq!(audit.code, Some(0), "{audit:?}");
}

#[tokio::test]
async fn without_mail_the_list_of_emails_is_empty_at_first() {
    let cli = AdminCli::new().await;
    assert_eq!(cli.run(&["keyring", "generate"]).code, Some(0));
    let view = cli.json(&["emails"]);
    assert_eq!(view["emails"], serde_json::json!([]));
    assert!(cli.run(&["emails"]).out.contains("No unsent emails"));
}
