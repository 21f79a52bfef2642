//! TLS on the listener, and a certificate that is renewed while it serves.

use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, ServerName};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::sync::watch;
use tokio_rustls::TlsConnector;
use trunkline_edge::listener::{BoundListener, EdgeError, EdgeSettings, TlsFiles};
use trunkline_gateway::Router;

use crate::test_gateway::TestGateway;

/// A certificate of `localhost` that nothing else has signed, and its key.
pub(crate) fn make_certificate(folder: &Path) -> TlsFiles {
    let files = TlsFiles {
        certificate: folder.join("cert.pem"),
        key: folder.join("key.pem"),
    };
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
        .arg(&files.key)
        .arg("-out")
        .arg(&files.certificate)
        .output()
        .expect("openssl is there: run just setup");
    assert!(
        made.status.success(),
        "{}",
        String::from_utf8_lossy(&made.stderr)
    );
    files
}

/// Asks over TLS, trusting this certificate alone.
async fn ask(address: std::net::SocketAddr, trusted: &[u8], protocol: &[u8]) -> Option<String> {
    let mut roots = rustls::RootCertStore::empty();
    roots
        .add(CertificateDer::from_pem_slice(trusted).unwrap())
        .unwrap();
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let mut config = rustls::ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(roots)
        .with_no_client_auth();
    config.alpn_protocols = vec![protocol.to_vec()];
    let stream = TcpStream::connect(address).await.unwrap();
    let name = ServerName::try_from("localhost").unwrap();
    let mut stream = TlsConnector::from(Arc::new(config))
        .connect(name, stream)
        .await
        .ok()?;
    if stream.get_ref().1.alpn_protocol() == Some(b"h2") {
        return Some("h2".to_owned());
    }
    let request = b"GET /healthz HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n";
    stream.write_all(request).await.unwrap();
    let mut reply = Vec::new();
    drop(stream.read_to_end(&mut reply).await);
    Some(String::from_utf8(reply).unwrap())
}

#[tokio::test]
async fn tls_is_served_from_files_and_reloads_a_renewed_certificate() {
    let harness = TestGateway::new().await;
    let folder = tempfile::tempdir().unwrap();
    let files = make_certificate(folder.path());
    let settings = EdgeSettings {
        tls: Some(files.clone()),
        ..EdgeSettings::default()
    };
    let any = "127.0.0.1:0".parse().unwrap();
    let bound = BoundListener::bind(any, settings).await.unwrap();
    let address = bound.address().unwrap();
    let edge = bound.open(Router::boxed(harness.gateway.clone()));
    let (stop, stopped) = watch::channel(false);
    #[expect(clippy::disallowed_methods, reason = "it ends with the test's runtime")]
    tokio::spawn(edge.serve(stopped));
    let first = std::fs::read(&files.certificate).unwrap();
    assert!(
        ask(address, &first, b"http/1.1")
            .await
            .unwrap()
            .starts_with("HTTP/1.1 200")
    );
    assert_eq!(ask(address, &first, b"h2").await.as_deref(), Some("h2"));
    std::fs::write(&files.certificate, "half of a renewal").unwrap();
    tokio::time::sleep(Duration::from_millis(2_500)).await;
    assert!(
        ask(address, &first, b"http/1.1").await.is_some(),
        "the last good one stays"
    );
    make_certificate(folder.path());
    let second = std::fs::read(&files.certificate).unwrap();
    let mut renewed = false;
    for _ in 0..100 {
        renewed = ask(address, &second, b"http/1.1").await.is_some();
        if renewed {
            break;
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    assert!(renewed);
    assert!(
        ask(address, &first, b"http/1.1").await.is_none(),
        "the old one is gone"
    );
    stop.send_replace(true);
}

#[tokio::test]
async fn a_certificate_that_cannot_be_used_is_said_at_the_start() {
    let folder = tempfile::tempdir().unwrap();
    let files = make_certificate(folder.path());
    std::fs::write(&files.key, "not a key").unwrap();
    let settings = EdgeSettings {
        tls: Some(files),
        ..EdgeSettings::default()
    };
    let any = "127.0.0.1:0".parse().unwrap();
    let Err(refused) = BoundListener::bind(any, settings).await else {
        panic!("it must not listen");
    };
    assert!(matches!(refused, EdgeError::Tls(_)));
    assert!(refused.to_string().contains("private key"), "{refused}");
}
