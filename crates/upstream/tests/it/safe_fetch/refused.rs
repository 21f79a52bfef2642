//! The table of what is refused, and that no listener was reached.

use std::collections::VecDeque;
use std::sync::Arc;

use tokio::net::TcpListener;
use trunkline_upstream::safe_fetch::{FetchError, SafeFetcher, is_public_url};

use crate::safe_fetch::fake_network::{
    Front, Names, PUBLIC, Victim, ask, fetcher, ok, redirect, settings,
};
use crate::safe_fetch::ssrf_cases::{ANSWERS, DENIED, PLACES, TEXTS};

/// Everything that an error says; no address of ours may be in it.
fn words(error: FetchError) -> String {
    let words = format!("{error} {error:?}");
    assert!(!words.contains("127."), "{words}");
    assert!(!words.contains("::"), "{words}");
    words
}

fn strict(names: &Arc<Names>) -> SafeFetcher {
    let names = Arc::clone(names);
    SafeFetcher::with_resolver(settings(&[]), names).unwrap()
}

#[tokio::test]
async fn no_spelling_of_a_non_public_address_is_connected_to() {
    let victim = Victim::everywhere().await;
    let names = Names::of(&[]);
    let fetcher = strict(&names);
    let mut rows = 0;
    for (row, place) in PLACES {
        for scheme in ["http", "https"] {
            let url = format!("{scheme}://{place}:{}/", victim.port());
            let refused = fetcher.get(&url, ask()).await.unwrap_err();
            assert_eq!(refused, FetchError::NotPublic, "{row}: {url}");
            words(refused);
        }
        rows += 1;
    }
    assert_eq!(names.lookups(), 0, "an address was taken for a name");
    assert_eq!(victim.visitors().await, 0);
    println!("{rows} spellings refused, no connection");
    assert!(rows >= 60, "{rows}");
}

#[tokio::test]
async fn the_listener_of_these_tests_is_reached_where_it_is_allowed() {
    let victim = Victim::everywhere().await;
    let open = SafeFetcher::new(settings(&["127.0.0.0/8", "0.0.0.0/8", "::/127"])).unwrap();
    for place in [
        "127.0.0.1",
        "0x7f.1",
        "2130706433",
        "0.0.0.0",
        "[::1]",
        "[::]",
    ] {
        let url = format!("http://{place}:{}/", victim.port());
        let body = open.get(&url, ask()).await.unwrap().whole().await.unwrap();
        assert_eq!(body, "secret", "{place}");
    }
    assert_eq!(victim.visitors().await, 6);
}

#[tokio::test]
async fn no_name_of_a_non_public_address_is_connected_to() {
    let victim = Victim::everywhere().await;
    let names = Names::of(&[]);
    for (name, answer) in ANSWERS {
        let turn = answer.iter().map(|one| one.parse().unwrap()).collect();
        names.put(name, VecDeque::from([turn]));
    }
    let many = (0..=255).map(|last| [8, 8, 8, last].into()).collect();
    names.put("many.example", VecDeque::from([many]));
    let fetcher = strict(&names);
    let answers = ANSWERS.iter().map(|(name, _)| *name);
    let others = ["many.example", "unknown.example", "LOOPBACK.example."];
    let mut rows = 0;
    for name in answers.chain(others) {
        let url = format!("http://{name}:{}/", victim.port());
        let refused = fetcher.get(&url, ask()).await.unwrap_err();
        assert_eq!(refused, FetchError::NotPublic, "{name}");
        words(refused);
        rows += 1;
        assert_eq!(names.lookups(), rows, "{name} is asked for once");
    }
    for (row, name) in DENIED {
        let url = format!("http://{name}:{}/", victim.port());
        let refused = fetcher.get(&url, ask()).await.unwrap_err();
        assert_eq!(refused, FetchError::NotPublic, "{row}");
        assert_eq!(names.lookups(), rows, "{row} is not asked for");
    }
    assert_eq!(victim.visitors().await, 0);
    println!("{} names refused, no connection", rows + DENIED.len());
}

