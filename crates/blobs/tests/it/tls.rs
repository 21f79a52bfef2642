//! S3 behind TLS with an authority of the operator's own.

use std::path::Path;
use std::process::Command;
use std::sync::Arc;

use rustls::ServerConfig;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use trunkline_blobs::{Media, MediaError, MediaSettings, Place};

use crate::harness::{all_of, chunks, mp4, path, s3_settings};
use crate::server::S3Server;

/// A certificate for `localhost` that vouches for itself, made by the `openssl` program.
fn certificate(folder: &Path) -> (Vec<u8>, ServerConfig) {
    let words = "req -x509 -days 2 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes \
                 -subj /CN=test -addext subjectAltName=DNS:localhost \
                 -addext basicConstraints=critical,CA:FALSE -keyout key.pem -out cert.pem";
    let made = Command::new("openssl")
        .args(words.split_whitespace())
        .current_dir(folder)
        .output()
        .expect("openssl is there: run just setup");
    let stderr = String::from_utf8_lossy(&made.stderr);
    assert!(made.status.success(), "{stderr}");
    let pem = std::fs::read(folder.join("cert.pem")).unwrap();
    let key = std::fs::read(folder.join("key.pem")).unwrap();
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let chain = vec![CertificateDer::from_pem_slice(&pem).unwrap()];
    let config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(chain, PrivateKeyDer::from_pem_slice(&key).unwrap())
        .unwrap();
    (pem, config)
}

#[tokio::test]
async fn an_authority_of_the_settings_is_trusted_and_no_other() {
    let folder = tempfile::tempdir().unwrap();
    let (pem, tls) = certificate(folder.path());
    let root = tempfile::tempdir().unwrap();
    let server = S3Server::start_tls(root.path(), tls).await;
    let endpoint = format!("https://localhost:{}", server.address.port());

    let mut s3 = s3_settings(&endpoint);
    s3.extra_roots_pem = pem;
    let trusting = MediaSettings {
        place: Place::S3(s3),
        budget_bytes: None,
    };
    let media = Media::open(&trusting).await.unwrap();
    media
        .put(&path(1), chunks(b"sealed on the way"), &mp4(), 100)
        .await
        .unwrap();
    let read = all_of(media.get(&path(1), None).await.unwrap())
        .await
        .unwrap();
    assert_eq!(read, b"sealed on the way");

    let doubting = MediaSettings {
        place: Place::S3(s3_settings(&endpoint)),
        budget_bytes: None,
    };
    let media = Media::open(&doubting).await.unwrap();
    let error = media.head(&path(1)).await.unwrap_err();
    assert!(matches!(error, MediaError::Away { .. }), "{error:?}");
}

#[tokio::test]
async fn an_authority_that_is_none_is_told_at_the_start() {
    let mut s3 = s3_settings("https://localhost:1");
    s3.extra_roots_pem =
        b"-----BEGIN CERTIFICATE-----\naGVsbG8=\n-----END CERTIFICATE-----\n".to_vec();
    let settings = MediaSettings {
        place: Place::S3(s3),
        budget_bytes: None,
    };
    let error = Media::open(&settings).await.unwrap_err();
    assert!(matches!(error, MediaError::Settings { .. }), "{error:?}");
}
