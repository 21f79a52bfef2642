//! Text that must not be committed (paths of one machine) and text that belongs to some modules only.

use crate::files::{SourceFile, Tree};
use crate::finding::Finding;
use crate::tidy::POLICY_FILE;
use crate::tidy::path_pattern;
use crate::tidy::policy::{Forbidden, LookIn, OnlyIn, Policy};
use crate::tokens::RustTokens;

pub(crate) fn check(tree: &Tree, policy: &Policy) -> Vec<Finding> {
    let mut findings = Vec::new();
    for file in &tree.files {
        for rule in &policy.forbidden {
            if !fits_any(&rule.except, &file.path) {
                findings.extend(forbidden_lines(file, rule));
            }
        }
        for rule in &policy.only_in {
            if !fits_any(&rule.paths, &file.path) {
                findings.extend(lines_out_of_place(file, rule));
            }
        }
    }
    findings
}

fn fits_any(patterns: &[String], path: &str) -> bool {
    patterns
        .iter()
        .any(|pattern| path_pattern::fits(pattern, path))
}

fn forbidden_lines(file: &SourceFile, rule: &Forbidden) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (index, line) in file.text.lines().enumerate() {
        if defines_a_pattern(file, line) || !holds_absolute_path(line, &rule.pattern) {
            continue;
        }
        findings.push(Finding::new(
            &file.path,
            index + 1,
            format!("`{}` must not be committed: {}", rule.pattern, rule.reason),
        ));
    }
    findings
}

/// The policy has to write down what it forbids.
fn defines_a_pattern(file: &SourceFile, line: &str) -> bool {
    file.path == POLICY_FILE && line.trim_start().starts_with("pattern =")
}

/// Whether the pattern begins an absolute path on this line; inside a longer path it is another folder.
fn holds_absolute_path(line: &str, pattern: &str) -> bool {
    line.char_indices().any(|(index, _)| {
        let (before, rest) = line.split_at(index);
        !before.ends_with(continues_path) && path_begins(rest, pattern)
    })
}

fn continues_path(character: char) -> bool {
    is_name_character(character) || matches!(character, '}' | ')' | ']' | '>' | '~' | '*')
}

fn is_name_character(character: char) -> bool {
    character.is_ascii_alphanumeric() || matches!(character, '_' | '.' | '-')
}

fn path_begins(rest: &str, pattern: &str) -> bool {
    let Some((literal, more)) = pattern.split_once('*') else {
        return rest.starts_with(pattern);
    };
    let Some(after) = rest.strip_prefix(literal) else {
        return false;
    };
    let beyond_name = after.trim_start_matches(is_name_character);
    beyond_name.len() < after.len() && path_begins(beyond_name, more)
}

fn lines_out_of_place(file: &SourceFile, rule: &OnlyIn) -> Vec<Finding> {
    let lines = match rule.look_in {
        LookIn::Text => matching_lines(&file.text, |line| line.contains(&rule.pattern)),
        LookIn::Sql if file.has_extension("sql") => {
            matching_lines(&file.text, |line| holds_name(line, &rule.pattern))
        }
        LookIn::Sql if file.has_extension("rs") => lines_in_strings(&file.text, &rule.pattern),
        LookIn::Sql => Vec::new(),
    };
    let homes = rule.paths.join(", ");
    lines
        .into_iter()
        .map(|line| {
            Finding::new(
                &file.path,
                line,
                format!(
                    "`{}` may stand only in {homes}: {}",
                    rule.pattern, rule.reason
                ),
            )
        })
        .collect()
}

fn matching_lines(text: &str, matches: impl Fn(&str) -> bool) -> Vec<usize> {
    text.lines()
        .enumerate()
        .filter(|(_, line)| matches(line))
        .map(|(index, _)| index + 1)
        .collect()
}

/// A file that does not lex is reported by the function rule.
fn lines_in_strings(source: &str, pattern: &str) -> Vec<usize> {
    if !source.contains(pattern) {
        return Vec::new();
    }
    let Ok(tokens) = RustTokens::read(source) else {
        return Vec::new();
    };
    let mut lines = Vec::new();
    for literal in tokens.literals() {
        for (index, line) in literal.text.lines().enumerate() {
            if holds_name(line, pattern) {
                lines.push(literal.line + index);
            }
        }
    }
    lines
}

/// Whether a name begins with the pattern: `ledger.` in `FROM ledger.hold`, not at the end of a sentence
/// and not in the path of a file, `/api/ledger.csv`.
fn holds_name(line: &str, pattern: &str) -> bool {
    let is_word = |character: char| character.is_ascii_alphanumeric() || character == '_';
    line.match_indices(pattern).any(|(index, found)| {
        let (before, rest) = line.split_at(index);
        let after = rest.strip_prefix(found).unwrap_or(rest);
        let begins = !before.ends_with(is_word) && !before.ends_with('/');
        begins && after.starts_with(|next| is_word(next) || next == '{')
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Written in two halves, so that this file does not hold what it looks for.
    const PLACE: &str = concat!("/wo", "rk/");

    #[test]
    fn an_absolute_path_is_told_from_a_folder_inside_a_longer_one() {
        let holds = |before: &str| holds_absolute_path(&format!("{before}{PLACE}main"), PLACE);
        assert!(holds("") && holds("cd ") && holds("\"") && holds("file://") && holds("DIR="));
        assert!(!holds("crates") && !holds("{dir}") && !holds("$HOME") && !holds(".."));
    }

    #[test]
    fn a_star_stands_for_one_name() {
        let pattern = "/home/*/";
        assert!(holds_absolute_path(concat!("see /ho", "me/ann/x"), pattern));
        assert!(!holds_absolute_path("see /home/*/x", pattern));
        assert!(!holds_absolute_path("see /home//x", pattern));
    }

    #[test]
    fn a_schema_is_looked_for_in_strings_and_not_in_code_or_prose() {
        let pattern = concat!("led", "ger.");
        let name = format!("{pattern}hold");
        let source = format!(
            "//! The {name} table.\nfn f(ledger: L) {{\n    {name}();\n    sql(\"SELECT 1\n    FROM {name}\");\n    say(\"ask the {pattern}\");\n    say(\"the old{name}\");\n    say(\"/api/{pattern}csv\");\n}}\n"
        );
        assert_eq!(lines_in_strings(&source, pattern), [5]);
    }
}