#[tokio::test]
async fn no_malformed_url_reaches_a_non_public_address() {
    let victim = Victim::everywhere().await;
    let fetcher = strict(&Names::of(&[]));
    for (row, text, why) in TEXTS {
        let url = text.replace("PORT", &victim.port().to_string());
        let refused = fetcher.get(&url, ask()).await.unwrap_err();
        let expected = match *why {
            "scheme" => FetchError::Scheme,
            "address" => FetchError::NotAnAddress,
            "public" => FetchError::NotPublic,
            "login" => FetchError::Credentials,
            "port" => FetchError::Port,
            other => panic!("{other}"),
        };
        assert_eq!(refused, expected, "{row}: {url:?}");
        words(refused);
    }
    let long = format!("http://127.0.0.1:{}/{}", victim.port(), "a".repeat(5000));
    let refused = fetcher.get(&long, ask()).await.unwrap_err();
    assert_eq!(refused, FetchError::AddressTooLong);
    // A high port is one of those that a setting opens.
    let default =
        SafeFetcher::new(trunkline_upstream::safe_fetch::SafeFetchSettings::default()).unwrap();
    let url = format!("http://8.8.8.8:{}/", victim.port());
    let refused = default.get(&url, ask()).await.unwrap_err();
    assert_eq!(refused, FetchError::Port);
    assert_eq!(victim.visitors().await, 0);
    println!("{} texts refused, no connection", TEXTS.len() + 2);
}

#[tokio::test]
async fn a_redirect_to_a_non_public_address_is_not_followed() {
    let victim = Victim::everywhere().await;
    let port = victim.port().to_string();
    let mut replies = Vec::new();
    let places = PLACES
        .iter()
        .chain(DENIED)
        .filter(|(_, place)| place.is_ascii());
    for (number, (row, place)) in places.enumerate() {
        let status = [301, 302, 303, 307, 308][number % 5];
        let location = format!("http://{place}:{port}/");
        replies.push((*row, redirect(status, &location), FetchError::NotPublic));
    }
    let relative = format!("//127.0.0.1:{port}/");
    for (row, location, why) in [
        (
            "to a place without a scheme",
            relative.as_str(),
            FetchError::NotPublic,
        ),
        (
            "to a name",
            "http://loopback.example:PORT/",
            FetchError::NotPublic,
        ),
        (
            "to mixed answers",
            "http://mixed.example:PORT/",
            FetchError::NotPublic,
        ),
        ("to a file", "file:///etc/passwd", FetchError::Scheme),
        ("to gopher", "gopher://127.0.0.1:PORT/", FetchError::Scheme),
        (
            "to a login",
            "http://a:b@127.0.0.1:PORT/",
            FetchError::Credentials,
        ),
        ("to a shell", "http://127.0.0.1:22/", FetchError::Port),
        (
            "by a backslash",
            "/\\127.0.0.1:PORT/",
            FetchError::NotAnAddress,
        ),
        (
            "to nothing that is an address",
            "http://[::1:PORT/",
            FetchError::BadAnswer,
        ),
    ] {
        replies.push((row, redirect(302, &location.replace("PORT", &port)), why));
    }
    let paths: Vec<String> = (0..replies.len())
        .map(|number| format!("/{number}"))
        .collect();
    let served = paths.iter().zip(&replies);
    let served: Vec<_> = served
        .map(|(path, row)| (path.as_str(), row.1.clone()))
        .collect();
    let front = Front::start(&served).await;
    let fetcher = fetcher(&Names::of(&[
        ("loopback.example", &[&["127.0.0.1"]]),
        ("mixed.example", &[&[PUBLIC, "127.0.0.1"]]),
    ]));
    for (path, (row, _, why)) in paths.iter().zip(&replies) {
        let refused = fetcher.get(&front.at(path), ask()).await.unwrap_err();
        assert_eq!(refused, *why, "{row}");
        words(refused);
    }
    assert_eq!(
        front.heads().len(),
        replies.len(),
        "each was asked for once"
    );
    assert_eq!(victim.visitors().await, 0);
    println!("{} redirects refused, no connection", replies.len());
}

