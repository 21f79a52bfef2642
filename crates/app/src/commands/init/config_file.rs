//! The configuration file of a new installation.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};

use toml::Value;

use super::paths::Paths;

/// Where it listens unless the public address says otherwise.
const PORT: u16 = 8_080;

/// What the answers decide of it.
pub(super) struct ConfigAnswers<'a> {
    pub(super) public_url: &'a str,
    pub(super) listen: SocketAddr,
    pub(super) admin_listen: SocketAddr,
    pub(super) docs_model: Option<&'a str>,
}

/// Where to listen: as was said, else on this machine, at the port of a public address that is here.
pub(super) fn listen(requested: Option<SocketAddr>, public_url: &str) -> SocketAddr {
    let url = url::Url::parse(public_url).ok();
    let port = url
        .as_ref()
        .filter(|url| is_local(url))
        .and_then(url::Url::port);
    requested
        .unwrap_or_else(|| SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), port.unwrap_or(PORT)))
}

fn is_local(url: &url::Url) -> bool {
    url.scheme() == "http" && matches!(url.host_str(), Some("127.0.0.1" | "localhost"))
}

/// Whether a proxy has to terminate TLS in front of it.
pub(super) fn needs_proxy(public_url: &str, listen: SocketAddr) -> bool {
    public_url.starts_with("https://") && listen.ip().is_loopback()
}

pub(super) fn text(decided: &ConfigAnswers<'_>, paths: &Paths) -> String {
    let file = quoted(&paths.database_url.display().to_string());
    let rest = without_database(decided, paths);
    format!("{rest}\n[database]\nurl_file = {file}\n")
}

fn quoted(text: &str) -> String {
    Value::String(text.to_owned()).to_string()
}

/// The file but for the database. Calls and console share one address, so that one public address is enough.
pub(super) fn without_database(decided: &ConfigAnswers<'_>, paths: &Paths) -> String {
    let path = |path: &std::path::Path| quoted(&path.display().to_string());
    let (public, listen) = (
        quoted(decided.public_url),
        quoted(&decided.listen.to_string()),
    );
    let mut text = format!(
        "# Written by `trunkline init`, which never changes it again. `trunkline config default` prints every key\n\
         # with its meaning, `trunkline config check` says what is wrong. A change needs a restart of the service.\n\
         \n[edge]\nlisten = {listen}\npublic_url = {public}\n"
    );
    if needs_proxy(decided.public_url, decided.listen) {
        text.push_str("# The proxy on this machine that speaks TLS; it tells who calls.\n");
        text.push_str("trusted_proxies = [\"127.0.0.1/32\"]\n");
    }
    text.push_str(&format!(
        "\n[console]\nlisten = {listen}\npublic_url = {public}\n"
    ));
    if let Some(model) = decided.docs_model {
        text.push_str(&format!("docs_model = {}\n", quoted(model)));
    }
    text.push_str(&format!(
        "\n[admin]\nlisten = {admin}\n\n[keyring]\nfile = {keyring}\n\n\
         [media]\ndirectory = {media}\n\n[uploads]\nfolder = {uploads}\n",
        admin = quoted(&decided.admin_listen.to_string()),
        keyring = path(&paths.keyring),
        media = path(&paths.data.join("media")),
        uploads = path(&paths.data.join("uploads")),
    ));
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_listens_at_the_port_of_a_public_address_on_this_machine() {
        let at = |public: &str| listen(None, public).to_string();
        assert_eq!(at("http://127.0.0.1:9000"), "127.0.0.1:9000");
        assert_eq!(at("http://localhost:9000"), "127.0.0.1:9000");
        assert_eq!(at("https://api.example.com"), "127.0.0.1:8080");
        assert_eq!(at("https://api.example.com:9000"), "127.0.0.1:8080");
        let requested = Some("0.0.0.0:443".parse().unwrap());
        assert_eq!(
            listen(requested, "http://127.0.0.1:9000").to_string(),
            "0.0.0.0:443"
        );
    }

    #[test]
    fn a_proxy_is_believed_only_where_one_is_needed() {
        let local = "127.0.0.1:8080".parse().unwrap();
        assert!(needs_proxy("https://api.example.com", local));
        assert!(!needs_proxy(
            "https://api.example.com",
            "0.0.0.0:443".parse().unwrap()
        ));
        assert!(!needs_proxy("http://127.0.0.1:8080", local));
    }
}
