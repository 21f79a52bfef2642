//! Certificates that are trusted beside the public roots: an operator's own, or a test's.

use std::fmt;

use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject as _;

/// Most certificates; an installation has one or two, and a bundle of all public roots has some 150.
pub const MAX_EXTRA_ROOTS: usize = 500;

/// Certificates of authorities that were read and can be used.
#[derive(Clone, Default)]
pub struct Roots(Vec<CertificateDer<'static>>);

/// Why a text is no list of roots.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RootsError {
    /// A certificate that is none.
    #[error("certificate {number} cannot be read: {reason}")]
    Certificate {
        /// Which, from 1.
        number: usize,
        reason: String,
    },
    /// No certificate at all.
    #[error("there is no certificate in it; PEM begins with -----BEGIN CERTIFICATE-----")]
    Empty,
    /// More than [`MAX_EXTRA_ROOTS`].
    #[error("there are more than {MAX_EXTRA_ROOTS} certificates in it")]
    TooMany,
}

impl Roots {
    /// Reads certificates from PEM. Other sections, such as a key, are passed over.
    pub fn from_pem(pem: &[u8]) -> Result<Self, RootsError> {
        let mut roots = Vec::new();
        // Checked here once, so that a bad certificate is reported at load time and not at the first call.
        let mut trial = rustls::RootCertStore::empty();
        for found in CertificateDer::pem_slice_iter(pem) {
            let number = roots.len().saturating_add(1);
            let bad = |reason: String| RootsError::Certificate { number, reason };
            let root = found.map_err(|error| bad(error.to_string()))?;
            trial
                .add(root.clone())
                .map_err(|error| bad(error.to_string()))?;
            roots.push(root);
            if roots.len() > MAX_EXTRA_ROOTS {
                return Err(RootsError::TooMany);
            }
        }
        if roots.is_empty() {
            return Err(RootsError::Empty);
        }
        Ok(Self(roots))
    }

    #[must_use]
    pub const fn count(&self) -> usize {
        self.0.len()
    }

    /// The public roots and these.
    pub(super) fn store(&self) -> Result<rustls::RootCertStore, rustls::Error> {
        let mut store = rustls::RootCertStore {
            roots: webpki_roots::TLS_SERVER_ROOTS.to_vec(),
        };
        for root in &self.0 {
            store.add(root.clone())?;
        }
        Ok(store)
    }
}

impl fmt::Debug for Roots {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "Roots({})", self.0.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_certificate_is_said_when_it_is_read() {
        assert_eq!(Roots::from_pem(b"hello").unwrap_err(), RootsError::Empty);
        let broken = b"-----BEGIN CERTIFICATE-----\naGVsbG8=\n-----END CERTIFICATE-----\n";
        let message = Roots::from_pem(broken).unwrap_err().to_string();
        assert!(
            message.starts_with("certificate 1 cannot be read"),
            "{message}"
        );
        assert_eq!(Roots::default().count(), 0);
    }
}
