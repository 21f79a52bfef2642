//! A customer's URL, parsed and checked as far as is possible without a network. Only a [`Target`] is connected to,
//! and the checked URL is the requested one: there is one parser, and its own serialization is used from there on.

use std::net::IpAddr;

use http::{HeaderValue, Uri};
use url::{Host, Url};

use super::error::FetchError;
use super::networks::may_reach;
use super::{MAX_URL_BYTES, SafeFetchSettings};

/// Ports that are always served; those above [`LAST_SYSTEM_PORT`] by a setting.
const PORTS: [u16; 4] = [80, 443, 8080, 8443];
/// System services listen up to here: mail, DNS, remote shells.
const LAST_SYSTEM_PORT: u16 = 1023;

/// Where a request may go, if its addresses may.
#[derive(Debug, Clone)]
pub(super) struct Target {
    url: Url,
    pub(super) place: Place,
    pub(super) port: u16,
    pub(super) is_tls: bool,
}

/// A name to resolve, or an address.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Place {
    Name(String),
    Address(IpAddr),
}

/// Whether a URL of ours can be followed from the public net, as far as its text says.
#[must_use]
pub fn is_public_url(text: &str) -> bool {
    let settings = SafeFetchSettings {
        has_high_ports: true,
        ..SafeFetchSettings::default()
    };
    match Target::read(text, &settings).map(|target| target.place) {
        Ok(Place::Name(name)) => name.contains('.'),
        Ok(Place::Address(address)) => may_reach(address, &[]),
        Err(_) => false,
    }
}

impl Target {
    pub(super) fn read(text: &str, settings: &SafeFetchSettings) -> Result<Self, FetchError> {
        check_text(text)?;
        let url = Url::parse(text).map_err(|_| FetchError::NotAnAddress)?;
        Self::of(url, settings)
    }

    /// The target of a redirect, checked like a customer's URL.
    pub(super) fn follow(
        &self,
        location: &HeaderValue,
        settings: &SafeFetchSettings,
    ) -> Result<Self, FetchError> {
        let text = std::str::from_utf8(location.as_bytes()).map_err(|_| FetchError::BadAnswer)?;
        check_text(text)?;
        let url = self.url.join(text).map_err(|_| FetchError::BadAnswer)?;
        let next = Self::of(url, settings)?;
        if self.is_tls && !next.is_tls {
            return Err(FetchError::Downgrade);
        }
        Ok(next)
    }

    fn of(mut url: Url, settings: &SafeFetchSettings) -> Result<Self, FetchError> {
        let is_tls = match url.scheme() {
            "http" => false,
            "https" => true,
            _ => return Err(FetchError::Scheme),
        };
        if !url.username().is_empty() || url.password().is_some() {
            return Err(FetchError::Credentials);
        }
        // The parser may have made it longer by escaping.
        if url.as_str().len() > MAX_URL_BYTES {
            return Err(FetchError::AddressTooLong);
        }
        let port = url
            .port_or_known_default()
            .ok_or(FetchError::NotAnAddress)?;
        let is_high = settings.has_high_ports && port > LAST_SYSTEM_PORT;
        if !PORTS.contains(&port) && !is_high {
            return Err(FetchError::Port);
        }
        let place = match url.host().ok_or(FetchError::NotAnAddress)? {
            Host::Ipv4(address) => Place::Address(address.into()),
            Host::Ipv6(address) => Place::Address(address.into()),
            Host::Domain(name) => Place::Name(name_of(name, settings)?),
        };
        url.set_fragment(None);
        Ok(Self {
            url,
            place,
            port,
            is_tls,
        })
    }

    pub(super) fn path(&self) -> Result<Uri, FetchError> {
        let path = self.url.path();
        let text = match self.url.query() {
            Some(query) => format!("{path}?{query}"),
            None => path.to_owned(),
        };
        text.parse().map_err(|_| FetchError::NotAnAddress)
    }

