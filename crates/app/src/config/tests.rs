//! The configuration as operators write it.

mod bounds;
mod console;
mod defaults;
mod engines;
mod mail;
mod payments;
mod providers;
mod social;

use std::io::Write as _;
use std::path::Path;

use super::layers::Layers;
use trunkline_blobs::Place;
use trunkline_gateway::FailMode;

use super::*;

fn from_text(text: &str, environment: &[(&str, &str)]) -> Result<Config, Vec<Finding>> {
    let mut file = tempfile::NamedTempFile::new().unwrap();
    file.write_all(text.as_bytes()).unwrap();
    load_with(Some(file.path()), environment)
}

fn load_with(file: Option<&Path>, environment: &[(&str, &str)]) -> Result<Config, Vec<Finding>> {
    let owned: Vec<(String, String)> = environment
        .iter()
        .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
        .collect();
    load(file, &owned).map_err(|ConfigError(findings)| findings)
}

fn problem(result: Result<Config, Vec<Finding>>, key: &str) -> String {
    let findings = result.map(|_| ()).unwrap_err();
    let found = findings.iter().find(|finding| finding.key == key);
    found
        .unwrap_or_else(|| panic!("no finding for {key} in {findings:?}"))
        .to_string()
}

// covers: D-1-07, D-1-10
#[test]
fn listeners_default_to_8080_and_8081_on_loopback() {
    let config = from_text("", &[]).unwrap();
    assert_eq!(config.edge.listen.to_string(), "127.0.0.1:8080");
    assert_eq!(config.console.listen.to_string(), "127.0.0.1:8081");
    assert_eq!(config.edge.public_url, "http://127.0.0.1:8080");
    assert!(config.database.url.is_none());
    assert!(config.providers_folder.is_none());
}

// covers: D-1-09
#[test]
fn public_url_is_demanded_when_the_listener_is_not_loopback() {
    for listen in ["0.0.0.0:8080", "[::]:8080", "10.0.0.1:8080"] {
        let text = format!("[edge]\nlisten = {listen:?}");
        let message = problem(from_text(&text, &[]), "edge.public_url");
        assert!(
            message.contains("must be set") && message.contains(listen),
            "{message}"
        );
        let with_url = format!("{text}\npublic_url = \"https://api.example.com/\"");
        assert_eq!(
            from_text(&with_url, &[]).unwrap().edge.public_url,
            "https://api.example.com"
        );
    }
    assert!(from_text("[edge]\nlisten = \"[::1]:8080\"", &[]).is_ok());
    for wrong in [
        "api.example.com",
        "ftp://x",
        "https://",
        "https://a b",
        "https://x?y",
    ] {
        let text = format!("[edge]\npublic_url = {wrong:?}");
        assert!(
            problem(from_text(&text, &[]), "edge.public_url").contains("such as https://"),
            "{wrong}"
        );
    }
}

