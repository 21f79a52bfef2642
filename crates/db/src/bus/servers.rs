//! NATS server URLs. They may contain a login, so they are parsed at once and never repeated.

use std::fmt;

use async_nats::{ConnectOptions, ServerAddr};
use percent_encoding::percent_decode_str;
use trunkline_types::Secret;

/// Servers that may be listed.
const MAX_SERVERS: usize = 16;

/// Servers of one cluster, and how to log in there.
#[derive(Clone)]
pub struct Servers {
    addresses: Vec<ServerAddr>,
    login: Login,
    /// All or none of them speak TLS: a cluster tells its clients of other servers without saying how they speak.
    tls: bool,
}

#[derive(Clone)]
enum Login {
    Anonymous,
    Token(Secret),
    User(String, Secret),
}

/// Why an address is none. It does not repeat the address.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error(
    "must be an address such as nats://127.0.0.1:4222, nats://user:password@host:4222 or \
     nats://token@host:4222, or up to 16 of them with commas between; tls:// in place of all nats:// for TLS"
)]
pub struct AddressError;

// === impl Servers ===

impl Servers {
    /// Reads addresses with commas between. The first login counts for all.
    pub fn parse(text: &Secret) -> Result<Self, AddressError> {
        let mut servers = Self {
            addresses: Vec::new(),
            login: Login::Anonymous,
            tls: text.reveal().trim_start().starts_with("tls://"),
        };
        let scheme = if servers.tls { "tls" } else { "nats" };
        for part in text.reveal().split(',') {
            let part = part.trim();
            if !part.starts_with(&format!("{scheme}://")) {
                return Err(AddressError);
            }
            let address: ServerAddr = part.parse().map_err(|_| AddressError)?;
            if matches!(servers.login, Login::Anonymous) {
                servers.login = Login::of(&address)?;
            }
            // Without the login: the client may name the address in its log.
            let (host, port) = (address.host(), address.port());
            let plain = if host.contains(':') {
                format!("{scheme}://[{host}]:{port}")
            } else {
                format!("{scheme}://{host}:{port}")
            };
            servers
                .addresses
                .push(plain.parse().map_err(|_| AddressError)?);
        }
        if servers.addresses.len() > MAX_SERVERS {
            return Err(AddressError);
        }
        Ok(servers)
    }

    /// Whether they are spoken to by TLS.
    #[must_use]
    pub const fn are_tls(&self) -> bool {
        self.tls
    }

    pub(crate) fn addresses(&self) -> Vec<ServerAddr> {
        self.addresses.clone()
    }

    pub(crate) fn log_in(&self, options: ConnectOptions) -> ConnectOptions {
        let options = options.require_tls(self.tls);
        match &self.login {
            Login::Anonymous => options,
            Login::Token(token) => options.token(token.reveal().to_owned()),
            Login::User(name, password) => {
                options.user_and_password(name.clone(), password.reveal().to_owned())
            }
        }
    }
}

impl fmt::Debug for Servers {
    /// Without the login.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let hosts = self.addresses.iter();
        let hosts = hosts.map(|address| format!("{}:{}", address.host(), address.port()));
        formatter.debug_list().entries(hosts).finish()
    }
}

// === impl Login ===

impl Login {
    fn of(address: &ServerAddr) -> Result<Self, AddressError> {
        let plain = |text: &str| {
            let decoded = percent_decode_str(text).decode_utf8();
            decoded.map(String::from).map_err(|_| AddressError)
        };
        Ok(match (address.username(), address.password()) {
            (None, None) => Self::Anonymous,
            (Some(token), None) => Self::Token(Secret::new(plain(token)?)),
            (Some(name), Some(password)) => Self::User(plain(name)?, Secret::new(plain(password)?)),
            (None, Some(_)) => return Err(AddressError),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(text: &str) -> Result<Servers, AddressError> {
        Servers::parse(&Secret::new(text.to_owned()))
    }

    #[test]
    fn servers_of_a_cluster_are_read_with_one_login_that_is_never_printed() {
        let servers =
            parsed("nats://ada:pass%20word@a.example:4222, nats://b.example,nats://[::1]:7000")
                .unwrap();
        let debug = format!("{servers:?}");
        assert_eq!(debug, r#"["a.example:4222", "b.example:4222", "::1:7000"]"#);
        assert!(matches!(&servers.login, Login::User(name, password)
            if name == "ada" && password.reveal() == "pass word"));
        for address in servers.addresses() {
            let debug = format!("{address:?}");
            assert!(
                !debug.contains("word@") && !debug.contains("pass%20word"),
                "{debug}"
            );
            assert!(!debug.contains("ada"), "{debug}");
        }
        let token = parsed("nats://s3cret@a:1").unwrap();
        assert!(matches!(&token.login, Login::Token(token) if token.reveal() == "s3cret"));
    }

    #[test]
    fn a_cluster_that_speaks_tls_is_never_spoken_to_in_the_clear() {
        let servers = parsed("tls://ada:secret@a.example:4222,tls://b.example").unwrap();
        assert!(servers.tls && servers.addresses().iter().all(ServerAddr::tls_required));
        assert!(!parsed("nats://a.example").unwrap().tls);
    }

    #[test]
    fn what_is_no_address_is_refused_without_being_repeated() {
        for wrong in [
            "",
            "127.0.0.1:4222",
            "http://a:1",
            "tls://a:1,nats://b:1",
            "nats://a:1,tls://b:1",
            "nats://",
            "nats://a,",
            "nats://:secret@a",
        ] {
            let error = parsed(wrong).err();
            assert_eq!(error, Some(AddressError), "{wrong}");
        }
        let many = vec!["nats://a"; MAX_SERVERS + 1].join(",");
        assert!(parsed(&many).is_err());
    }
}
