//! Accounts, payments, keys, budgets and the audit, from the command line to the tables and back.

use trunkline_db::{Role, events};
use trunkline_types::{AccountId, ApiKey, Money};

use crate::admin_cli::AdminCli;

/// The words of `budget set` for an account.
fn budget<'a>(account: &'a str, words: &[&'a str]) -> Vec<&'a str> {
    [&["budget", "set", account][..], words].concat()
}

// covers: D-2-19
#[tokio::test]
async fn an_account_has_a_paid_and_a_trial_wallet_and_a_payment_is_booked_once() {
    let cli = AdminCli::new().await;
    let account = cli.account("Ada");
    let id = account.to_string();
    let pay = ["topup", &id, "12.5", "--event", "invoice-1"];
    let first = cli.json(&pay);
    assert_eq!(
        (&first["booked_now"], &first["balance"]["paid_usd"]),
        (&true.into(), &"12.5".into())
    );
    let repeated = cli.json(&pay);
    assert_eq!(
        (&repeated["booked_now"], &repeated["balance"]["paid_usd"]),
        (&false.into(), &"12.5".into())
    );
    let other = cli.refused(&["topup", &id, "13", "--event", "invoice-1"]);
    assert!(
        other.contains("nothing was done") && other.contains("another --event"),
        "{other}"
    );

    let trial = cli.json(&["topup", &id, "0.2", "--trial"]);
    assert!(
        trial["event"].as_str().unwrap().starts_with("req_"),
        "{trial}"
    );
    let view = cli.json(&["account", "show", &id]);
    let balance = &view["balance"];
    assert_eq!(
        (&balance["paid_usd"], &balance["trial_usd"]),
        (&"12.5".into(), &"0.2".into())
    );
    let text = cli.run(&["account", "show", &id]).out;
    assert!(
        text.contains("paid    12.5 USD") && text.contains("trial   0.2 USD"),
        "{text}"
    );

    let unknown = cli.refused(&["topup", "7", "1"]);
    assert!(
        unknown.contains("there is no account 7") && unknown.contains("account create"),
        "{unknown}"
    );
    for wrong in ["0", "-1", "1.0000000001", "much"] {
        assert_eq!(cli.run(&["topup", &id, wrong]).code, Some(2), "{wrong}");
    }
}

#[tokio::test]
async fn an_account_is_told_of_a_balance_below_its_mark() {
    let cli = AdminCli::new().await;
    let account = cli.account("Ada");
    let id = account.to_string();
    cli.json(&["topup", &id, "12.5", "--event", "invoice-1"]);
    let set = cli.json(&["account", "low-balance", &id, "5"]);
    assert_eq!(set["low_balance_usd"], "5");
    let text = cli.run(&["account", "show", &id]).out;
    assert!(text.contains("alert   below 5 USD"), "{text}");
    cli.json(&["account", "low-balance", &id, "20"]);
    let console = cli.db.connect(Role::Console).await;
    let mut session = console.session().await.unwrap();
    let reported = events::after(&mut session, AccountId::new(account), 0, 10).await;
    let reported = reported.unwrap();
    assert_eq!(reported.len(), 1, "{reported:?}");
    assert_eq!(reported[0].topic, "balance.low");
    assert_eq!(reported[0].body["threshold_usd"], "20");
    let gone = cli.json(&["account", "low-balance", &id, "none"]);
    assert!(gone["low_balance_usd"].is_null(), "{gone}");
    let nothing = cli.refused(&["account", "low-balance", &id, "0"]);
    assert!(nothing.contains("greater than zero"), "{nothing}");
    let unknown = cli.refused(&["account", "low-balance", "7", "1"]);
    assert!(unknown.contains("there is no account 7"), "{unknown}");
}

// covers: D-1-13, D-1-18, D-1-19
#[tokio::test]
async fn a_key_is_printed_once_and_listed_by_prefix_and_last_four() {
    let cli = AdminCli::new().await;
    let account = cli.account("Ada");
    let id = account.to_string();
    let made = cli.run(&["key", "create", &id, "--name", "laptop"]);
    let printed: Vec<&str> = made
        .out
        .lines()
        .map(str::trim)
        .filter(|line| line.starts_with("sk-tl-"))
        .collect();
    assert_eq!(printed.len(), 1, "{made:?}");
    let (number, in_json) = cli.key(account, &["--models", "b,a", "--rpm", "60", "--strict"]);
    let keys = [printed[0].to_owned(), in_json];
    let list = cli.run(&["key", "list", &id]);
    let later = [
        list.out.clone(),
        cli.run(&["key", "list", &id, "--json"]).out,
        cli.run(&["account", "show", &id, "--json"]).out,
        cli.run(&["account", "statement", &id]).out,
        cli.run(&["key", "revoke", &number.to_string(), "--json"])
            .out,
        cli.run(&["key", "list", &id, "--json"]).out,
    ];
    for key in &keys {
        assert_eq!(key.len(), 57);
        let parsed = ApiKey::parse(key).unwrap();
        assert!(
            later
                .iter()
                .all(|reply| !reply.contains(key.as_str()) && !reply.contains(&key[8..51]))
        );
        let hint = format!("{}…{}", &key[..8], &key[53..]);
        assert_eq!(parsed.hint(), hint);
        assert!(list.out.contains(&hint), "{list:?}");
    }
    let listed = cli.json(&["key", "list", &id]);
    let row = &listed["keys"][1];
    assert_eq!(
        (&row["models"], &row["state"]),
        (&serde_json::json!(["a", "b"]), &"revoked".into())
    );
    assert_eq!(
        (&row["requests_per_minute"], &row["strict"]),
        (&60.into(), &true.into())
    );
    let page = cli.json(&["key", "list", &id, "--limit", "1"]);
    assert_eq!(page["next_after"], listed["keys"][0]["id"]);
}

#[tokio::test]
async fn a_key_below_another_is_narrower_and_goes_with_it() {
    let cli = AdminCli::new().await;
    let account = cli.account("Ada");
    let (id, other) = (account.to_string(), cli.account("Bob").to_string());
    let (parent, _) = cli.key(
        account,
        &[
            "--models",
            "a,b",
            "--addresses",
            "10.0.0.0/8",
            "--expires",
            "30",
        ],
    );
    let above = parent.to_string();
    let (child, _) = cli.key(account, &["--parent", &above, "--models", "a"]);
    let listed = cli.json(&["key", "list", &id]);
    let (top, below) = (&listed["keys"][0], &listed["keys"][1]);
    assert_eq!(
        (&below["parent"], &below["models"]),
        (&parent.into(), &serde_json::json!(["a"]))
    );
    assert_eq!(below["addresses"], serde_json::json!(["10.0.0.0/8"]));
    assert_eq!(below["expires_at"], top["expires_at"]);

    let create = |account: &str, words: &[&str]| {
        cli.refused(&[&["key", "create", account, "--name", "x"][..], words].concat())
    };
    let reply = create(&id, &["--parent", &above, "--models", "c"]);
    assert!(
        reply.contains("models must not allow more than the parent key does (c)"),
        "{reply}"
    );
    let reply = create(&other, &["--parent", &above]);
    assert!(
        reply.contains("has no key") && reply.contains(&above),
        "{reply}"
    );
    let reply = create(&id, &["--addresses", "10.0.0.1/8"]);
    assert!(reply.contains("addresses has \"10.0.0.1/8\""), "{reply}");
    let reply = create(&id, &["--rpm", "0"]);
    assert!(
        reply.contains("requests_per_minute must be from 1 to"),
        "{reply}"
    );
    let reply = create(&id, &["--expires", "2020-01-01T00:00:00Z"]);
    assert!(
        reply.contains("expires_at must be in the future"),
        "{reply}"
    );
    assert_eq!(
        cli.run(&["key", "create", &id, "--name", "x", "--expires", "soon"])
            .code,
        Some(2)
    );

    let revoked = cli.json(&["key", "revoke", &above]);
    assert_eq!(revoked["revoked"], serde_json::json!([parent, child]));
    let repeated = cli.run(&["key", "revoke", &above]);
    assert!(repeated.out.contains("was revoked before"), "{repeated:?}");
    let reply = create(&id, &["--parent", &child.to_string()]);
    assert!(reply.contains("it is revoked"), "{reply}");
    let reply = cli.refused(&["key", "revoke", "99999"]);
    assert!(reply.contains("there is no key 99999"), "{reply}");
}

#[tokio::test]
async fn a_key_names_a_group_that_its_account_is_allowed_or_is_not_made() {
    let cli = AdminCli::new().await;
    let words = [
        "account",
        "create",
        "--name",
        "Acme",
        "--group",
        "whole",
        "--allowed-groups",
        "night",
    ];
    let made = cli.json(&words);
    assert_eq!(made["account"]["group"], "whole");
    let account = made["account"]["id"].as_i64().unwrap();
    let id = account.to_string();
    for group in ["whole", "night", "auto"] {
        cli.key(account, &["--group", group]);
    }
    let reply = cli.refused(&["key", "create", &id, "--name", "x", "--group", "vip"]);
    assert!(
        reply.contains("not allowed group \"vip\"; its keys may name whole, night"),
        "{reply}"
    );
    let reply = cli.refused(&["account", "create", "--name", "x", "--group", "auto"]);
    assert!(reply.contains("group must name a group"), "{reply}");
}

#[tokio::test]
async fn a_budget_is_set_shown_and_taken_away_and_wrong_ones_are_explained() {
    let cli = AdminCli::new().await;
    let account = cli.account("Ada");
    let id = account.to_string();
    let (key, _) = cli.key(account, &[]);
    let number = key.to_string();
    let made = cli.json(&budget(
        &id,
        &[
            "--period",
            "monthly",
            "--limit",
            "100",
            "--timezone",
            "Europe/Berlin",
        ],
    ));
    assert_eq!(
        (&made["budget"]["limit_usd"], &made["budget"]["timezone"]),
        (&"100".into(), &"Europe/Berlin".into())
    );
    cli.json(&budget(
        &id,
        &["--key", &number, "--period", "total", "--limit", "5"],
    ));
    let view = cli.json(&["account", "show", &id]);
    assert_eq!(
        view["budgets"].as_array().unwrap().len(),
        1,
        "the account's own"
    );
    let listed = cli.json(&["key", "list", &id]);
    assert_eq!(listed["keys"][0]["budgets"][0]["limit_usd"], "5");

    let kept = cli.run(&budget(
        &id,
        &["--period", "monthly", "--limit", "50", "--timezone", "UTC"],
    ));
    assert!(
        kept.out.contains("keeps the time zone Europe/Berlin"),
        "{kept:?}"
    );
    let gone = cli.json(&budget(
        &id,
        &["--key", &number, "--period", "total", "--limit", "none"],
    ));
    assert!(gone["budget"].is_null());

    let rows: [(&[&str], &str); 5] = [
        (
            &[
                "--period",
                "monthly",
                "--limit",
                "1",
                "--timezone",
                "Mars/Olympus",
            ],
            "not a time zone",
        ),
        (
            &["--period", "total", "--limit", "1", "--timezone", "UTC"],
            "omit --timezone",
        ),
        (
            &["--period", "daily", "--limit", "none", "--timezone", "UTC"],
            "omit --timezone",
        ),
        (
            &["--period", "daily", "--limit", "1", "--key", "99999"],
            "has no key 99999",
        ),
        (
            &[
                "--period",
                "daily",
                "--limit",
                "1",
                "--key",
                "99999",
                "--timezone",
                "UTC",
            ],
            "key list",
        ),
    ];
    for (words, expected) in rows {
        let reply = cli.refused(&budget(&id, words));
        assert!(reply.contains(expected), "{reply}");
    }
    let reply = cli.refused(&["budget", "set", "7", "--period", "daily", "--limit", "1"]);
    assert!(reply.contains("there is no account 7"), "{reply}");
    for wrong in [
        ["--period", "hourly", "--limit", "1"],
        ["--period", "daily", "--limit", "-1"],
    ] {
        assert_eq!(cli.run(&budget(&id, &wrong)).code, Some(2), "{wrong:?}");
    }
}

#[tokio::test]
async fn a_statement_tells_every_entry_with_the_balance_after_it_newest_first() {
    let cli = AdminCli::new().await;
    let account = cli.account("Ada");
    let id = account.to_string();
    let empty = cli.run(&["account", "statement", &id]);
    assert!(empty.out.contains("has no transactions yet"), "{empty:?}");
    let (key, _) = cli.key(account, &[]);
    cli.json(&["topup", &id, "0.2", "--trial", "--event", "welcome"]);
    cli.json(&["topup", &id, "10", "--event", "invoice-1"]);
    let usd = |text: &str| text.parse::<Money>().unwrap();
    // The first call takes all of the trial money and some of the paid.
    let kept = cli.call(account, key, usd("1.2"), false).await;
    let returned = cli.call(account, key, usd("3"), true).await;

    let reported = cli.json(&["account", "statement", &id]);
    let entries = reported["entries"].as_array().unwrap();
    let lines: Vec<_> = entries
        .iter()
        .map(|entry| {
            [
                "what",
                "paid_usd",
                "trial_usd",
                "paid_after_usd",
                "trial_after_usd",
            ]
            .map(|field| entry[field].as_str().unwrap())
        })
        .collect();
    assert_eq!(
        lines,
        [
            ["refund", "3", "0", "9", "0"],
            ["call", "-3", "0", "6", "0"],
            ["call", "-1", "-0.2", "9", "0"],
            ["top_up", "10", "0", "10", "0.2"],
            ["trial_grant", "0", "0.2", "0", "0.2"],
        ]
    );
    assert_eq!(entries[0]["request"], returned.to_string());
    assert_eq!(entries[2]["request"], kept.to_string());
    assert_eq!(entries[2]["details"]["key"], key);
    assert_eq!(entries[3]["details"]["event"], "invoice-1");
    assert_eq!(
        (&reported["paid_usd"], &reported["trial_usd"]),
        (&"9".into(), &"0".into())
    );
    let short = cli.json(&["account", "statement", &id, "--limit", "2"]);
    assert_eq!(short["entries"].as_array().unwrap()[..], entries[..2]);
    let text = cli.run(&["account", "statement", &id]).out;
    assert!(
        text.contains("model (chat) by key") && text.contains("manual invoice-1"),
        "{text}"
    );
    assert_eq!(
        cli.run(&["account", "statement", &id, "--limit", "501"])
            .code,
        Some(2)
    );
    let reply = cli.refused(&["account", "statement", "7"]);
    assert!(reply.contains("there is no account 7"), "{reply}");
}

#[tokio::test]
async fn the_audit_exits_with_0_or_with_1_and_the_offending_row() {
    let cli = AdminCli::new().await;
    let account = cli.account("Ada");
    let id = account.to_string();
    let (key, _) = cli.key(account, &[]);
    cli.key(account, &["--parent", &key.to_string()]);
    cli.json(&["topup", &id, "10"]);
    cli.call(account, key, Money::from_nanos(7), false).await;
    let clean = cli.run_as(Role::Audit, &["audit"]);
    assert_eq!(clean.code, Some(0), "{clean:?}");
    assert!(
        clean.out.contains("no violations.")
            && clean.out.contains("app.audit_key_is_not_its_spender")
    );

    cli.as_superuser("UPDATE ledger.account SET paid_posted = paid_posted + 1");
    let wrong = cli.run_as(Role::Audit, &["audit"]);
    assert_eq!(wrong.code, Some(1), "{wrong:?}");
    let view = "ledger.audit_balance_is_not_its_transfers";
    let line = wrong.out.lines().find(|line| line.contains(view)).unwrap();
    assert!(
        line.starts_with("WRONG") && line.contains("1 rows; a wallet must hold"),
        "{line}"
    );
    assert!(
        wrong.out.contains(&format!("\"account_id\":{id}")),
        "{wrong:?}"
    );
    let reported = cli.run_as(Role::Audit, &["audit", "--json"]);
    let report = reported.json();
    assert_eq!((reported.code, &report["ok"]), (Some(1), &false.into()));
    let found = report["violations"].as_array().unwrap();
    assert!(
        found
            .iter()
            .any(|one| one["view"] == view && one["rows"][0]["account_id"] == account)
    );
    assert!(report["views"].as_array().unwrap().len() > found.len());
}

#[tokio::test]
async fn a_missing_role_and_a_missing_schema_are_explained() {
    let cli = AdminCli::new().await;
    let reply = cli.run_as(Role::Data, &["account", "show", "1000"]);
    assert_eq!(reply.code, Some(1));
    assert!(
        reply.err.contains("trunkline_console") && reply.err.contains("GRANT"),
        "{reply:?}"
    );
    cli.as_superuser("DELETE FROM app.migration WHERE name <> 'roles'");
    let reply = cli.refused(&["account", "show", "1000"]);
    assert!(reply.contains("run `trunkline migrate`"), "{reply}");
}
