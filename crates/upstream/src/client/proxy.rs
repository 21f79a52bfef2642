//! The address of an egress proxy. It may carry a password, so it is a secret as a whole.

use std::fmt;

use http::{HeaderValue, Uri};
use trunkline_types::Secret;

#[derive(Clone)]
pub enum Proxy {
    /// An HTTP proxy, used with CONNECT.
    Http {
        /// Its address without the login.
        uri: Uri,
        /// The login, as a header.
        basic: Option<HeaderValue>,
        text: Secret,
    },
    /// A SOCKS5 proxy.
    Socks {
        /// Its address without the login.
        uri: Uri,
        login: Option<(String, Secret)>,
        text: Secret,
    },
}

/// Why a text is no proxy.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum ProxyError {
    /// Neither of the two kinds.
    #[error(
        "a proxy is written http://[user:password@]host:port or socks5://[user:password@]host:port"
    )]
    Shape,
}

impl Proxy {
    pub fn read(text: &Secret) -> Result<Self, ProxyError> {
        let (scheme, rest) = text.reveal().split_once("://").ok_or(ProxyError::Shape)?;
        let rest = rest.trim_end_matches('/');
        let (login, host) = match rest.rsplit_once('@') {
            Some((login, host)) => (Some(login), host),
            None => (None, rest),
        };
        let login = match login {
            None => None,
            Some(login) => Some(login.split_once(':').ok_or(ProxyError::Shape)?),
        };
        let uri: Uri = format!("{scheme}://{host}")
            .parse()
            .map_err(|_| ProxyError::Shape)?;
        if uri.port().is_none() || uri.host().is_none_or(str::is_empty) {
            return Err(ProxyError::Shape);
        }
        let text = text.clone();
        match scheme {
            "http" => Ok(Self::Http {
                uri,
                basic: login.and_then(|(user, password)| basic(user, password)),
                text,
            }),
            "socks5" => Ok(Self::Socks {
                uri,
                login: login
                    .map(|(user, password)| (user.to_owned(), Secret::new(password.to_owned()))),
                text,
            }),
            _ => Err(ProxyError::Shape),
        }
    }

    pub(super) fn text(&self) -> &str {
        match self {
            Self::Http { text, .. } | Self::Socks { text, .. } => text.reveal(),
        }
    }
}

impl fmt::Debug for Proxy {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Proxy")
    }
}

fn basic(user: &str, password: &str) -> Option<HeaderValue> {
    use base64::Engine as _;
    let pair = base64::engine::general_purpose::STANDARD.encode(format!("{user}:{password}"));
    let mut value = HeaderValue::from_str(&format!("Basic {pair}")).ok()?;
    value.set_sensitive(true);
    Some(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Proxy, ProxyError> {
        Proxy::read(&Secret::new(text.to_owned()))
    }

    #[test]
    fn both_kinds_are_read_with_and_without_a_login_and_print_nothing() {
        let http = read("http://user:hunter2@proxy.example:3128/").unwrap();
        assert!(
            matches!(&http, Proxy::Http { uri, basic: Some(_), .. } if uri.host() == Some("proxy.example"))
        );
        assert!(!format!("{http:?}").contains("hunter2"));
        assert!(matches!(
            read("http://1.2.3.4:80").unwrap(),
            Proxy::Http { basic: None, .. }
        ));
        let socks = read("socks5://u:p@127.0.0.1:1080").unwrap();
        assert!(matches!(&socks, Proxy::Socks { login: Some((user, _)), .. } if user == "u"));
        for wrong in [
            "",
            "proxy:3128",
            "ftp://a:1",
            "http://a",
            "http://u@a:1",
            "http://:1",
        ] {
            assert!(read(wrong).is_err(), "{wrong}");
        }
    }
}
