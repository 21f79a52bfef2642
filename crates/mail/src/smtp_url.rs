//! The URL of the mail server: host, port, login, and how the connection is encrypted.

use std::fmt;
use std::net::IpAddr;

use percent_encoding::percent_decode_str;
use trunkline_types::Secret;
use url::{Host, Url};

/// Ports that mail servers have: with STARTTLS, with TLS from the first byte, and on this machine.
const SUBMISSION_PORT: u16 = 587;
const TLS_PORT: u16 = 465;
const LOCAL_PORT: u16 = 25;

#[derive(Clone)]
pub struct Server {
    pub(crate) host: String,
    pub(crate) port: u16,
    pub(crate) tls_mode: TlsMode,
    pub(crate) login: Option<(String, Secret)>,
}

/// How the connection is encrypted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TlsMode {
    /// Not at all: the connection does not leave this machine.
    Local,
    /// STARTTLS before anything is sent; without it nothing is.
    StartTls,
    /// TLS from the first byte.
    Tls,
}

/// Why a URL is not one of a mail server. The URL itself is never repeated: it contains a password.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum ServerError {
    /// Not a URL.
    #[error(
        "must be an address such as smtp://user:password@mail.example.com:587 or smtps://user:password@mail.example.com"
    )]
    Shape,
    /// A password without a user, or the reverse.
    #[error("has a user without a password, or a password without a user")]
    Login,
}

// === impl Server ===

impl Server {
    /// Reads `smtp://user:password@host:587` (STARTTLS; plain to this machine alone) or `smtps://…`.
    pub fn parse(text: &Secret) -> Result<Self, ServerError> {
        let url = Url::parse(text.reveal()).map_err(|_| ServerError::Shape)?;
        let bare =
            matches!(url.path(), "" | "/") && url.query().is_none() && url.fragment().is_none();
        let host = url.host_str().filter(|host| !host.is_empty() && bare);
        let host = host.ok_or(ServerError::Shape)?;
        let tls_mode = match url.scheme() {
            "smtps" => TlsMode::Tls,
            "smtp" if is_local(host) => TlsMode::Local,
            "smtp" => TlsMode::StartTls,
            _ => return Err(ServerError::Shape),
        };
        let port = url.port().unwrap_or(match tls_mode {
            TlsMode::Local => LOCAL_PORT,
            TlsMode::StartTls => SUBMISSION_PORT,
            TlsMode::Tls => TLS_PORT,
        });
        let host = host.trim_start_matches('[').trim_end_matches(']');
        Ok(Self {
            host: host.to_owned(),
            port,
            tls_mode,
            login: login(&url)?,
        })
    }

    /// The same server as if it were remote, so that TLS is required. For tests, whose servers are all local.
    #[must_use]
    pub fn as_if_remote(mut self) -> Self {
        self.tls_mode = match self.tls_mode {
            TlsMode::Local | TlsMode::StartTls => TlsMode::StartTls,
            TlsMode::Tls => TlsMode::Tls,
        };
        self
    }
}

impl fmt::Debug for Server {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Server")
            .field("host", &self.host)
            .field("port", &self.port)
            .field("tls_mode", &self.tls_mode)
            .finish_non_exhaustive()
    }
}

fn login(url: &Url) -> Result<Option<(String, Secret)>, ServerError> {
    let plain = |text: &str| {
        let decoded = percent_decode_str(text).decode_utf8();
        decoded
            .map(|text| text.into_owned())
            .map_err(|_| ServerError::Login)
    };
    match (url.username(), url.password()) {
        ("", None) => Ok(None),
        ("", Some(_)) | (_, None) => Err(ServerError::Login),
        (user, Some(password)) => Ok(Some((plain(user)?, Secret::new(plain(password)?)))),
    }
}

/// Names are not resolved: they could point to another host tomorrow.
fn is_local(host: &str) -> bool {
    match Host::parse(host) {
        Ok(Host::Domain(name)) => {
            let address: Option<IpAddr> = name.parse().ok();
            name == "localhost" || address.is_some_and(|address| address.is_loopback())
        }
        Ok(Host::Ipv4(address)) => address.is_loopback(),
        Ok(Host::Ipv6(address)) => address.is_loopback(),
        Err(_) => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<Server, ServerError> {
        Server::parse(&Secret::new(text.to_owned()))
    }

    #[test]
    fn only_the_line_to_this_machine_may_be_plain() {
        for (text, tls_mode, port) in [
            ("smtp://u:p@mail.example.com", TlsMode::StartTls, 587),
            ("smtp://u:p@mail.example.com:2525", TlsMode::StartTls, 2525),
            ("smtps://u:p@mail.example.com", TlsMode::Tls, 465),
            ("smtps://127.0.0.1:1465", TlsMode::Tls, 1465),
            ("smtp://127.0.0.1", TlsMode::Local, 25),
            ("smtp://localhost:1025", TlsMode::Local, 1025),
            ("smtp://[::1]:1025", TlsMode::Local, 1025),
            ("smtp://10.0.0.1", TlsMode::StartTls, 587),
            ("smtp://127.0.0.1.example.com", TlsMode::StartTls, 587),
            ("smtp://localhost.example.com", TlsMode::StartTls, 587),
        ] {
            let server = parse(text).unwrap();
            assert_eq!((server.tls_mode, server.port), (tls_mode, port), "{text}");
        }
        assert_eq!(parse("smtp://[::1]").unwrap().host, "::1");
    }

    #[test]
    fn a_login_is_whole_and_never_shown() {
        let server = parse("smtp://ada%40example.com:hunter%2F2canary@mail.example.com").unwrap();
        assert!(!format!("{server:?}").contains("canary"), "{server:?}");
        let (user, password) = server.login.unwrap();
        assert_eq!(
            (user.as_str(), password.reveal()),
            ("ada@example.com", "hunter/2canary")
        );
        assert!(parse("smtp://mail.example.com").unwrap().login.is_none());
        for (text, error) in [
            ("smtp://ada@mail.example.com", ServerError::Login),
            ("smtp://:p@mail.example.com", ServerError::Login),
            ("mail.example.com:587", ServerError::Shape),
            ("http://mail.example.com", ServerError::Shape),
            ("smtp://", ServerError::Shape),
            ("smtp://mail.example.com/path", ServerError::Shape),
            ("smtp://mail.example.com?tls=none", ServerError::Shape),
            ("", ServerError::Shape),
        ] {
            assert_eq!(parse(text).map(|_| ()), Err(error), "{text}");
        }
    }
}
