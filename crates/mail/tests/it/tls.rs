//! Encrypted connections, and servers with untrusted certificates.

use std::path::Path;
use std::process::Command;
use std::sync::Arc;

use rustls::ServerConfig;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use trunkline_testkit::Smtp;

use crate::harness::{Harness, settings};

/// A certificate for `localhost`, and a server that shows it.
fn certificate(folder: &Path) -> (String, Arc<ServerConfig>) {
    let (cert, key) = (folder.join("cert.pem"), folder.join("key.pem"));
    let made = Command::new("openssl")
        .args([
            "req",
            "-x509",
            "-newkey",
            "ec",
            "-pkeyopt",
            "ec_paramgen_curve:prime256v1",
        ])
        .args(["-nodes", "-days", "2", "-subj", "/CN=localhost"])
        .args(["-addext", "basicConstraints=critical,CA:FALSE"])
        .args(["-addext", "subjectAltName=DNS:localhost", "-keyout"])
        .arg(&key)
        .arg("-out")
        .arg(&cert)
        .output()
        .expect("openssl is there: run just setup");
    assert!(
        made.status.success(),
        "{}",
        String::from_utf8_lossy(&made.stderr)
    );
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(
            vec![CertificateDer::from_pem_file(&cert).unwrap()],
            PrivateKeyDer::from_pem_file(&key).unwrap(),
        )
        .unwrap();
    let pem = String::from_utf8(std::fs::read(&cert).unwrap()).unwrap();
    (pem, Arc::new(config))
}

#[tokio::test]
async fn a_private_line_needs_a_server_that_is_vouched_for() {
    let folder = tempfile::tempdir().unwrap();
    let (pem, tls) = certificate(folder.path());
    let (harness, smtp) = (Harness::new().await, Smtp::tls(tls));
    let mut mail = settings(&format!(
        "smtps://ada:secret@localhost:{}",
        smtp.address().port()
    ));
    let id = harness.write("ada@example.com", true).await;
    assert_eq!(
        harness
            .worker(Some(&mail))
            .deliver_due()
            .await
            .unwrap()
            .sent,
        0
    );
    let content = harness.column(id, "last_error").await;
    assert!(!content.contains("secret"), "{content}");
    mail.extra_roots = Some(pem);
    harness.db.shift_clock(61).await;
    assert_eq!(
        harness
            .worker(Some(&mail))
            .deliver_due()
            .await
            .unwrap()
            .sent,
        1
    );
    assert_eq!(smtp.mails().len(), 1);
    assert_eq!(smtp.logins().len(), 1);
}

#[tokio::test]
async fn a_plain_line_becomes_private_before_anything_is_said_on_it() {
    let folder = tempfile::tempdir().unwrap();
    let (pem, tls) = certificate(folder.path());
    let (harness, smtp) = (Harness::new().await, Smtp::start_tls(tls));
    let address = format!("ada:secret@localhost:{}", smtp.address().port());
    let mut mail = settings(&format!("smtp://{address}"));
    // As if the server were elsewhere: to this machine the line would stay plain.
    mail.server = mail.server.as_if_remote();
    mail.extra_roots = Some(pem);
    harness.write("ada@example.com", true).await;
    assert_eq!(
        harness
            .worker(Some(&mail))
            .deliver_due()
            .await
            .unwrap()
            .sent,
        1
    );
    assert_eq!((smtp.mails().len(), smtp.logins().len()), (1, 1));

    // One that does not offer it is told nothing, least of all the password.
    let plain = Smtp::start();
    let mut mail = settings(&format!(
        "smtp://ada:secret@localhost:{}",
        plain.address().port()
    ));
    mail.server = mail.server.as_if_remote();
    let id = harness.write("bob@example.com", true).await;
    assert_eq!(
        harness
            .worker(Some(&mail))
            .deliver_due()
            .await
            .unwrap()
            .sent,
        0
    );
    assert_eq!(harness.column(id, "state").await, "waiting");
    assert!(plain.mails().is_empty() && plain.logins().is_empty());
}