// covers: D-1-05
#[test]
fn every_key_can_be_overridden_by_the_environment() {
    let keys = Layers::read(Some(Path::new("/dev/null")), &[])
        .unwrap()
        .keys();
    assert_eq!(keys.len(), 107, "{keys:?}");
    // One good value for each key, so that a key without a row here fails the test.
    let good = [
        ("edge.listen", "127.0.0.1:1"),
        ("edge.public_url", "https://x.example"),
        ("edge.trusted_proxies", "10.0.0.0/8, ::1"),
        ("console.listen", "127.0.0.1:2"),
        ("console.public_url", "https://dash.example"),
        ("console.name", "Acme"),
        ("console.sign_up", "open"),
        ("console.docs_model", "sim-fast"),
        ("console.trial_amount_usd", "0.20"),
        ("console.trial_days", "14"),
        ("console.trial_per_day", "50"),
        ("console.database_url", "postgres://c@h/d"),
        ("console.database_url_file", "/nowhere"),
        ("admin.listen", "127.0.0.1:3"),
        ("node.name", "eu-7"),
        ("node.roles", "edge, worker"),
        ("database.url", "postgres://u@h/d"),
        ("database.url_file", "/nowhere"),
        ("database.max_connections", "7"),
        ("database.acquire_timeout_ms", "8"),
        ("database.statement_timeout_ms", "9"),
        ("database.lock_timeout_ms", "10"),
        ("database.pgbouncer", "true"),
        ("keyring.file", "/etc/k"),
        ("keyring.text", "v1:secret"),
        ("providers.folder", "/etc/p"),
        ("upstream.extra_roots", "/nowhere"),
        ("edge.memory_mb", "222"),
        ("edge.account_share", "41"),
        ("edge.max_body_bytes", "42000"),
        ("upstream.stream_idle_seconds", "43"),
        ("upstream.whole_call_seconds", "44"),
        ("retention.usage_days", "45"),
        ("retention.prompt_days", "46"),
        ("edge.hide_unserved_models", "false"),
        ("edge.drain_seconds", "11"),
        ("edge.notice_seconds", "26"),
        ("edge.tls_certificate", "/etc/cert.pem"),
        ("edge.tls_key", "/etc/key.pem"),
        ("telemetry.otlp_endpoint", "http://collector:4318/"),
        ("telemetry.sample_per_thousand", "12"),
        ("media.directory", "/srv/media"),
        ("media.budget_gb", "13"),
        ("media.keep_days", "14"),
        ("media.s3_bucket", "videos"),
        ("media.s3_endpoint", "https://s3.example"),
        ("media.s3_region", "eu-1"),
        ("media.s3_path_style", "false"),
        ("media.s3_access_key", "id"),
        ("media.s3_secret_key", "secret"),
        ("fetch.allowed_networks", "10.0.0.0/8, ::1/128"),
        ("fetch.high_ports", "true"),
        ("video.poll_first_ms", "15"),
        ("video.poll_most_ms", "16"),
        ("video.deadline_seconds", "17"),
        ("video.queue_seconds", "18"),
        ("video.call_ms", "19"),
        ("video.lease_ms", "20"),
        ("social.daily_capacity", "21"),
        ("social.at_once_per_platform", "22"),
        ("social.cells", "/etc/cells"),
        ("social.wait_seconds", "23"),
        ("uploads.folder", "/tmp"),
        ("uploads.max_bytes", "24"),
        ("uploads.max_on_disk_bytes", "25"),
        ("webhooks.at_once", "26"),
        ("webhooks.at_once_per_webhook", "5"),
        ("webhooks.at_once_per_account", "6"),
        ("webhooks.wait_seconds", "7"),
        ("webhooks.per_account", "27"),
        ("channels.probe_seconds", "36"),
        ("channels.idle_probe_seconds", "37"),
        ("channels.probe_calls_per_day", "38"),
        ("guardrail.url", "https://guard.example.com/check"),
        (
            "guardrail.secret",
            "whsec_MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIzNDU2Nzg5MDE=",
        ),
        ("guardrail.timeout_ms", "39"),
        ("guardrail.fail", "open"),
        ("guardrail.max_bytes", "40"),
        ("console.provider", ""),
        ("mail.smtp", "smtp://u:p@mail.example"),
        ("mail.from", "mail@example.com"),
        ("mail.timeout_seconds", "31"),
        ("payments.stripe_key_file", "/nowhere"),
        ("payments.stripe_webhook_secret_file", "/nowhere"),
        ("payments.stripe_api", "http://127.0.0.1:4"),
        ("alarms.emails", "ops@example.com"),
        ("alarms.webhook_url", "https://ops.example.com/alarms"),
        (
            "alarms.webhook_secret",
            "whsec_MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIzNDU2Nzg5MDE=",
        ),
        ("alarms.wait_seconds", "34"),
        ("alarms.account_usd", "6.50"),
        ("alarms.account_calls", "35"),
        ("telemetry.otlp_headers", "authorization=Bearer%20psst"),
        ("nats.url", "nats://u:p@h:4222"),
        ("nats.tls_roots", "/nowhere"),
        ("nats.replicas", "3"),
        ("events.max_connections", "26"),
        ("events.max_connections_per_account", "27"),
        ("redis.url", "redis://:psst@cache:6379"),
        ("redis.tls_roots", "/nowhere"),
        ("redis.timeout_ms", "26"),
        ("limits.requests_per_minute", "27"),
        ("limits.concurrent_calls", "28"),
        ("limits.polls_per_minute", "29"),
        ("limits.reads_per_minute", "30"),
        ("limits.cancelled_input_cents", "31"),
        ("limits.read_on_seconds", "32"),
        ("limits.read_on_cents", "33"),
    ];
    for key in &keys {
        let (_, value) = good.iter().find(|(name, _)| name == key).unwrap();
        let variable = format!("TRUNKLINE__{}", key.to_uppercase().replace('.', "__"));
        let layers = Layers::read(
            Some(Path::new("/dev/null")),
            &[(variable.clone(), (*value).to_owned())],
        )
        .unwrap();
        assert_eq!(layers.origin(key), variable);
    }
    let all: Vec<(String, &str)> = good
        .iter()
        .filter(|(_, value)| *value != "/nowhere")
        .map(|(key, value)| {
            (
                format!("TRUNKLINE__{}", key.to_uppercase().replace('.', "__")),
                *value,
            )
        })
        .collect();
    let borrowed: Vec<(&str, &str)> = all
        .iter()
        .map(|(name, value)| (name.as_str(), *value))
        .collect();
    let config = from_text("[node]\nname = \"from-file\"", &borrowed).unwrap();
    assert_eq!(config.edge.listen.port(), 1);
    assert_eq!(config.edge.trusted_proxies.len(), 2);
    let named = (config.node.as_str(), config.database.max_connections);
    assert_eq!(named, ("eu-7", 7), "the environment wins over the file");
    assert_eq!(config.database.acquire_timeout.as_millis(), 8);
    assert_eq!(config.database.statement_timeout.as_millis(), 9);
    assert_eq!(config.database.lock_timeout.as_millis(), 10);
    assert!(config.database.pgbouncer);
    assert_eq!(config.edge.half_memory, 111_000_000);
    assert!(!config.edge.hide_unserved_models);
    assert_eq!(config.drain_times.drain.as_secs(), 11);
    assert_eq!(config.drain_times.notice.as_secs(), 26);
    let roles = (config.roles.edge, config.roles.worker, config.roles.console);
    assert_eq!(roles, (true, true, false));
    assert!(problem(from_text("[node]\nroles = []", &[]), "node.roles").contains("at least one"));
    assert!(problem(from_text("[node]\nroles = [\"x\"]", &[]), "node.roles").contains("none of"));
    assert!(config.edge.tls.is_some());
    let half = from_text("[edge]\ntls_key = \"k.pem\"", &[]);
    assert!(problem(half, "edge.tls_certificate").contains("together"));
    let traces = config.telemetry.traces.unwrap().to_string();
    assert_eq!(traces, "http://collector:4318/v1/traces");
    assert_eq!(config.telemetry.sample_per_thousand, 12);
    assert_eq!(config.fetch.allowed.len(), 2);
    assert_eq!(config.video.lease.as_millis(), 20);
    let studio = &config.studio;
    assert_eq!(
        (studio.max_upload_bytes, studio.max_uploads_on_disk),
        (24, 25)
    );
    let hooks = &config.webhooks;
    let at_once = (hooks.at_once, hooks.per_webhook, hooks.per_account);
    assert_eq!((at_once, hooks.most), ((26, 5, 6), 27));
    assert_eq!(hooks.wait.as_secs(), 7);
    let probes = &config.probes;
    let seconds = (probes.every.as_secs(), probes.idle.as_secs());
    assert_eq!((seconds, probes.calls_a_day), ((36, 37), 38));
    let guardrail = config.guardrail.as_ref().unwrap();
    let bounds = (guardrail.timeout.as_millis(), guardrail.max_bytes);
    assert_eq!((bounds, guardrail.fail), ((39, 40), FailMode::Open));
    assert_eq!(config.events.nats.map(|nats| nats.replicas), Some(3));
    let events = &config.events.settings;
    assert_eq!((events.max_connections, events.max_per_account), (26, 27));
    assert_eq!(config.redis.unwrap().timeout.as_millis(), 26);
    let limits = &config.limits;
    assert_eq!(
        (limits.requests_per_minute, limits.concurrent_calls),
        (27, 28)
    );
    assert_eq!((limits.polls_per_minute, limits.reads_per_minute), (29, 30));
    let alarms = &config.alarms;
    assert_eq!((alarms.emails.len(), alarms.wait.as_secs()), (1, 34));
    assert!(alarms.webhook.is_some());
    assert_eq!(alarms.limits.account_usd.to_string(), "6.5");
    assert_eq!(alarms.limits.account_calls, 35);
    let leaving = &config.leaving;
    assert_eq!(leaving.cancelled_input.to_string(), "0.31");
    assert_eq!(leaving.read_on.as_secs(), 32);
    assert_eq!(leaving.read_on_usd.to_string(), "0.33");
    assert_eq!(config.retention.media.as_secs(), 14 * 86_400);
    assert!(matches!(config.media.place, Place::S3(_)));
    assert_eq!(
        config.providers_folder.as_deref(),
        Some(Path::new("/etc/p"))
    );
    assert!(
        matches!(config.keyring, KeyringPlace::Text(_)),
        "keyring.text wins over keyring.file"
    );
}

