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
    let desk = AdminCli::new().await;
    let account = desk.account("Ada");
    let id = account.to_string();
    let pay = ["topup", &id, "12.5", "--event", "invoice-1"];
    let first = desk.json(&pay);
    assert_eq!(
        (&first["booked_now"], &first["balance"]["paid_usd"]),
        (&true.into(), &"12.5".into())
    );
    let again = desk.json(&pay);
    assert_eq!(
        (&again["booked_now"], &again["balance"]["paid_usd"]),
        (&false.into(), &"12.5".into())
    );
    let other = desk.refused(&["topup", &id, "13", "--event", "invoice-1"]);
    assert!(
        other.contains("nothing was done") && other.contains("another --event"),
        "{other}"
    );

    let gift = desk.json(&["topup", &id, "0.2", "--trial"]);
    assert!(
        gift["event"].as_str().unwrap().starts_with("req_"),
        "{gift}"
    );
    let shown = desk.json(&["account", "show", &id]);
    let balance = &shown["balance"];
    assert_eq!(
        (&balance["paid_usd"], &balance["trial_usd"]),
        (&"12.5".into(), &"0.2".into())
    );
    let text = desk.run(&["account", "show", &id]).out;
    assert!(
        text.contains("paid    12.5 USD") && text.contains("trial   0.2 USD"),
        "{text}"
    );

    let nobody = desk.refused(&["topup", "7", "1"]);
    assert!(
        nobody.contains("there is no account 7") && nobody.contains("account create"),
        "{nobody}"
    );
    for wrong in ["0", "-1", "1.0000000001", "much"] {
        assert_eq!(desk.run(&["topup", &id, wrong]).code, Some(2), "{wrong}");
    }
}

#[tokio::test]
async fn an_account_is_told_of_a_balance_below_its_mark() {
    let desk = AdminCli::new().await;
    let account = desk.account("Ada");
    let id = account.to_string();
    desk.json(&["topup", &id, "12.5", "--event", "invoice-1"]);
    let set = desk.json(&["account", "low-balance", &id, "5"]);
    assert_eq!(set["low_balance_usd"], "5");
    let text = desk.run(&["account", "show", &id]).out;
    assert!(text.contains("of a balance below 5 USD"), "{text}");
    desk.json(&["account", "low-balance", &id, "20"]);
    let console = desk.db.connect(Role::Console).await;
    let mut session = console.session().await.unwrap();
    let told = events::after(&mut session, AccountId::new(account), 0, 10).await;
    let told = told.unwrap();
    assert_eq!(told.len(), 1, "{told:?}");
    assert_eq!(told[0].topic, "balance.low");
    assert_eq!(told[0].body["threshold_usd"], "20");
    let gone = desk.json(&["account", "low-balance", &id, "none"]);
    assert!(gone["low_balance_usd"].is_null(), "{gone}");
    let nothing = desk.refused(&["account", "low-balance", &id, "0"]);
    assert!(nothing.contains("greater than zero"), "{nothing}");
    let nobody = desk.refused(&["account", "low-balance", "7", "1"]);
    assert!(nobody.contains("there is no account 7"), "{nobody}");
}

// covers: D-1-13, D-1-18, D-1-19
#[tokio::test]
async fn a_key_is_printed_once_and_listed_by_prefix_and_last_four() {
    let desk = AdminCli::new().await;
    let account = desk.account("Ada");
    let id = account.to_string();
    let made = desk.run(&["key", "create", &id, "--name", "laptop"]);
    let printed: Vec<&str> = made
        .out
        .lines()
        .map(str::trim)
        .filter(|line| line.starts_with("sk-tl-"))
        .collect();
    assert_eq!(printed.len(), 1, "{made:?}");
    let (number, in_json) = desk.key(account, &["--models", "b,a", "--rpm", "60", "--strict"]);
    let keys = [printed[0].to_owned(), in_json];
    let list = desk.run(&["key", "list", &id]);
    let later = [
        list.out.clone(),
        desk.run(&["key", "list", &id, "--json"]).out,
        desk.run(&["account", "show", &id, "--json"]).out,
        desk.run(&["account", "statement", &id]).out,
        desk.run(&["key", "revoke", &number.to_string(), "--json"])
            .out,
        desk.run(&["key", "list", &id, "--json"]).out,
    ];
    for key in &keys {
        assert_eq!(key.len(), 57);
        let parsed = ApiKey::parse(key).unwrap();
        assert!(
            later
                .iter()
                .all(|said| !said.contains(key.as_str()) && !said.contains(&key[8..51]))
        );
        let hint = format!("{}…{}", &key[..8], &key[53..]);
        assert_eq!(parsed.hint(), hint);
        assert!(list.out.contains(&hint), "{list:?}");
    }
    let listed = desk.json(&["key", "list", &id]);
    let row = &listed["keys"][1];
    assert_eq!(
        (&row["models"], &row["state"]),
        (&serde_json::json!(["a", "b"]), &"revoked".into())
    );
    assert_eq!(
        (&row["requests_per_minute"], &row["strict"]),
        (&60.into(), &true.into())
    );
    let page = desk.json(&["key", "list", &id, "--limit", "1"]);
    assert_eq!(page["next_after"], listed["keys"][0]["id"]);
}

