//! TLS to PostgreSQL and NATS, with servers whose certificates an authority of the operator's own has signed.

use std::path::Path;
use std::time::{Duration, Instant};

use trunkline_db::bus::{Bus, Health, NatsSettings, Servers};
use trunkline_db::{Database, DbError, PoolSettings, Role, connect};
use trunkline_testkit::{Certificates, Nats, OwnSettings, Postgres};
use trunkline_types::Secret;

/// A server that others could not reach by then, they will not.
const WAIT: Duration = Duration::from_secs(15);
const IN_VAIN: Duration = Duration::from_secs(2);

async fn postgres(certificates: &Certificates) -> Postgres {
    let setting = |name: &str, path: &Path| (name.to_owned(), path.display().to_string());
    Postgres::own(OwnSettings {
        extra_config: vec![
            ("ssl".to_owned(), "on".to_owned()),
            setting("ssl_cert_file", &certificates.certificate()),
            setting("ssl_key_file", &certificates.key()),
        ],
        ..OwnSettings::default()
    })
    .await
}

async fn open(postgres: &Postgres, host: &str, roots: &Path) -> Result<Database, DbError> {
    let url = postgres.direct_url(Role::Data);
    let (plain, _) = url.reveal().split_once('?').unwrap();
    let plain = plain.replace("127.0.0.1", host);
    let roots = roots.display();
    let url = Secret::new(format!("{plain}?sslmode=verify-full&sslrootcert={roots}"));
    connect(&url, Role::Data, PoolSettings::named("tls")).await
}

#[tokio::test]
async fn verify_full_lets_only_the_server_in_that_its_authority_has_signed_by_name() {
    let (own, other) = (Certificates::new().await, Certificates::new().await);
    let postgres = postgres(&own).await;
    let database = open(&postgres, "localhost", &own.roots()).await.unwrap();
    let mut session = database.session().await.unwrap();
    let pid: i32 = sqlx::query_scalar("SELECT pg_backend_pid()")
        .fetch_one(&mut *session)
        .await
        .unwrap();
    let is_tls = format!("SELECT ssl::text FROM pg_stat_ssl WHERE pid = {pid}");
    assert_eq!(postgres.ask(&is_tls).await, ["true"]);
    // Another authority, and a name that is not in the certificate.
    assert!(open(&postgres, "localhost", &other.roots()).await.is_err());
    assert!(open(&postgres, "127.0.0.1", &own.roots()).await.is_err());
}

async fn bus(url: &str, roots: Option<&Certificates>) -> Bus {
    let settings = NatsSettings {
        servers: Servers::parse(&Secret::new(url.to_owned())).unwrap(),
        roots: roots.map(Certificates::roots),
        replicas: 1,
        own_name: "n1".to_owned(),
    };
    Bus::nats(settings).await.unwrap()
}

async fn comes_up(bus: &Bus, within: Duration) -> bool {
    let began = Instant::now();
    while bus.health() != Health::Up {
        if began.elapsed() > within {
            return false;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    true
}

#[tokio::test]
async fn a_node_speaks_tls_to_nats_and_to_no_server_that_its_authority_has_not_signed() {
    let (own, other) = (Certificates::new().await, Certificates::new().await);
    let (nats, plain) = (Nats::with_tls(&own).await, Nats::start().await);
    let port = nats.address().port();
    let good = bus(&format!("tls://localhost:{port}"), Some(&own)).await;
    assert!(comes_up(&good, WAIT).await);
    assert_eq!(good.publish(&[]).await.unwrap(), Vec::<bool>::new());
    let strange = bus(&format!("tls://localhost:{port}"), Some(&other)).await;
    let misnamed = bus(&format!("tls://127.0.0.1:{port}"), Some(&own)).await;
    let port = plain.address().port();
    let clear = bus(&format!("tls://localhost:{port}"), Some(&own)).await;
    for (who, bus) in [
        ("strange", strange),
        ("misnamed", misnamed),
        ("clear", clear),
    ] {
        assert!(!comes_up(&bus, IN_VAIN).await, "{who}");
    }
}
