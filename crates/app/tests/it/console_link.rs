//! The signed-in link that `trunkline dev` prints, and where there is none.

use serde_json::{Value, json};
use tokio::process::Command;
use trunkline_db::Role;

use crate::admin_cli::AdminCli;
use crate::dev::{Dev, TRUNKLINE};
use crate::sdk::customer::{Sent, send_bytes};

/// Asks as the console's own page does.
async fn ask(dash: &str, (method, path): (&str, &str), cookie: &str, body: &Value) -> Sent {
    let headers = [
        ("x-trunkline-console", "1"),
        ("origin", dash),
        ("content-type", "application/json"),
        ("cookie", cookie),
    ];
    let url = format!("{dash}{path}");
    send_bytes(method, &url, &headers, body.to_string().as_bytes()).await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_link_of_dev_opens_the_seeded_account_without_a_form() {
    let dev = Dev::start().await;
    let dash = dev.text("dash_url");
    let (page, token) = dev.text("console_link").split_once('#').unwrap();
    assert_eq!(page, format!("{dash}/dev"));
    let body = json!({ "token": token });
    let opened = ask(dash, ("POST", "/api/session/dev"), "", &body).await;
    assert_eq!(opened.status, 200, "{}", opened.text());
    let session = opened.json();
    assert_eq!(session["account"]["id"], dev.ready["account"]);
    assert_eq!(session["person"]["is_operator"], true);
    assert_eq!(session["instance"]["mode"], "dev");
    let cookie = opened.header("set-cookie").unwrap();
    let cookie = cookie.split(';').next().unwrap();
    let home = ask(dash, ("GET", "/api/home"), cookie, &Value::Null).await;
    assert_eq!(home.status, 200, "{}", home.text());
    assert_eq!(home.json()["has_key"], true, "the key that dev printed");
    // Opened again, from a bookmark or in another browser, it works until dev ends.
    let repeated = ask(dash, ("POST", "/api/session/dev"), "", &body).await;
    assert_eq!(repeated.json()["person"], session["person"]);
    dev.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn dev_prints_no_signed_in_link_if_the_console_is_reachable_remotely() {
    let folder = tempfile::tempdir().unwrap();
    let mut command = Command::new(TRUNKLINE);
    command
        .args(["dev", "--json", "--simulated", "--exit-on-eof"])
        .args(["--config", "/dev/null"])
        .current_dir(folder.path())
        .env("TRUNKLINE__EDGE__LISTEN", "127.0.0.1:0")
        .env("TRUNKLINE__CONSOLE__LISTEN", "0.0.0.0:0")
        .env(
            "TRUNKLINE__CONSOLE__PUBLIC_URL",
            "https://console.example.com",
        );
    let dev = Dev::started(command).await;
    assert_eq!(dev.ready["console_link"], Value::Null);
    let link = dev.text("operator_link");
    assert!(link.contains("/setup#"), "{link}");
    dev.end().await;
}

#[tokio::test]
async fn serve_prints_no_signed_in_link_and_takes_none() {
    let cli = AdminCli::new().await;
    cli.json(&["keyring", "generate"]);
    let mut command = cli.command(Role::Data, &["serve", "--json"]);
    let people = cli.db.url(Role::Console);
    command.env("TRUNKLINE__CONSOLE__DATABASE_URL", people.reveal());
    for listener in ["EDGE", "CONSOLE", "ADMIN"] {
        command.env(format!("TRUNKLINE__{listener}__LISTEN"), "127.0.0.1:0");
    }
    let serving = Dev::started(Command::from(command)).await;
    assert_eq!(serving.ready.get("console_link"), None);
    let dash = format!("http://{}", serving.text("console"));
    let body = json!({ "token": "A".repeat(43) });
    let refused = ask(&dash, ("POST", "/api/session/dev"), "", &body).await;
    assert_eq!(refused.status, 404, "{}", refused.text());
}