#[tokio::test]
async fn dns_rebinding_is_judged_by_the_address_that_is_connected_to() {
    // The same port on both addresses, or the second answer would lead nowhere anyway.
    let (front, victim) = loop {
        let front = Front::start(&[("/", ok("file")), ("/again", redirect(302, "/"))]).await;
        let port = front.address.port();
        if let Ok(listener) = TcpListener::bind(("127.0.0.1", port)).await {
            break (front, Victim::at(listener));
        }
    };
    let turns: &[&[&str]] = &[&[PUBLIC], &["127.0.0.1"]];
    let names = Names::of(&[("first.example", turns), ("second.example", turns)]);
    let fetcher = fetcher(&names);

    // One fetch, one question: the answer that was judged is the one that was connected to.
    let url = front.named("http", "first.example", "/");
    let body = fetcher.get(&url, ask()).await.unwrap().whole().await;
    assert_eq!(body.unwrap(), "file");
    assert_eq!(names.lookups(), 1);
    let refused = fetcher.get(&url, ask()).await.unwrap_err();
    assert_eq!(refused, FetchError::NotPublic);
    assert_eq!(names.lookups(), 2);

    // Between two hops of one fetch.
    let url = front.named("http", "second.example", "/again");
    let refused = fetcher.get(&url, ask()).await.unwrap_err();
    assert_eq!(refused, FetchError::NotPublic);
    assert_eq!(names.lookups(), 4);
    assert_eq!(front.heads().len(), 2);
    assert_eq!(victim.visitors().await, 0);
}

#[tokio::test]
async fn a_name_with_one_bad_address_is_refused_though_the_good_one_listens() {
    let victim = Victim::everywhere().await;
    let front = Front::start(&[("/", ok("file"))]).await;
    let names = Names::of(&[
        ("good.example", &[&[PUBLIC]]),
        ("mixed.example", &[&[PUBLIC, "127.0.0.1"]]),
        ("turned.example", &[&["10.0.0.1", PUBLIC]]),
    ]);
    let fetcher = fetcher(&names);
    let good = front.named("http", "good.example", "/");
    assert!(fetcher.get(&good, ask()).await.is_ok());
    for name in ["mixed.example", "turned.example"] {
        let refused = fetcher.get(&front.named("http", name, "/"), ask()).await;
        assert_eq!(refused.unwrap_err(), FetchError::NotPublic, "{name}");
    }
    assert_eq!(front.heads().len(), 1);
    assert_eq!(victim.visitors().await, 0);
}

#[tokio::test]
async fn what_is_sent_is_guarded_like_what_is_fetched() {
    let victim = Victim::everywhere().await;
    let fetcher = strict(&Names::of(&[("loopback.example", &[&["127.0.0.1"]])]));
    for place in [
        "127.0.0.1",
        "0x7f.1",
        "[::1]",
        "loopback.example",
        "localhost",
    ] {
        let url = format!("http://{place}:{}/hook", victim.port());
        let headers = http::HeaderMap::new();
        let sent = fetcher.post(&url, &headers, "{}".into(), ask()).await;
        assert_eq!(sent.unwrap_err(), FetchError::NotPublic, "{place}");
    }
    assert_eq!(victim.visitors().await, 0);
}

#[tokio::test]
async fn a_check_without_a_fetch_judges_alike_and_connects_to_nothing() {
    let victim = Victim::everywhere().await;
    let names = Names::of(&[
        ("loopback.example", &[&["127.0.0.1"]]),
        ("mixed.example", &[&[PUBLIC, "10.0.0.1"]]),
    ]);
    let fetcher = strict(&names);
    let within = std::time::Duration::from_secs(20);
    for place in [
        "127.0.0.1",
        "0x7f.1",
        "[::1]",
        "loopback.example",
        "mixed.example",
        "no.example",
    ] {
        let url = format!("http://{place}:{}/hook", victim.port());
        let judged = fetcher.judge(&url, within).await;
        assert_eq!(judged.unwrap_err(), FetchError::NotPublic, "{place}");
    }
    let front = Front::start(&[("/", ok("file"))]).await;
    let open = crate::safe_fetch::fake_network::fetcher(&names);
    assert_eq!(open.judge(&front.at("/"), within).await, Ok(()));
    assert!(front.heads().is_empty());
    assert_eq!(victim.visitors().await, 0);
}

#[test]
fn a_url_of_ours_is_public_if_its_host_is_a_full_name_or_a_public_address() {
    for public in [
        "https://api.example.com",
        "http://api.example.com:8443",
        "http://8.8.8.8:8080",
    ] {
        assert!(is_public_url(public), "{public}");
    }
    for other in [
        "http://127.0.0.1:8080",
        "http://localhost:8080",
        "http://gateway:8080",
        "http://api.internal",
        "http://10.0.0.5",
        "http://[::1]:8080",
        "",
    ] {
        assert!(!is_public_url(other), "{other}");
    }
}