    /// The header `host`.
    pub(super) fn host_header(&self) -> Result<HeaderValue, FetchError> {
        let host = self.url.host_str().ok_or(FetchError::NotAnAddress)?;
        let text = match self.url.port() {
            Some(port) => format!("{host}:{port}"),
            None => host.to_owned(),
        };
        HeaderValue::try_from(text).map_err(|_| FetchError::NotAnAddress)
    }
}

/// Parsers differ on control characters and backslashes; ours drops the former and replaces the latter. Ambiguous
/// URLs are rejected.
fn check_text(text: &str) -> Result<(), FetchError> {
    if text.len() > MAX_URL_BYTES {
        return Err(FetchError::AddressTooLong);
    }
    if text.chars().any(|one| one.is_control() || one == '\\') {
        return Err(FetchError::NotAnAddress);
    }
    Ok(())
}

/// A host name without its trailing dot, unless it is one that is never public.
fn name_of(name: &str, settings: &SafeFetchSettings) -> Result<String, FetchError> {
    let name = name.strip_suffix('.').unwrap_or(name).to_ascii_lowercase();
    if name.is_empty() || name.ends_with('.') {
        return Err(FetchError::NotAnAddress);
    }
    let is_denied = settings.denied_suffixes.iter().any(|suffix| {
        let suffix = suffix.trim_matches('.').to_ascii_lowercase();
        let rest = name.strip_suffix(&suffix);
        !suffix.is_empty() && rest.is_some_and(|rest| rest.is_empty() || rest.ends_with('.'))
    });
    if is_denied {
        return Err(FetchError::NotPublic);
    }
    Ok(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Target, FetchError> {
        Target::read(text, &SafeFetchSettings::default())
    }

    #[test]
    fn ports_are_the_four_of_the_web_and_high_ones_by_a_setting() {
        let high = SafeFetchSettings {
            has_high_ports: true,
            ..SafeFetchSettings::default()
        };
        for (port, is_always, is_with_high) in [
            (80, true, true),
            (443, true, true),
            (8080, true, true),
            (8443, true, true),
            (0, false, false),
            (22, false, false),
            (1023, false, false),
            (1024, false, true),
            (65535, false, true),
        ] {
            let text = format!("http://files.example:{port}/");
            assert_eq!(read(&text).is_ok(), is_always, "{port}");
            assert_eq!(Target::read(&text, &high).is_ok(), is_with_high, "{port}");
        }
    }

    #[test]
    fn the_length_of_an_address_has_its_edge_where_it_is_said() {
        let stem = "https://files.example/";
        let longest = format!("{stem}{}", "a".repeat(MAX_URL_BYTES - stem.len()));
        assert!(read(&longest).is_ok());
        let longer = format!("{longest}a");
        assert_eq!(read(&longer).unwrap_err(), FetchError::AddressTooLong);
        // Each of these is written as nine bytes.
        let grows = format!("{stem}{}", "語".repeat(MAX_URL_BYTES / 4));
        assert_eq!(read(&grows).unwrap_err(), FetchError::AddressTooLong);
    }

    #[test]
    fn a_denied_suffix_matches_whole_labels_and_names_are_in_punycode() {
        for denied in [
            "http://internal/",
            "http://a.INTERNAL./",
            "http://x.localhost/",
        ] {
            assert_eq!(read(denied).unwrap_err(), FetchError::NotPublic);
        }
        let near = read("http://notinternal/").unwrap();
        assert_eq!(near.place, Place::Name("notinternal".to_owned()));
        let other = read("https://Bücher.example./a b?q=ü#part").unwrap();
        assert_eq!(other.place, Place::Name("xn--bcher-kva.example".to_owned()));
        assert_eq!(other.path().unwrap(), "/a%20b?q=%C3%BC");
        assert_eq!(other.host_header().unwrap(), "xn--bcher-kva.example.");
    }
}
