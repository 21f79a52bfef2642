//! The executable and people: the link of a first start, operators, invitations, and two logins.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::process::{Child, Stdio};

use serde_json::{Value, json};
use trunkline_db::Role;

use crate::admin_cli::AdminCli;

const PASSWORD: &str = "correct horse battery";

/// A `trunkline serve`, killed when it is dropped.
struct Serving {
    process: Child,
    reported: Value,
}

impl Serving {
    fn start(cli: &AdminCli) -> Self {
        trunkline_testkit::count("gateway process");
        let mut command = cli.command(Role::Data, &["serve", "--json"]);
        let people = cli.db.url(Role::Console);
        command.env("TRUNKLINE__CONSOLE__DATABASE_URL", people.reveal());
        for listener in ["EDGE", "CONSOLE", "ADMIN"] {
            command.env(format!("TRUNKLINE__{listener}__LISTEN"), "127.0.0.1:0");
        }
        let process = command
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn();
        let mut process = process.unwrap();
        let mut line = String::new();
        let output = process.stdout.take().unwrap();
        BufReader::new(output).read_line(&mut line).unwrap();
        let reported = serde_json::from_str(&line).unwrap_or_else(|_| panic!("{line}"));
        Self { process, reported }
    }

    fn console(&self) -> &str {
        self.reported["console"].as_str().unwrap()
    }

    /// The token of the link that the start has told.
    fn token(&self) -> String {
        let link = self.reported["operator_link"].as_str().unwrap();
        let start = format!("http://{}/setup#", self.console());
        let token = link.strip_prefix(&start);
        token.unwrap_or_else(|| panic!("{link}")).to_owned()
    }

    /// Posts as the console's own page does; status, cookie and body.
    fn post(&self, path: &str, body: &Value) -> (u16, Option<String>, Value) {
        let (host, body) = (self.console(), body.to_string());
        let mut stream = TcpStream::connect(host).unwrap();
        let text = format!(
            "POST {path} HTTP/1.1\r\nhost: {host}\r\norigin: http://{host}\r\nx-trunkline-console: 1\r\n\
             content-type: application/json\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{body}",
            body.len()
        );
        stream.write_all(text.as_bytes()).unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        let (head, body) = answer.split_once("\r\n\r\n").unwrap();
        let status = head.split(' ').nth(1).unwrap().parse().unwrap();
        let cookie = head
            .lines()
            .find_map(|line| line.strip_prefix("set-cookie: "));
        let body = serde_json::from_str(body).unwrap_or(Value::Null);
        (status, cookie.map(str::to_owned), body)
    }
}

impl Drop for Serving {
    fn drop(&mut self) {
        drop(self.process.kill());
        drop(self.process.wait());
    }
}

async fn node() -> AdminCli {
    let cli = AdminCli::new().await;
    cli.json(&["keyring", "generate"]);
    cli
}

fn setup(token: &str, email: &str) -> Value {
    json!({
        "token": token, "email": email, "name": "Ada", "password": PASSWORD, "organisation": "Acme",
    })
}

#[tokio::test]
async fn every_start_prints_a_new_link_until_an_operator_exists() {
    let cli = node().await;
    let first = Serving::start(&cli);
    let void = first.token();
    drop(first);
    let second = Serving::start(&cli);
    let token = second.token();
    assert_ne!(token, void);
    let (status, _, error) = second.post("/api/setup", &setup(&void, "ada@example.com"));
    assert_eq!(
        (status, &error["error"]["code"]),
        (400, &json!("token_invalid"))
    );
    let (status, cookie, session) = second.post("/api/setup", &setup(&token, "ada@example.com"));
    assert_eq!(status, 200, "{session}");
    assert!(cookie.unwrap().starts_with("trunkline="));
    assert_eq!(session["person"]["is_operator"], true);
    assert_eq!(session["instance"]["mode"], "live");
    drop(second);
    let third = Serving::start(&cli);
    assert_eq!(third.reported["operator_link"], Value::Null);
    // Lost: another link, and the same address.
    let made = cli.json(&["operator", "link"]);
    let link = made["operator_link"].as_str().unwrap();
    let token = link.strip_prefix("http://127.0.0.1:8081/setup#").unwrap();
    let mut body = setup(token, "ada@example.com");
    body["password"] = json!("another good one");
    assert_eq!(third.post("/api/setup", &body).0, 200);
    let sign_in = json!({ "email": "ada@example.com", "password": "another good one" });
    let (status, _, session) = third.post("/api/session", &sign_in);
    assert_eq!(status, 200, "{session}");
    assert_eq!(session["accounts"].as_array().unwrap().len(), 1);
}

#[tokio::test]
async fn an_operator_invites_to_any_account_by_a_link() {
    let cli = node().await;
    let account = cli.account("Acme");
    let number = account.to_string();
    let words = [
        "account",
        "invite",
        &number,
        "Grace@Example.com",
        "--role",
        "developer",
    ];
    let made = cli.json(&words);
    assert_eq!(made["email"], "grace@example.com");
    let link = made["link"].as_str().unwrap();
    let token = link
        .strip_prefix("http://127.0.0.1:8081/invitation#")
        .unwrap();
    let serving = Serving::start(&cli);
    let (status, _, look) = serving.post("/api/invitations/preview", &json!({ "token": token }));
    assert_eq!(status, 200, "{look}");
    assert_eq!(
        (&look["organisation"], &look["role"]),
        (&json!("Acme"), &json!("developer"))
    );
    let body = json!({ "token": token, "name": "Grace", "password": PASSWORD });
    let (status, _, session) = serving.post("/api/invitations/accept", &body);
    assert_eq!(status, 200, "{session}");
    assert_eq!(session["account"]["id"], account);
    let repeated = cli.refused(&words);
    assert!(
        repeated.contains("is already a member of account"),
        "{repeated}"
    );
    let unknown = cli.refused(&["account", "invite", "999999", "x@example.com"]);
    assert!(
        unknown.contains("there is no open account 999999"),
        "{unknown}"
    );
    let wrong = cli.refused(&["account", "invite", &number, "nobody"]);
    assert!(wrong.contains("e-mail address"), "{wrong}");
}

#[tokio::test]
async fn a_console_without_a_login_of_its_role_says_what_to_do() {
    let cli = node().await;
    let reply = cli.run_as(Role::Data, &["serve", "--json"]);
    assert_eq!(reply.code, Some(1), "{reply:?}");
    assert!(reply.out.contains("console.database_url"), "{reply:?}");
    assert!(reply.out.contains("trunkline_console"), "{reply:?}");
}
