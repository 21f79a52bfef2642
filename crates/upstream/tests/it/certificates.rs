//! Certificates of a moment, made by the `openssl` program.

use std::ffi::OsStr;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;

use rustls::ServerConfig;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use trunkline_upstream::Roots;

/// A certificate that vouches for itself, and its key.
pub(crate) struct Certificate {
    certificate: Vec<u8>,
    key: Vec<u8>,
}

const AUTHORITY: &str = "[ca]\ndefault_ca=d\n[d]\ndatabase=index\nserial=serial\nnew_certs_dir=.\ndefault_md=sha256\n\
                         policy=p\ncopy_extensions=copy\n[p]\ncommonName=supplied\n";

impl Certificate {
    /// Good today, for one name.
    pub(crate) fn of(name: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let alternative = format!("subjectAltName=DNS:{name}");
        run(
            folder.path(),
            &words("req -x509 -days 2 -out cert.pem"),
            &alternative,
        );
        Self::read(folder.path())
    }

    /// It was good for a day in 2020.
    pub(crate) fn expired(name: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let alternative = format!("subjectAltName=DNS:{name}");
        run(
            folder.path(),
            &words("req -new -out request.pem"),
            &alternative,
        );
        std::fs::write(folder.path().join("ca.conf"), AUTHORITY).unwrap();
        std::fs::write(folder.path().join("index"), "").unwrap();
        let sign = "ca -batch -selfsign -config ca.conf -keyfile key.pem -in request.pem -notext \
                    -create_serial -startdate 20200101000000Z -enddate 20200102000000Z -out cert.pem";
        openssl(folder.path(), &words(sign));
        Self::read(folder.path())
    }

    fn read(folder: &Path) -> Self {
        Self {
            certificate: std::fs::read(folder.join("cert.pem")).unwrap(),
            key: std::fs::read(folder.join("key.pem")).unwrap(),
        }
    }

    /// A client with these trusts it.
    pub(crate) fn roots(&self) -> Roots {
        Roots::from_pem(&self.certificate).unwrap()
    }

    /// A server that shows it and offers these protocols.
    pub(crate) fn server(&self, protocols: &[&str]) -> Arc<ServerConfig> {
        let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
        let chain = vec![CertificateDer::from_pem_slice(&self.certificate).unwrap()];
        let key = PrivateKeyDer::from_pem_slice(&self.key).unwrap();
        let mut config = ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_no_client_auth()
            .with_single_cert(chain, key)
            .unwrap();
        config.alpn_protocols = protocols
            .iter()
            .map(|protocol| protocol.as_bytes().to_vec())
            .collect();
        Arc::new(config)
    }
}

fn words(text: &str) -> Vec<&OsStr> {
    text.split_whitespace().map(OsStr::new).collect()
}

/// A request or a certificate with a new key.
fn run(folder: &Path, first: &[&OsStr], alternative: &str) {
    let rest = "-newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -subj /CN=test \
                -keyout key.pem -addext basicConstraints=critical,CA:FALSE -addext";
    let mut all = first.to_vec();
    all.extend(words(rest));
    all.push(OsStr::new(alternative));
    openssl(folder, &all);
}

fn openssl(folder: &Path, words: &[&OsStr]) {
    let made = Command::new("openssl")
        .args(words)
        .current_dir(folder)
        .output()
        .expect("openssl is there: run just setup");
    let reply = String::from_utf8_lossy(&made.stderr);
    assert!(made.status.success(), "{reply}");
}