#[tokio::test]
async fn a_key_below_another_is_narrower_and_goes_with_it() {
    let desk = AdminCli::new().await;
    let account = desk.account("Ada");
    let (id, other) = (account.to_string(), desk.account("Bob").to_string());
    let (parent, _) = desk.key(
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
    let (child, _) = desk.key(account, &["--parent", &above, "--models", "a"]);
    let listed = desk.json(&["key", "list", &id]);
    let (top, below) = (&listed["keys"][0], &listed["keys"][1]);
    assert_eq!(
        (&below["parent"], &below["models"]),
        (&parent.into(), &serde_json::json!(["a"]))
    );
    assert_eq!(below["addresses"], serde_json::json!(["10.0.0.0/8"]));
    assert_eq!(below["expires_at"], top["expires_at"]);

    let create = |account: &str, words: &[&str]| {
        desk.refused(&[&["key", "create", account, "--name", "x"][..], words].concat())
    };
    let said = create(&id, &["--parent", &above, "--models", "c"]);
    assert!(
        said.contains("models must not allow more than the parent key does (c)"),
        "{said}"
    );
    let said = create(&other, &["--parent", &above]);
    assert!(
        said.contains("has no key") && said.contains(&above),
        "{said}"
    );
    let said = create(&id, &["--addresses", "10.0.0.1/8"]);
    assert!(said.contains("addresses has \"10.0.0.1/8\""), "{said}");
    let said = create(&id, &["--rpm", "0"]);
    assert!(
        said.contains("requests_per_minute must be from 1 to"),
        "{said}"
    );
    let said = create(&id, &["--expires", "2020-01-01T00:00:00Z"]);
    assert!(said.contains("expires_at must be in the future"), "{said}");
    assert_eq!(
        desk.run(&["key", "create", &id, "--name", "x", "--expires", "soon"])
            .code,
        Some(2)
    );

    let revoked = desk.json(&["key", "revoke", &above]);
    assert_eq!(revoked["revoked"], serde_json::json!([parent, child]));
    let again = desk.run(&["key", "revoke", &above]);
    assert!(again.out.contains("was revoked before"), "{again:?}");
    let said = create(&id, &["--parent", &child.to_string()]);
    assert!(said.contains("it is revoked"), "{said}");
    let said = desk.refused(&["key", "revoke", "99999"]);
    assert!(said.contains("there is no key 99999"), "{said}");
}

#[tokio::test]
async fn a_key_names_a_group_that_its_account_is_allowed_or_is_not_made() {
    let desk = AdminCli::new().await;
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
    let made = desk.json(&words);
    assert_eq!(made["account"]["group"], "whole");
    let account = made["account"]["id"].as_i64().unwrap();
    let id = account.to_string();
    for group in ["whole", "night", "auto"] {
        desk.key(account, &["--group", group]);
    }
    let said = desk.refused(&["key", "create", &id, "--name", "x", "--group", "vip"]);
    assert!(
        said.contains("not allowed group \"vip\"; its keys may name whole, night"),
        "{said}"
    );
    let said = desk.refused(&["account", "create", "--name", "x", "--group", "auto"]);
    assert!(said.contains("group must name a group"), "{said}");
}

#[tokio::test]
async fn a_budget_is_set_shown_and_taken_away_and_wrong_ones_are_explained() {
    let desk = AdminCli::new().await;
    let account = desk.account("Ada");
    let id = account.to_string();
    let (key, _) = desk.key(account, &[]);
    let number = key.to_string();
    let made = desk.json(&budget(
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
    desk.json(&budget(
        &id,
        &["--key", &number, "--period", "total", "--limit", "5"],
    ));
    let shown = desk.json(&["account", "show", &id]);
    assert_eq!(
        shown["budgets"].as_array().unwrap().len(),
        1,
        "the account's own"
    );
    let listed = desk.json(&["key", "list", &id]);
    assert_eq!(listed["keys"][0]["budgets"][0]["limit_usd"], "5");

    let kept = desk.run(&budget(
        &id,
        &["--period", "monthly", "--limit", "50", "--timezone", "UTC"],
    ));
    assert!(
        kept.out.contains("keeps the time zone Europe/Berlin"),
        "{kept:?}"
    );
    let gone = desk.json(&budget(
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
            "leave --timezone out",
        ),
        (
            &["--period", "daily", "--limit", "none", "--timezone", "UTC"],
            "leave --timezone out",
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
        let said = desk.refused(&budget(&id, words));
        assert!(said.contains(expected), "{said}");
    }
    let said = desk.refused(&["budget", "set", "7", "--period", "daily", "--limit", "1"]);
    assert!(said.contains("there is no account 7"), "{said}");
    for wrong in [
        ["--period", "hourly", "--limit", "1"],
        ["--period", "daily", "--limit", "-1"],
    ] {
        assert_eq!(desk.run(&budget(&id, &wrong)).code, Some(2), "{wrong:?}");
    }
}

#[tokio::test]
async fn a_statement_tells_every_entry_with_the_balance_after_it_newest_first() {
    let desk = AdminCli::new().await;
    let account = desk.account("Ada");
    let id = account.to_string();
    let empty = desk.run(&["account", "statement", &id]);
    assert!(empty.out.contains("has no transactions yet"), "{empty:?}");
    let (key, _) = desk.key(account, &[]);
    desk.json(&["topup", &id, "0.2", "--trial", "--event", "welcome"]);
    desk.json(&["topup", &id, "10", "--event", "invoice-1"]);
    let usd = |text: &str| text.parse::<Money>().unwrap();
    // The first call takes all of the trial money and some of the paid.
    let kept = desk.call(account, key, usd("1.2"), false).await;
    let returned = desk.call(account, key, usd("3"), true).await;

    let told = desk.json(&["account", "statement", &id]);
    let entries = told["entries"].as_array().unwrap();
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
        (&told["paid_usd"], &told["trial_usd"]),
        (&"9".into(), &"0".into())
    );
    let short = desk.json(&["account", "statement", &id, "--limit", "2"]);
    assert_eq!(short["entries"].as_array().unwrap()[..], entries[..2]);
    let text = desk.run(&["account", "statement", &id]).out;
    assert!(
        text.contains("model (chat) by key") && text.contains("manual invoice-1"),
        "{text}"
    );
    assert_eq!(
        desk.run(&["account", "statement", &id, "--limit", "501"])
            .code,
        Some(2)
    );
    let said = desk.refused(&["account", "statement", "7"]);
    assert!(said.contains("there is no account 7"), "{said}");
}

#[tokio::test]
async fn the_audit_exits_with_0_or_with_1_and_the_offending_row() {
    let desk = AdminCli::new().await;
    let account = desk.account("Ada");
    let id = account.to_string();
    let (key, _) = desk.key(account, &[]);
    desk.key(account, &["--parent", &key.to_string()]);
    desk.json(&["topup", &id, "10"]);
    desk.call(account, key, Money::from_nanos(7), false).await;
    let clean = desk.run_as(Role::Audit, &["audit"]);
    assert_eq!(clean.code, Some(0), "{clean:?}");
    assert!(
        clean.out.contains("no violations.")
            && clean.out.contains("app.audit_key_is_not_its_spender")
    );

    desk.as_superuser("UPDATE ledger.account SET paid_posted = paid_posted + 1");
    let wrong = desk.run_as(Role::Audit, &["audit"]);
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
    let told = desk.run_as(Role::Audit, &["audit", "--json"]);
    let report = told.json();
    assert_eq!((told.code, &report["ok"]), (Some(1), &false.into()));
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
    let desk = AdminCli::new().await;
    let said = desk.run_as(Role::Data, &["account", "show", "1000"]);
    assert_eq!(said.code, Some(1));
    assert!(
        said.err.contains("trunkline_console") && said.err.contains("GRANT"),
        "{said:?}"
    );
    desk.as_superuser("DELETE FROM app.migration WHERE version > 20261115010000");
    let said = desk.refused(&["account", "show", "1000"]);
    assert!(said.contains("run `trunkline migrate`"), "{said}");
}
