//! TLS from files. They are read again when they change; a pair that cannot be used is told of, and
//! the last good one stays.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::SystemTime;

use arc_swap::ArcSwap;
use rustls::ServerConfig;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio_rustls::TlsAcceptor;

/// Bytes of a certificate chain or key at most.
const MAX_PEM_BYTES: u64 = 1_000_000;

/// Where the certificate chain and its key are, both as PEM.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TlsFiles {
    /// The chain, our own certificate first.
    pub certificate: PathBuf,
    pub key: PathBuf,
}

/// Why TLS cannot be served.
#[derive(Debug, thiserror::Error)]
pub enum TlsError {
    /// A file cannot be read.
    #[error("cannot read {}: {error}", path.display())]
    File {
        path: PathBuf,
        error: std::io::Error,
    },
    /// A file is not what it should be.
    #[error("{} holds no usable {what} in PEM form", path.display())]
    Pem {
        path: PathBuf,
        /// What should be in it.
        what: &'static str,
    },
    /// The two do not fit together.
    #[error("certificate and key cannot be used together: {0}")]
    Pair(#[from] rustls::Error),
}

pub(super) struct Tls {
    files: TlsFiles,
    acceptor: ArcSwap<TlsAcceptor>,
    seen: Mutex<Seen>,
}

/// When the two files were last changed, as far as the system tells.
type Seen = (Option<SystemTime>, Option<SystemTime>);

impl Tls {
    pub(super) fn load(files: TlsFiles) -> Result<Self, TlsError> {
        let seen = changed(&files);
        let acceptor = acceptor(&files)?;
        Ok(Self {
            files,
            acceptor: ArcSwap::from_pointee(acceptor),
            seen: Mutex::new(seen),
        })
    }

    pub(super) fn acceptor(&self) -> Arc<TlsAcceptor> {
        self.acceptor.load_full()
    }

    /// Reads the files again if one of them has changed.
    pub(super) fn follow(&self) {
        let now = changed(&self.files);
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        if *seen == now {
            return;
        }
        match acceptor(&self.files) {
            Ok(acceptor) => {
                self.acceptor.store(Arc::new(acceptor));
                *seen = now;
                tracing::info!("TLS: certificate reloaded");
            }
            // Half of a pair may be there already; the next look will find both.
            Err(error) => {
                tracing::warn!(%error, "TLS: certificate reload failed; the old one stays in use")
            }
        }
    }
}

fn acceptor(files: &TlsFiles) -> Result<TlsAcceptor, TlsError> {
    let pem = |path: &Path, what| TlsError::Pem {
        path: path.to_owned(),
        what,
    };
    let chain = read(&files.certificate)?;
    let chain: Result<Vec<CertificateDer<'static>>, _> =
        CertificateDer::pem_slice_iter(&chain).collect();
    let chain = chain.map_err(|_| pem(&files.certificate, "certificate"))?;
    if chain.is_empty() {
        return Err(pem(&files.certificate, "certificate"));
    }
    let key = read(&files.key)?;
    let key = PrivateKeyDer::from_pem_slice(&key).map_err(|_| pem(&files.key, "private key"))?;
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let mut config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()?
        .with_no_client_auth()
        .with_single_cert(chain, key)?;
    config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    Ok(TlsAcceptor::from(Arc::new(config)))
}

fn read(path: &Path) -> Result<Vec<u8>, TlsError> {
    use std::io::Read as _;
    let whole = || {
        let file = std::fs::File::open(path)?;
        let mut bytes = Vec::new();
        file.take(MAX_PEM_BYTES).read_to_end(&mut bytes)?;
        Ok(bytes)
    };
    whole().map_err(|error| TlsError::File {
        path: path.to_owned(),
        error,
    })
}

fn changed(files: &TlsFiles) -> Seen {
    let when = |path: &Path| {
        std::fs::metadata(path)
            .and_then(|file| file.modified())
            .ok()
    };
    (when(&files.certificate), when(&files.key))
}
