//! What an answer says. A model whose name ends with `-prose` answers in sentences, for people who look
//! at it; every other model answers in numbered words, which a test can check for order and loss. Either
//! way a word is a token.

use std::sync::LazyLock;

use crate::tokens::count;

/// How the names end of models that answer in sentences.
const PROSE: &str = "-prose";
/// Fewest words of an answer that the prompt does not size.
const MIN_WORDS: u64 = 5;
/// Told from the start again where an answer is longer. No word holds a character that JSON escapes.
const TEXT: &str = "Hello! This answer comes from the simulator that ships with Trunkline, so no vendor was \
    called and no vendor will send a bill. Everything around it is real: the price you saw before the call, \
    the hold on your balance, the tokens that were counted and the charge at the end. Try a longer prompt \
    and the answer grows with it. Ask for a stream and the words arrive one by one. Stop reading halfway and \
    you pay for what was delivered, nothing more. When you are ready for a real model, add a channel with \
    your own key, or start this server with a vendor key in the environment. The address stays the same, \
    your code stays the same, and each receipt still shows which fields were read, which price applied and \
    what the call cost.";

static WORDS: LazyLock<Vec<&'static str>> = LazyLock::new(|| TEXT.split_whitespace().collect());

fn is_prose(model: &str) -> bool {
    model.ends_with(PROSE)
}

fn prose(index: u64) -> &'static str {
    let at = index.checked_rem(count(WORDS.len())).unwrap_or_default();
    let at = usize::try_from(at).unwrap_or_default();
    WORDS.get(at).copied().unwrap_or_default()
}

/// The word at a place of an answer, with the space behind it. With accents some characters have two bytes,
/// so that a cut can fall inside one.
pub(crate) fn word(model: &str, index: u64, accents: bool) -> String {
    let number = index.saturating_add(1);
    match (is_prose(model), accents) {
        (true, true) => format!("{}\u{ef} ", prose(index)),
        (true, false) => format!("{} ", prose(index)),
        (false, true) => format!("s\u{ef}m{number} "),
        (false, false) => format!("sim{number} "),
    }
}

/// How many words an answer has to a prompt of so many: as many, and sentences end.
pub(crate) fn length(model: &str, prompt_words: u64) -> u64 {
    let least = prompt_words.max(MIN_WORDS);
    if !is_prose(model) {
        return least;
    }
    let ends = |length: &u64| prose(length.saturating_sub(1)).ends_with('.');
    let most = least.saturating_add(count(WORDS.len()));
    (least..=most).find(ends).unwrap_or(least)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words_of(model: &str, words: u64) -> String {
        let words = (0..words).map(|index| word(model, index, false));
        words.collect::<String>().trim_end().to_owned()
    }

    #[test]
    fn a_prose_model_answers_in_whole_sentences() {
        let short = words_of("sim-prose", length("sim-prose", 1));
        assert_eq!(
            short,
            "Hello! This answer comes from the simulator that ships with Trunkline, so no vendor was called \
             and no vendor will send a bill."
        );
        let long = words_of("sim-prose", length("sim-prose", 1_000));
        assert!(long.ends_with('.') && long.matches("Hello!").count() > 5);
        assert!(!TEXT.contains(['"', '\\']) && TEXT.is_ascii());
    }

    #[test]
    fn every_other_model_answers_in_numbered_words() {
        assert_eq!(
            words_of("sim-fast", length("sim-fast", 1)),
            "sim1 sim2 sim3 sim4 sim5"
        );
        assert_eq!(length("sim-fast", 9), 9);
        assert_eq!(word("sim-fast", 0, true), "s\u{ef}m1 ");
    }
}
