//! Providers of OpenID Connect.

use super::{from_text, problem};

const GOOD: &str = "
    [[console.provider]]
    id = \"work\"
    name = \"Work\"
    issuer = \"https://id.example.com/\"
    client_id = \"trunkline\"
    client_secret = \"hunter2canary\"
    allowed_domains = [\"Example.COM\"]
";

#[test]
fn a_provider_is_whole_and_its_secret_is_never_repeated() {
    assert!(from_text("", &[]).unwrap().console.providers.is_empty());
    let config = from_text(GOOD, &[]).unwrap();
    assert!(!format!("{config:?}").contains("canary"));
    let provider = &config.console.providers[0];
    assert_eq!(provider.issuer, "https://id.example.com/");
    assert_eq!(provider.scopes, ["email", "profile"]);
    assert_eq!(provider.allowed_domains, ["example.com"]);
    assert!(!provider.makes_people);
    let local = GOOD.replace("https://id.example.com/", "http://127.0.0.1:9000");
    assert!(from_text(&local, &[]).is_ok());
    let file = GOOD.replace("client_secret =", "client_secret_file =");
    let message = problem(from_text(&file, &[]), "console.provider");
    assert!(message.contains("cannot read"), "{message}");
    for (from, to, says) in [
        ("\"work\"", "\"Work!\"", "needs an id"),
        ("\"Work\"", "\"\"", "needs a name"),
        ("https://id", "http://id", "over https"),
        ("https://id.example.com/", "id.example.com", "over https"),
        ("\"trunkline\"", "\"\"", "needs a client_id"),
        ("client_secret = \"hunter2canary\"", "", "needs one of"),
        ("\"hunter2canary\"", "\"\"", "empty"),
        (
            "client_secret =",
            "client_secret_variable = \"TL_NO_SUCH\"\nclient_secret =",
            "not two",
        ),
        (
            "client_secret = \"hunter2canary\"",
            "client_secret_variable = \"TL_NO_SUCH\"",
            "not set",
        ),
    ] {
        let message = problem(from_text(&GOOD.replace(from, to), &[]), "console.provider");
        assert!(
            message.contains(says) && !message.contains("canary"),
            "{message}"
        );
    }
    let twice = format!("{GOOD}{GOOD}");
    let message = problem(from_text(&twice, &[]), "console.provider");
    assert!(message.contains("id of another"), "{message}");
}