#[test]
fn extra_roots_are_read_and_what_is_none_is_said() {
    let with = |text: &str| {
        let mut file = tempfile::NamedTempFile::new().unwrap();
        file.write_all(text.as_bytes()).unwrap();
        let path = file.path().to_str().unwrap();
        from_text(&format!("[upstream]\nextra_roots = {path:?}"), &[])
    };
    let root = "-----BEGIN CERTIFICATE-----\n\
                MIIBeDCCAR2gAwIBAgIUbbfKhNIjzGqm79n9Uc3oOuj6WzQwCgYIKoZIzj0EAwIw\n\
                EDEOMAwGA1UEAwwFaG91c2UwIBcNMjYxMTE1MDY1NzI2WhgPMjEyNjEwMjIwNjU3\n\
                MjZaMBAxDjAMBgNVBAMMBWhvdXNlMFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAE\n\
                0YUlzpNiisu5zf9+uM8aRAGBrVoUzBuQYR6ytwFecG2ZLJt0IRMLZy+j4MWDLHBN\n\
                r62O23tEOYyEYPCc8yb6w6NTMFEwHQYDVR0OBBYEFOu0+LyDXvCgeNZr9TkTZ5GY\n\
                Pu3CMB8GA1UdIwQYMBaAFOu0+LyDXvCgeNZr9TkTZ5GYPu3CMA8GA1UdEwEB/wQF\n\
                MAMBAf8wCgYIKoZIzj0EAwIDSQAwRgIhAJA3RXOiWOM62xouAFJ74mjua6uqhQ6N\n\
                bf2MIDOl0tt3AiEA+jHexzkX8BNNlIaUS4R0mQVzXEiIm0FRE8dCrs8n3uc=\n\
                -----END CERTIFICATE-----\n";
    assert_eq!(from_text("", &[]).unwrap().extra_roots.count(), 0);
    assert_eq!(with(root).unwrap().extra_roots.count(), 1);
    assert_eq!(with(&root.repeat(2)).unwrap().extra_roots.count(), 2);
    let message = problem(with("no certificate"), "upstream.extra_roots");
    assert!(
        message.contains("there is no certificate in it"),
        "{message}"
    );
    let none = from_text("[upstream]\nextra_roots = \"/nowhere\"", &[]);
    let message = problem(none, "upstream.extra_roots");
    assert!(message.contains("cannot read \"/nowhere\""), "{message}");
}

