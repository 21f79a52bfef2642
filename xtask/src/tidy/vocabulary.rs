//! Words that the repository does not use: one thing has one word, the one that an engineer of this field would
//! search for. Reads names in code, comments, strings, documents, pages and paths of files.

use std::collections::{BTreeMap, BTreeSet};

use crate::files::{SourceFile, Tree};
use crate::finding::Finding;
use crate::tidy::POLICY_FILE;
use crate::tidy::path_pattern;
use crate::tidy::policy::{Banned, LookFor, Vocabulary};
use crate::tokens::RustTokens;

/// Longer lines are data: a picture, a minified file, a recorded answer.
const MAX_LINE_BYTES: usize = 2_000;

/// One use of a banned word.
struct Place<'a> {
    rule: &'a Banned,
    word: String,
    path: &'a str,
    line: usize,
}

/// Every use as a finding, as far as the policy enforces the list.
pub(crate) fn check(tree: &Tree, vocabulary: &Vocabulary) -> Vec<Finding> {
    places(tree, vocabulary)
        .iter()
        .filter(|place| vocabulary.enforce || place.rule.enforce)
        .map(|place| Finding::new(place.path, place.line, place.sentence()))
        .collect()
}

/// How often each word stands in each part of the repository, and every place if that is asked for.
pub(crate) fn report(tree: &Tree, vocabulary: &Vocabulary, lists_places: bool) -> String {
    let places = places(tree, vocabulary);
    let mut by_word: BTreeMap<&str, BTreeMap<String, usize>> = BTreeMap::new();
    let mut by_part: BTreeMap<String, usize> = BTreeMap::new();
    for place in &places {
        let part = part_of(place.path);
        *by_part.entry(part.clone()).or_default() += 1;
        let parts = by_word.entry(&place.word).or_default();
        *parts.entry(part).or_default() += 1;
    }
    let mut out = String::new();
    if lists_places {
        for place in &places {
            out.push_str(&format!(
                "{}:{}: {}\n",
                place.path,
                place.line,
                place.sentence()
            ));
        }
    }
    for (word, parts) in &by_word {
        let sum: usize = parts.values().sum();
        out.push_str(&format!("{word:12} {sum:6}  {}\n", counts(parts)));
    }
    out.push_str(&format!(
        "{:12} {:6}  {}\n",
        "all",
        places.len(),
        counts(&by_part)
    ));
    out
}

fn counts(parts: &BTreeMap<String, usize>) -> String {
    let counts: Vec<_> = parts
        .iter()
        .map(|(part, count)| format!("{part} {count}"))
        .collect();
    counts.join(", ")
}

/// A crate, its tests apart, or the outermost folder.
fn part_of(path: &str) -> String {
    let segments: Vec<_> = path.split('/').collect();
    match segments.as_slice() {
        ["crates", noun, "tests", ..] => format!("{noun}/tests"),
        ["crates", noun, ..] => (*noun).to_owned(),
        [folder, _, ..] => (*folder).to_owned(),
        _ => "root".to_owned(),
    }
}

fn places<'a>(tree: &'a Tree, vocabulary: &'a Vocabulary) -> Vec<Place<'a>> {
    let mut places = Vec::new();
    for file in &tree.files {
        // The policy has to write down what it bans.
        if file.path == POLICY_FILE || fits_any(&vocabulary.except, &file.path) {
            continue;
        }
        let rules: Vec<_> = vocabulary
            .banned
            .iter()
            .filter(|rule| !fits_any(&rule.except, &file.path))
            .collect();
        places.extend(in_file(file, &rules));
    }
    places
}

fn in_file<'a>(file: &'a SourceFile, rules: &[&'a Banned]) -> Vec<Place<'a>> {
    let mut places = Vec::new();
    let mut seen = BTreeSet::new();
    let mut note = |rule: &'a Banned, word: String, line: usize| {
        if seen.insert((line, word.clone())) {
            places.push(Place {
                rule,
                word,
                path: &file.path,
                line,
            });
        }
    };
    for segment in file.path.split('/') {
        let stem = segment.split('.').next().unwrap_or(segment);
        for rule in rules {
            for word in rule.found_in_name(stem) {
                note(rule, word, 1);
            }
        }
    }
    for (index, line) in file.text.lines().enumerate() {
        if line.len() > MAX_LINE_BYTES {
            continue;
        }
        for rule in rules.iter().filter(|rule| rule.look_for == LookFor::Word) {
            for word in rule.found_in_line(line) {
                note(rule, word, index + 1);
            }
        }
    }
    // What does not parse is a finding of another rule.
    if file.has_extension("rs")
        && let Ok(tokens) = RustTokens::read(&file.text)
    {
        for name in tokens.names() {
            for rule in rules.iter().filter(|rule| rule.look_for != LookFor::Word) {
                for word in rule.found_in_name(&name.text) {
                    note(rule, word, name.line);
                }
            }
        }
    }
    places
}

