//! Texts of upstreams, without what is ours: credentials, logins, and what names a vendor's account.

use trunkline_types::Secret;

const HIDDEN: &str = "[hidden]";
/// Fewer characters are no secret; removing them would only garble the text.
const LEAST_SECRET: usize = 4;
/// So many characters of a secret at the end of a text are the beginning of one that was cut.
const LEAST_BEGINNING: usize = 4;
/// How keys and account names of the vendors begin.
const MARKS: [&str; 6] = ["sk-", "sk_", "org-", "proj_", "acct_", "key-"];
const LEAST_MARKED: usize = 8;

/// Takes out every secret, whole or cut at the end, and every word that looks like one.
pub(crate) fn without_secrets(text: &str, secrets: &[Secret]) -> String {
    let mut text = text.to_owned();
    for secret in secrets.iter().map(Secret::reveal) {
        if secret.len() < LEAST_SECRET {
            continue;
        }
        if text.contains(secret) {
            text = text.replace(secret, HIDDEN);
        }
        if let Some(kept) = without_beginning(&text, secret) {
            text = format!("{kept}{HIDDEN}");
        }
    }
    let words: Vec<&str> = text
        .split(' ')
        .map(|word| if looks_secret(word) { HIDDEN } else { word })
        .collect();
    words.join(" ")
}

/// What stands before the beginning of a secret with which the text ends; none if it does not.
fn without_beginning<'a>(text: &'a str, secret: &str) -> Option<&'a str> {
    let lengths = (LEAST_BEGINNING..secret.len()).rev();
    lengths
        .filter_map(|length| secret.get(..length))
        .find_map(|beginning| text.strip_suffix(beginning))
}

fn looks_secret(word: &str) -> bool {
    let word = word.trim_start_matches(|c: char| !c.is_ascii_alphanumeric());
    MARKS.iter().any(|mark| word.starts_with(mark)) && word.len() > LEAST_MARKED
}

#[cfg(test)]
mod tests {
    use super::*;

    fn clean(text: &str) -> String {
        let secrets = ["canary-0123456789", "abc", "second-secret"];
        let secrets = secrets.map(|text| Secret::new(text.to_owned()));
        without_secrets(text, &secrets)
    }

    #[test]
    fn secrets_of_every_channel_are_taken_out_wherever_they_stand() {
        assert_eq!(
            clean("key \"canary-0123456789\" and second-secret, twice second-secret."),
            "key \"[hidden]\" and [hidden], twice [hidden]."
        );
        assert_eq!(clean("abc is no secret"), "abc is no secret");
        assert_eq!(
            clean("bad sk-proj-12345678 of org-12345678"),
            "bad [hidden] of [hidden]"
        );
        assert_eq!(clean("temperature is too high"), "temperature is too high");
    }

    #[test]
    fn a_secret_that_was_cut_at_the_end_is_taken_out_too() {
        assert_eq!(clean("your key is canary-01234"), "your key is [hidden]");
        assert_eq!(clean("your key is cana"), "your key is [hidden]");
        assert_eq!(clean("your key is can"), "your key is can");
    }
}