// covers: D-1-06
#[test]
fn a_broken_configuration_is_explained_key_by_key() {
    let text = "
        [edge]
        listen = \"localhost\"
        trusted_proxies = [\"10.0.0.0/33\"]
        colour = 1
        [database]
        max_connections = \"many\"
        [cosmos]
        size = 1
    ";
    let findings = from_text(text, &[]).map(|_| ()).unwrap_err();
    let message: Vec<String> = findings.iter().map(ToString::to_string).collect();
    let all = message.join("\n");
    assert!(
        all.contains("edge.colour")
            && all.contains("[edge] has edge.account_share, edge.drain_seconds"),
        "{all}"
    );
    assert!(
        all.contains("database.max_connections")
            && all.contains("must be a whole number, not a text"),
        "{all}"
    );
    assert!(
        all.contains("cosmos.size") && all.contains("the sections are"),
        "{all}"
    );
    let values = from_text(
        "[edge]\nlisten = \"localhost\"\ntrusted_proxies = [\"10.0.0.0/33\"]",
        &[],
    );
    let findings = values.map(|_| ()).unwrap_err();
    assert_eq!(findings.len(), 2, "{findings:?}");
}

#[test]
fn values_out_of_range_are_refused() {
    let rows = [
        ("database.max_connections", "0", "from 1 to 1000"),
        ("database.max_connections", "1001", "from 1 to 1000"),
        ("database.acquire_timeout_ms", "-1", "from 1 to 3600000"),
        ("database.lock_timeout_ms", "3600001", "from 1 to 3600000"),
        ("database.statement_timeout_ms", "soon", "whole number"),
        ("database.pgbouncer", "yes", "true or false"),
        ("edge.memory_mb", "99", "from 100 to 1000000"),
        ("node.name", "a b", "1 to 64"),
        ("keyring.file", "", "must be set"),
        ("edge.trusted_proxies", "300.0.0.1", "not a network"),
        ("console.listen", ":80", "an address and a port"),
        ("telemetry.otlp_endpoint", "collector:4318", "such as http"),
        ("telemetry.otlp_endpoint", "ftp://x:1", "such as http"),
        ("telemetry.otlp_endpoint", "http://u:p@x:1", "such as http"),
        ("telemetry.otlp_endpoint", "http://x:1?a=b", "such as http"),
        ("telemetry.sample_per_thousand", "1001", "from 0 to 1000"),
    ];
    for (key, value, text) in rows {
        let variable = format!("TRUNKLINE__{}", key.to_uppercase().replace('.', "__"));
        let message = problem(from_text("", &[(&variable, value)]), key);
        assert!(
            message.contains(text) && message.contains(&variable),
            "{message}"
        );
    }
    assert!(problem(from_text("", &[("TRUNKLINE__EDGE", "x")]), "edge").contains("unknown key"));
    assert!(problem(from_text("", &[("TRUNKLINE__A__B", "x")]), "a.b").contains("unknown key"));
}

#[test]
fn the_otel_variable_names_the_collector_and_our_setting_wins() {
    let theirs = ("OTEL_EXPORTER_OTLP_ENDPOINT", "http://theirs:4318");
    let ours = ("TRUNKLINE__TELEMETRY__OTLP_ENDPOINT", "http://ours:4318");
    let host = |environment: &[(&str, &str)]| {
        let traces = from_text("", environment).unwrap().telemetry.traces;
        traces.map(|uri| uri.host().unwrap().to_owned())
    };
    assert_eq!(host(&[]), None);
    assert_eq!(host(&[theirs]).as_deref(), Some("theirs"));
    assert_eq!(host(&[ours, theirs]).as_deref(), Some("ours"));
    let wrong = ("OTEL_EXPORTER_OTLP_ENDPOINT", "nonsense");
    let message = problem(from_text("", &[wrong]), "telemetry.otlp_endpoint");
    assert!(message.contains("OTEL_EXPORTER_OTLP_ENDPOINT"), "{message}");
}

#[test]
fn a_secret_is_never_repeated_in_a_finding() {
    let secret = "hunter2canary";
    let results = [
        from_text(
            "",
            &[(
                "TRUNKLINE__DATABASE__URL",
                &format!("mysql://root:{secret}@h/d"),
            )],
        ),
        from_text(
            &format!("[database]\nurl = \"mysql://root:{secret}@h/d\""),
            &[],
        ),
        from_text(
            &format!("[database]\nurl = \"postgres://root:{secret}@h/d"),
            &[],
        ),
        from_text(&format!("[database]\nurl = [\"{secret}\"]"), &[]),
        from_text(
            &format!("[database]\nurl = \"postgres://u:{secret}@h/d\"\nurl_file = \"x\""),
            &[],
        ),
        from_text(&format!("[nats]\nurl = \"amqp://u:{secret}@h:4222\""), &[]),
    ];
    for result in results {
        let findings = result.map(|_| ()).unwrap_err();
        assert!(!format!("{findings:?}").contains(secret), "{findings:?}");
    }
    let config = from_text(
        "",
        &[
            ("TRUNKLINE__DATABASE__URL", "postgres://u:hunter2canary@h/d"),
            ("TRUNKLINE__NATS__URL", "nats://u:hunter2canary@h:4222"),
        ],
    )
    .unwrap();
    assert!(!format!("{config:?}").contains(secret));
}

#[test]
fn the_database_address_may_come_from_a_file() {
    let mut file = tempfile::NamedTempFile::new().unwrap();
    writeln!(file, "postgres://u:p@h/d").unwrap();
    let path = file.path().to_str().unwrap();
    let config = from_text("", &[("TRUNKLINE__DATABASE__URL_FILE", path)]).unwrap();
    assert_eq!(config.database.url.unwrap().reveal(), "postgres://u:p@h/d");
    let missing = from_text("", &[("TRUNKLINE__DATABASE__URL_FILE", "/does/not/exist")]);
    assert!(problem(missing, "database.url_file").contains("No such file"));
    let empty = tempfile::NamedTempFile::new().unwrap();
    let path = empty.path().to_str().unwrap();
    let empty = from_text("", &[("TRUNKLINE__DATABASE__URL_FILE", path)]);
    assert!(problem(empty, "database.url_file").contains("must be an address"));
}

#[test]
fn a_named_file_must_exist_and_be_toml() {
    let missing = load_with(Some(Path::new("/does/not/exist.toml")), &[]);
    assert!(problem(missing, "file").contains("No such file"));
    let message = problem(from_text("[edge]\nlisten = ", &[]), "file");
    assert!(message.contains("line 2 is not TOML"), "{message}");
}