fn fits_any(patterns: &[String], path: &str) -> bool {
    patterns
        .iter()
        .any(|pattern| path_pattern::fits(pattern, path))
}

// === impl Place ===

impl Place<'_> {
    fn sentence(&self) -> String {
        format!("`{}` is not our word; say {}", self.word, self.rule.say)
    }
}

// === impl Banned ===

impl Banned {
    /// The banned words of one name: as a whole, or among the words that it is made of.
    fn found_in_name(&self, name: &str) -> Vec<String> {
        if self.phrases.iter().any(|phrase| phrase == name) {
            return Vec::new();
        }
        let words = match self.look_for {
            LookFor::Name => vec![name.to_lowercase()],
            LookFor::NamePart | LookFor::Word => words_of(name),
        };
        self.among(words)
    }

    /// The banned words of a line of text, outside of the phrases that are allowed.
    fn found_in_line(&self, line: &str) -> Vec<String> {
        let has_one = |text: &str| self.words.iter().any(|word| text.contains(word.as_str()));
        let mut text = line.to_lowercase();
        if !has_one(&text) {
            return Vec::new();
        }
        // Case tells the words of a name apart, so the line is read as it is written.
        if self.phrases.iter().any(|phrase| text.contains(phrase)) {
            for phrase in &self.phrases {
                text = text.replace(phrase.as_str(), " ");
            }
            return self.among(words_of(&text));
        }
        self.among(words_of(line))
    }

    fn among(&self, words: Vec<String>) -> Vec<String> {
        words
            .into_iter()
            .filter(|word| self.words.contains(word))
            .collect()
    }
}

/// Splits names on case, underscores and everything that is no letter: `HouseOf_all` is house, of, all.
fn words_of(text: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut word = String::new();
    let mut chars = text.chars().peekable();
    let mut before = ' ';
    while let Some(character) = chars.next() {
        if !character.is_ascii_alphabetic() {
            words.extend((!word.is_empty()).then(|| std::mem::take(&mut word)));
            before = character;
            continue;
        }
        let next_is_lower = chars.peek().is_some_and(char::is_ascii_lowercase);
        let begins =
            character.is_ascii_uppercase() && (before.is_ascii_lowercase() || next_is_lower);
        if begins && !word.is_empty() {
            words.push(std::mem::take(&mut word));
        }
        word.push(character.to_ascii_lowercase());
        before = character;
    }
    words.extend((!word.is_empty()).then_some(word));
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rule(look_for: LookFor) -> Banned {
        Banned {
            words: vec!["house".to_owned(), "told".to_owned()],
            say: "harness".to_owned(),
            look_for,
            enforce: false,
            except: Vec::new(),
            phrases: vec!["in-house".to_owned(), "house_id".to_owned()],
        }
    }

    #[test]
    fn names_are_split_on_case_and_underscores() {
        let split = |text| words_of(text).join(" ");
        assert_eq!(split("HouseOf_all"), "house of all");
        assert_eq!(split("HTTPHouse2 HOUSE"), "http house house");
        assert_eq!(split("houses, household"), "houses household");
    }

    #[test]
    fn a_phrase_is_allowed_and_the_word_beside_it_is_not() {
        let word = rule(LookFor::Word);
        assert!(word.found_in_line("an in-house tool").is_empty());
        assert_eq!(word.found_in_line("an In-House house").len(), 1);
        assert_eq!(word.found_in_line("fn open_house()").len(), 1);
        assert!(word.found_in_line("a household").is_empty());
    }

    #[test]
    fn a_name_is_banned_whole_or_in_parts() {
        let (whole, part) = (rule(LookFor::Name), rule(LookFor::NamePart));
        assert_eq!(whole.found_in_name("Told").len(), 1);
        assert!(whole.found_in_name("what_was_told").is_empty());
        assert_eq!(part.found_in_name("what_was_told").len(), 1);
        assert!(part.found_in_name("house_id").is_empty());
    }
}
