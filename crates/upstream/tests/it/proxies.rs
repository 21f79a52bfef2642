//! Through real proxies, to servers with and without TLS.

use http::Version;
use trunkline_upstream::{Client, Protocol, SendError};

use crate::calls::{LONG, call, not_sent, proxy, seen};
use crate::certificates::Certificate;
use crate::programs::{EGRESS, Kind, PASSWORD, Program, USER, free_port};
use crate::servers::Server;

const KINDS: [Kind; 2] = [Kind::Http, Kind::Socks];

struct ProxySetup {
    client: Client,
    plain: Server,
    secure: Server,
}

async fn setup() -> ProxySetup {
    let certificate = Certificate::of("localhost");
    ProxySetup {
        client: Client::with_roots(LONG, &certificate.roots()).unwrap(),
        plain: Server::start(None).await,
        secure: Server::start(Some(certificate.server(&["h2", "http/1.1"]))).await,
    }
}

#[tokio::test]
async fn calls_leave_through_the_proxy_with_and_without_a_login() {
    let setup = setup().await;
    for kind in KINDS {
        for (with_login, login) in [
            (false, String::new()),
            (true, format!("{USER}:{PASSWORD}@")),
        ] {
            let program = Program::start(kind, with_login);
            let way = proxy(&program.address(&login));
            for (server, protocol, version) in [
                (&setup.plain, Protocol::Http1, Version::HTTP_11),
                (&setup.secure, Protocol::Http1, Version::HTTP_11),
                (&setup.secure, Protocol::Http2, Version::HTTP_2),
            ] {
                let mut through = call(&server.at("/"), protocol);
                through.proxy = Some(&way);
                let seen = seen(&setup.client, through).await;
                assert_eq!((seen.from(), seen.version), (EGRESS, version), "{kind:?}");
            }
            let direct = seen(&setup.client, call(&setup.secure.at("/"), Protocol::Http1)).await;
            assert!(direct.from().is_loopback() && direct.from() != EGRESS);
        }
    }
}

#[tokio::test]
async fn connections_are_kept_for_each_proxy_by_itself() {
    let setup = setup().await;
    for kind in KINDS {
        let programs = [Program::start(kind, false), Program::start(kind, false)];
        for protocol in [Protocol::Http1, Protocol::Http2] {
            let mut peers = Vec::new();
            for _ in 0..3 {
                for program in &programs {
                    let way = proxy(&program.address(""));
                    let mut through = call(&setup.secure.at("/"), protocol);
                    through.proxy = Some(&way);
                    peers.push(seen(&setup.client, through).await.peer);
                }
            }
            let [one, other, rest @ ..] = peers.as_slice() else {
                panic!("six calls");
            };
            assert_ne!(one, other, "two proxies share no connection");
            assert_eq!(rest, [*one, *other, *one, *other], "{kind:?} {protocol:?}");
        }
    }
}

#[tokio::test]
async fn a_wrong_login_and_a_missing_one_are_refused_and_tell_no_password() {
    let setup = setup().await;
    for kind in KINDS {
        let program = Program::start(kind, true);
        for login in [
            format!("{USER}:wrong-secret@"),
            format!("stranger:{PASSWORD}@"),
            String::new(),
        ] {
            let way = proxy(&program.address(&login));
            for server in [&setup.plain, &setup.secure] {
                let mut through = call(&server.at("/"), Protocol::Http1);
                through.proxy = Some(&way);
                let debug = format!("{through:?}");
                let words = not_sent(&setup.client, through).await;
                let error = SendError::NotSent(words);
                for text in [
                    debug,
                    format!("{way:?}"),
                    error.to_string(),
                    format!("{error:?}"),
                ] {
                    for secret in [PASSWORD, "wrong-secret", "cnVubmVyOn"] {
                        assert!(!text.contains(secret), "{text}");
                    }
                }
            }
        }
    }
}

#[tokio::test]
async fn a_proxy_that_is_down_or_cannot_get_there_means_that_nothing_was_sent() {
    let setup = setup().await;
    for kind in KINDS {
        let mut program = Program::start(kind, false);
        let way = proxy(&program.address(""));
        let unknown = format!("http://127.0.0.1:{}/", free_port());
        for uri in [
            unknown.as_str(),
            "https://nobody.invalid/",
            "http://nobody.invalid/",
        ] {
            for protocol in [Protocol::Http1, Protocol::Http2] {
                let mut through = call(uri, protocol);
                through.proxy = Some(&way);
                not_sent(&setup.client, through).await;
            }
        }
        let mut through = call(&setup.plain.at("/"), Protocol::Http1);
        through.proxy = Some(&way);
        assert_eq!(
            seen(&setup.client, through).await.from(),
            EGRESS,
            "it still lives"
        );
        program.stop();
        for server in [&setup.plain, &setup.secure] {
            let mut through = call(&server.at("/"), Protocol::Http2);
            through.proxy = Some(&way);
            let words = not_sent(&setup.client, through).await;
            assert!(!words.is_empty());
        }
    }
}

#[tokio::test]
async fn a_proxy_that_dies_under_a_request_leaves_it_broken() {
    let setup = setup().await;
    for kind in KINDS {
        for protocol in [Protocol::Http1, Protocol::Http2] {
            let mut program = Program::start(kind, false);
            let way = proxy(&program.address(""));
            let mut through = call(&setup.secure.at("/hang"), protocol);
            through.proxy = Some(&way);
            let arrived = setup.secure.hung() + 1;
            let response = setup.client.send(through);
            let killed = async {
                setup.secure.until_hung(arrived).await;
                program.stop();
            };
            let (sent, ()) = tokio::join!(response, killed);
            let error = sent.unwrap_err();
            assert!(matches!(error, SendError::Broken(_)), "{kind:?} {error:?}");
        }
    }
}
