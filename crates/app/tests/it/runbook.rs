//! The pages of the runbook, each executed while its thing is really broken.

use std::path::Path;
use std::time::{Duration, Instant};

use tokio::process::Command;
use trunkline_db::Role;
use trunkline_testkit::{Certificates, Nats, Postgres, Redis};
use trunkline_upstream::Client;

use crate::faults::client_view::{ClientView, reported};
use crate::faults::formats::{CallParams, Pair};
use crate::faults::process_harness::{ProcessHarness, audit_of, signal};
use crate::operator_page::{Page, Shell, nothing};

const PATIENCE: Duration = Duration::from_secs(30);
/// The metrics listener, as pages name it.
const ADMIN: &str = "127.0.0.1:9080";

fn kept(text: impl std::fmt::Display) -> &'static str {
    Box::leak(text.to_string().into_boxed_str())
}

/// A shell on the machine of a harness' gateway and database.
pub(crate) fn shell(harness: &ProcessHarness, postgres: &Postgres) -> Shell {
    let mut shell = Shell::new();
    shell.replace(ADMIN, harness.admin.unwrap().to_string());
    let audit = postgres.direct_url(Role::Audit);
    shell.set("TRUNKLINE__DATABASE__URL", audit.reveal());
    shell.set("PGHOST", "127.0.0.1");
    shell.set("PGPORT", postgres.address().port().to_string());
    shell
}

async fn call(harness: &ProcessHarness, prompt: &str, stream: bool) -> ClientView {
    let client = Client::new(Duration::from_secs(5)).unwrap();
    let params = CallParams {
        prompt,
        stream,
        most: 100,
    };
    let to = (harness.address, harness.key.as_str());
    let Ok(mut answer) = client.send(Pair::CHAT.call(to, params)).await else {
        return ClientView::Unknown;
    };
    let status = answer.status.as_u16();
    match answer.whole(1_000_000).await {
        Ok(bytes) => reported(Pair::CHAT.caller, status, stream, &bytes),
        Err(_) => ClientView::Unknown,
    }
}

