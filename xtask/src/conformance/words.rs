//! The project's own words for requirement ids, and the guard that they are its own.

use std::collections::{BTreeMap, BTreeSet};

use crate::conformance::WORDS_FILE;
use crate::conformance::spec::{Ids, Spec};
use crate::files::Tree;
use crate::finding::Finding;

/// Longer explanations belong into the test or an ADR.
const MAX_WORDS: usize = 16;

/// This many words in a row shared with the requirement are a copy and no coincidence.
const COPIED_RUN: usize = 6;

/// Own words by id.
pub(crate) type Words = BTreeMap<String, String>;

/// Reads the words; whatever is wrong with a line becomes a finding.
pub(crate) fn read(
    tree: &Tree,
    ids: &Ids,
    spec: Option<&Spec>,
    findings: &mut Vec<Finding>,
) -> Words {
    let mut words = Words::new();
    let text = tree.file(WORDS_FILE).map_or("", |file| file.text.as_str());
    for (index, line) in text.lines().enumerate().skip(1) {
        let (id, phrase) = line.split_once('\t').unwrap_or((line, ""));
        let sentence = spec.and_then(|spec| spec.sentences.get(id));
        let fault = if !ids.contains(id) {
            Some(format!("`{id}` is no requirement id; remove the line"))
        } else if words.contains_key(id) {
            Some(format!("{id} stands twice; keep one line"))
        } else {
            phrase_fault(phrase, sentence.map(String::as_str))
                .map(|fault| format!("words of {id}: {fault}"))
        };
        findings.extend(fault.map(|fault| Finding::new(WORDS_FILE, index + 1, fault)));
        words.insert(id.to_owned(), phrase.to_owned());
    }
    words
}

fn phrase_fault(phrase: &str, sentence: Option<&str>) -> Option<String> {
    let count = phrase.split_whitespace().count();
    if count == 0 {
        Some("none; write a few after a tab".to_owned())
    } else if phrase.contains('\t') {
        Some("a tab inside; the file has two columns".to_owned())
    } else if count > MAX_WORDS {
        Some(format!("{count}, {MAX_WORDS} allowed; say it shorter"))
    } else {
        let copied = copied_run(phrase, sentence?)?;
        Some(format!(
            "\"{copied}\" is copied from the specification; say it in own words"
        ))
    }
}

fn copied_run(phrase: &str, sentence: &str) -> Option<String> {
    let sentence = plain_words(sentence);
    let runs: BTreeSet<_> = sentence.windows(COPIED_RUN).collect();
    let phrase = plain_words(phrase);
    let copied = phrase.windows(COPIED_RUN).find(|run| runs.contains(run))?;
    Some(copied.join(" "))
}

fn plain_words(text: &str) -> Vec<String> {
    text.split(|character: char| !character.is_alphanumeric() && character != '_')
        .filter(|word| !word.is_empty())
        .map(str::to_lowercase)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const SENTENCE: &str = "A lamp left on over night is switched off by the porter.";

    #[test]
    fn own_words_pass_and_copied_ones_do_not() {
        assert_eq!(
            phrase_fault("porter ends night lamps", Some(SENTENCE)),
            None
        );
        let copied = phrase_fault("lamp left on over night, is off", Some(SENTENCE)).unwrap();
        assert!(
            copied.contains("\"lamp left on over night is\""),
            "{copied}"
        );
        assert_eq!(phrase_fault("lamp left on over night is", None), None);
    }

    #[test]
    fn words_are_few_and_never_none() {
        assert!(phrase_fault(" ", None).is_some());
        assert!(phrase_fault(&"word ".repeat(MAX_WORDS), None).is_none());
        assert!(phrase_fault(&"word ".repeat(MAX_WORDS + 1), None).is_some());
    }
}