/// Waits until calls are served.
async fn serves(harness: &ProcessHarness) {
    let began = Instant::now();
    while call(harness, "[[tokens:3]]", false).await != ClientView::Complete {
        assert!(began.elapsed() < PATIENCE, "no call is served");
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
}

/// The gateway's end, which comes by itself.
async fn stopped(harness: &mut ProcessHarness) {
    let pid = harness.pid();
    signal(pid, "-TERM").await;
    let began = Instant::now();
    while Path::new(&format!("/proc/{pid}/exe")).exists() {
        assert!(began.elapsed() < PATIENCE, "the gateway does not stop");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_operator_drains_a_node_by_its_page_and_cuts_no_stream() {
    let page = Page::open("runbook/drain.md");
    let mut harness =
        ProcessHarness::with_environment(&[("TRUNKLINE__EDGE__DRAIN_SECONDS", "30")]).await;
    let before = shell(&harness, &harness.postgres);
    let (address, key) = (harness.address, harness.key.clone());
    let mut open = tokio::task::JoinSet::new();
    open.spawn(async move {
        let client = Client::new(Duration::from_secs(5)).unwrap();
        let params = CallParams {
            prompt: "[[tokens:8]] [[pace:500]]",
            stream: true,
            most: 100,
        };
        let sent = client.send(Pair::CHAT.call((address, &key), params)).await;
        let mut answer = sent.unwrap();
        let status = answer.status.as_u16();
        let bytes = answer.whole(1_000_000).await.unwrap();
        reported(Pair::CHAT.caller, status, true, &bytes)
    });
    tokio::time::sleep(Duration::from_millis(500)).await;
    let printed = before
        .run(page.block("curl -sS http://127.0.0.1:9080/readyz"), nothing)
        .await;
    assert!(
        printed.contains("ready\ntrunkline_calls_in_flight 1"),
        "{printed}"
    );
    let stop = before.run(
        page.block("sudo systemctl stop trunkline"),
        async |request| {
            assert_eq!(request, "systemctl stop trunkline");
            stopped(&mut harness).await;
        },
    );
    stop.await;
    let streamed = open.join_next().await.unwrap().unwrap();
    assert_eq!(streamed, ClientView::Complete);
    harness.start_gateway().await;
    // The port of the metrics is another one now.
    let after = shell(&harness, &harness.postgres);
    let start = page.block("sudo systemctl start trunkline");
    after
        .run(start, async |request| {
            assert_eq!(request, "systemctl start trunkline")
        })
        .await;
    serves(&harness).await;
    page.is_run();
    harness.audit().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_operator_fails_over_to_the_standby_by_its_page_and_loses_no_charge() {
    let page = Page::open("runbook/postgresql-failover.md");
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("database-url");
    let setting = [("TRUNKLINE__DATABASE__URL_FILE", kept(file.display()))];
    let mut harness = ProcessHarness::furnished_with(&setting).await;
    let url = harness.postgres.direct_url(Role::Data);
    std::fs::write(&file, url.reveal()).unwrap();
    let standby = harness.postgres.standby().await;
    harness.start_gateway().await;
    serves(&harness).await;
    let (paid, _) = harness.balance().await;
    let other = standby.direct_url(Role::Data);
    std::fs::write(folder.path().join("database-url.standby"), other.reveal()).unwrap();
    let mut operator = shell(&harness, &standby);
    operator.replace("/etc/trunkline", folder.path().display().to_string());
    operator.set("STANDBY", standby.superuser_url().reveal());
    let stop = page.block("sudo systemctl stop postgresql");
    operator
        .run(stop, async |request| {
            assert_eq!(request, "systemctl stop postgresql");
            harness.postgres.stop_immediate();
        })
        .await;
    assert_ne!(
        call(&harness, "[[tokens:3]]", false).await,
        ClientView::Complete
    );
    operator.run(page.block("psql \"$STANDBY\""), nothing).await;
    let pid = harness.pid();
    let lead = page.block("sudo cp /etc/trunkline/database-url.standby");
    operator
        .run(lead, async |request| {
            assert_eq!(request, "systemctl reload trunkline");
            signal(pid, "-HUP").await;
        })
        .await;
    harness.adopt_successor(PATIENCE).await;
    operator
        .run(page.block("curl -sS --retry 60"), nothing)
        .await;
    serves(&harness).await;
    let query = format!(
        "SELECT paid_posted::text FROM ledger.account WHERE id = {}",
        harness.account.number()
    );
    let now: i64 = standby.ask(&query).await[0].parse().unwrap();
    assert!(
        now < paid,
        "what was charged before is there, and new charges are"
    );
    page.is_run();
    audit_of(&standby).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_operator_brings_redis_and_nats_back_by_their_pages_and_no_call_fails() {
    let (redis, nats) = (Redis::start().await, Nats::start().await);
    let harness = ProcessHarness::with_environment(&[
        ("TRUNKLINE__REDIS__URL", kept(redis.url())),
        ("TRUNKLINE__REDIS__TIMEOUT_MS", "1000"),
        ("TRUNKLINE__NATS__URL", kept(nats.url())),
    ])
    .await;
    let operator = shell(&harness, &harness.postgres);
    serves(&harness).await;
    redis.kill_9();
    nats.kill_9();
    tokio::time::sleep(Duration::from_secs(1)).await;
    let failed = call(&harness, "[[tokens:3]]", false).await;
    assert_eq!(failed, ClientView::Complete, "no call fails for it");
    let page = Page::open("runbook/redis.md");
    let printed = operator.run(page.block("curl -sS"), nothing).await;
    assert!(printed.contains("fallback"), "{printed}");
    let start = page.block("sudo systemctl start redis-server");
    operator
        .run(start, async |request| {
            assert_eq!(request, "systemctl start redis-server");
            redis.restart();
        })
        .await;
    operator.run(page.block("for _ in"), nothing).await;
    page.is_run();
    let page = Page::open("runbook/nats.md");
    let printed = operator.run(page.block("curl -sS"), nothing).await;
    assert!(printed.contains("trunkline_bus_up 0"), "{printed}");
    let start = page.block("sudo systemctl start nats-server");
    operator
        .run(start, async |request| {
            assert_eq!(request, "systemctl start nats-server");
            nats.restart();
        })
        .await;
    operator.run(page.block("for _ in"), nothing).await;
    page.is_run();
    serves(&harness).await;
}

/// Has a certificate signed that ended yesterday, or that is good for a day.
async fn certificate(authority: &Certificates, files: &Path, days: &str) {
    let script = "set -e
        openssl req -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -subj /CN=api.example.com \
            -keyout \"$0/new.key\" -out \"$0/csr\"
        printf 'subjectAltName=DNS:api.example.com' > \"$0/extensions\"
        openssl x509 -req -in \"$0/csr\" -CA \"$1/ca.pem\" -CAkey \"$1/ca.key\" -CAcreateserial -days \"$2\" \
            -extfile \"$0/extensions\" -out \"$0/new.pem\"
        mv \"$0/new.key\" \"$0/privkey.pem\"
        mv \"$0/new.pem\" \"$0/fullchain.pem\"";
    let roots = authority.roots();
    let made = Command::new("bash")
        .args(["-c", script])
        .arg(files)
        .arg(roots.parent().unwrap())
        .arg(days)
        .output();
    let made = made.await.unwrap();
    let error = String::from_utf8_lossy(&made.stderr);
    assert!(made.status.success(), "{error}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_operator_renews_an_expired_certificate_by_its_page_without_a_restart() {
    let page = Page::open("runbook/expired-certificate.md");
    let authority = Certificates::new().await;
    let folder = tempfile::tempdir().unwrap();
    let files = folder.path();
    certificate(&authority, files, "-1").await;
    let harness = ProcessHarness::with_environment(&[
        (
            "TRUNKLINE__EDGE__TLS_CERTIFICATE",
            kept(files.join("fullchain.pem").display()),
        ),
        (
            "TRUNKLINE__EDGE__TLS_KEY",
            kept(files.join("privkey.pem").display()),
        ),
        ("TRUNKLINE__EDGE__PUBLIC_URL", "https://api.example.com"),
    ])
    .await;
    let mut operator = shell(&harness, &harness.postgres);
    operator.replace("/etc/trunkline/tls", files.display().to_string());
    // The name of the certificate is checked, at the address of this machine.
    let place = format!(
        "-servername api.example.com -verify_hostname api.example.com -CAfile {} -connect {}",
        authority.roots().display(),
        harness.address
    );
    operator.replace("-connect api.example.com:443", place);
    let printed = operator.run(page.block("openssl x509"), nothing).await;
    assert!(printed.contains("it has expired"), "{printed}");
    let verify = page.block("openssl s_client");
    let refused = operator.run(&format!("! {verify}"), nothing).await;
    assert!(refused.contains("certificate has expired"), "{refused}");
    let renew = page.block("sudo certbot renew");
    operator
        .run(renew, async |request| {
            assert_eq!(request, "certbot renew --quiet");
            certificate(&authority, files, "1").await;
        })
        .await;
    let served = operator.run(verify, nothing).await;
    assert!(served.contains("Verification: OK"), "{served}");
    page.is_run();
}
