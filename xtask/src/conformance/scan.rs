//! Finds the comments that say which requirements a test covers, and the test each belongs to.
//!
//! In Rust the comment stands right above the test, or between its attributes; elsewhere the file is the test.

use proc_macro2::LineColumn;

use crate::files::{SourceFile, Tree};
use crate::finding::Finding;
use crate::tokens::RustTokens;

const MARKER: &str = "covers:";

/// Other languages whose tests may cover something.
const OTHER_LANGUAGES: [&str; 5] = ["ts", "tsx", "js", "py", "sh"];

/// One id named by one test.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Cover {
    pub(crate) id: String,
    pub(crate) path: String,
    pub(crate) line: usize,
    /// The function in Rust; elsewhere the file itself.
    pub(crate) test: Option<String>,
    /// Not run unless asked for.
    pub(crate) is_ignored: bool,
}

/// A list of ids in a comment, and the last line it stands on.
struct Claim {
    line: usize,
    last_line: usize,
    ids: Vec<String>,
}

/// Every cover of the tree, and the comments that cover nothing.
pub(crate) fn scan(tree: &Tree) -> (Vec<Cover>, Vec<Finding>) {
    let mut covers = Vec::new();
    let mut findings = Vec::new();
    for file in &tree.files {
        // The marker is rare, so most files need no closer look.
        if !file.text.contains(MARKER) {
            continue;
        }
        if file.has_extension("rs") {
            scan_rust(file, &mut covers, &mut findings);
        } else if OTHER_LANGUAGES
            .iter()
            .any(|extension| file.has_extension(extension))
        {
            scan_other(file, &mut covers, &mut findings);
        }
    }
    (covers, findings)
}

fn scan_rust(file: &SourceFile, covers: &mut Vec<Cover>, findings: &mut Vec<Finding>) {
    let tokens = match RustTokens::read(&file.text) {
        Ok(tokens) => tokens,
        Err(error) => {
            let line = error.span().start().line;
            let what = format!("does not lex, so its tests cannot be found: {error}");
            findings.push(Finding::new(&file.path, line, what));
            return;
        }
    };
    let is_comment = |line: usize, text: &str| {
        let column = text.chars().count();
        !tokens.is_inside_literal(LineColumn { line, column })
    };
    for claim in claims(&file.text, &["//", "/*"], is_comment) {
        let test = tokens
            .header_below(claim.last_line)
            .filter(|header| header.is_test);
        let Some(test) = test else {
            findings.push(Finding::new(
                &file.path,
                claim.line,
                format!("`{MARKER}` belongs to no test; put it right above a test's attributes"),
            ));
            continue;
        };
        covers.extend(claim.ids.into_iter().map(|id| Cover {
            id,
            path: file.path.clone(),
            line: claim.line,
            test: Some(test.name.clone()),
            is_ignored: test.is_ignored,
        }));
    }
}

fn scan_other(file: &SourceFile, covers: &mut Vec<Cover>, findings: &mut Vec<Finding>) {
    for claim in claims(&file.text, &["//", "/*", "#"], |_, _| true) {
        if !is_test_file(file) {
            findings.push(Finding::new(
                &file.path,
                claim.line,
                format!("`{MARKER}` belongs to no test; move it into a test file"),
            ));
            continue;
        }
        covers.extend(claim.ids.into_iter().map(|id| Cover {
            id,
            path: file.path.clone(),
            line: claim.line,
            test: None,
            is_ignored: false,
        }));
    }
}

/// `x.test.ts`, `x.spec.ts`, `test_x.py`, `x_test.sh`, or anything below a folder of tests.
fn is_test_file(file: &SourceFile) -> bool {
    let name = file.name();
    let stem = name.rsplit_once('.').map_or(name, |(stem, _)| stem);
    let in_test_folder = file
        .path
        .split('/')
        .any(|folder| matches!(folder, "tests" | "test" | "e2e" | "__tests__"));
    in_test_folder
        || stem.starts_with("test_")
        || stem.ends_with("_test")
        || stem.ends_with(".test")
        || stem.ends_with(".spec")
}

/// Comments that begin with the marker; `is_comment` is told the line and the text left of the opener.
fn claims(source: &str, openers: &[&str], is_comment: impl Fn(usize, &str) -> bool) -> Vec<Claim> {
    let mut claims = Vec::new();
    let mut lines = (1_usize..).zip(source.lines()).peekable();
    while let Some((line, text)) = lines.next() {
        let Some((before, list)) = openers
            .iter()
            .find_map(|opener| list_behind_opener(text, opener))
        else {
            continue;
        };
        if !is_comment(line, before) {
            continue;
        }
        let mut list = list.trim_end().trim_end_matches("*/").trim().to_owned();
        let mut last_line = line;
        // A list that ends in a comma goes on in the comment below.
        while list.ends_with(',') {
            let more = lines
                .next_if(|(_, next)| openers.iter().any(|opener| next.trim().starts_with(opener)));
            let Some((next_line, next)) = more else { break };
            list.push_str(next.trim().trim_start_matches(['/', '#', ' ', '*']));
            last_line = next_line;
        }
        claims.push(Claim {
            line,
            last_line,
            ids: list.split(',').map(|id| id.trim().to_owned()).collect(),
        });
    }
    claims
}

/// What follows the marker in a comment that begins with it, and what stands left of the comment.
fn list_behind_opener<'a>(text: &'a str, opener: &str) -> Option<(&'a str, &'a str)> {
    text.match_indices(opener).find_map(|(index, _)| {
        let (before, comment) = text.split_at(index);
        let words = comment.trim_start_matches(['/', '#', '!', '*']);
        let list = words.trim_start().strip_prefix(MARKER)?;
        Some((before, list))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scanned(path: &str, text: &str) -> (Vec<(String, String)>, Vec<String>) {
        let tree = Tree {
            root: std::path::PathBuf::new(),
            files: vec![SourceFile {
                path: path.to_owned(),
                text: text.to_owned(),
            }],
            too_large: Vec::new(),
        };
        let (covers, findings) = scan(&tree);
        let pairs = covers
            .into_iter()
            .map(|cover| (cover.id, cover.test.unwrap_or(cover.path)))
            .collect();
        (pairs, findings.iter().map(ToString::to_string).collect())
    }

    fn pairs(expected: &[(&str, &str)]) -> Vec<(String, String)> {
        let owned = expected
            .iter()
            .map(|(id, test)| ((*id).to_owned(), (*test).to_owned()));
        owned.collect()
    }

    #[test]
    fn a_comment_belongs_to_the_test_below_it() {
        let source = "
// covers: D-2-01, D-2-02
#[test]
fn first() {}

/// Prose.
// covers: D-2-03,
//   D-2-04
// more prose
#[tokio::test(flavor = \"multi_thread\")]
async fn second() {}

#[test]
// covers: D-2-05
fn third() {}

proptest! {
    // covers: D-2-06
    fn fourth(x: u8) {}
}
";
        let (covers, findings) = scanned("src/a.rs", source);
        assert_eq!(findings, Vec::<String>::new());
        assert_eq!(
            covers,
            pairs(&[
                ("D-2-01", "first"),
                ("D-2-02", "first"),
                ("D-2-03", "second"),
                ("D-2-04", "second"),
                ("D-2-05", "third"),
                ("D-2-06", "fourth")
            ])
        );
    }

    #[test]
    fn a_comment_above_anything_else_is_a_finding() {
        for source in [
            "// covers: D-2-01\nfn helper() {}\n",
            "// covers: D-2-01\nconst X: u8 = 1;\n#[test]\nfn after() {}\n",
            "#[test]\nfn body() {\n    // covers: D-2-01\n    let x = 1;\n}\n",
            "#[test]\nfn last() {}\n// covers: D-2-01\n",
            "/* covers: D-2-01 */\nmod tests {}\n",
            "let x = 1; // covers: D-2-01\nlet y = 1;\n",
        ] {
            let (covers, findings) = scanned("src/a.rs", source);
            assert!(covers.is_empty(), "{source}");
            assert!(findings[0].contains("belongs to no test"), "{source}");
        }
    }

    #[test]
    fn text_in_a_literal_or_in_the_middle_of_prose_is_no_comment() {
        let source = "fn f() {\n    let a = \"// covers: X-1\";\n    let b = \"\n// covers: X-2\n\";\n    // what this covers: nothing\n}\n";
        let (covers, findings) = scanned("src/a.rs", source);
        assert!(covers.is_empty() && findings.is_empty(), "{findings:?}");
    }

    #[test]
    fn elsewhere_the_file_is_the_test() {
        let (covers, findings) = scanned("web/src/login.test.ts", "// covers: D-2-01\nit();\n");
        assert_eq!(covers, pairs(&[("D-2-01", "web/src/login.test.ts")]));
        assert!(findings.is_empty());
        let (covers, _) = scanned("tests/run.sh", "# covers: D-2-02\n");
        assert_eq!(covers, pairs(&[("D-2-02", "tests/run.sh")]));
        let (covers, findings) = scanned("web/src/login.ts", "// covers: D-2-01\n");
        assert!(covers.is_empty() && findings[0].contains("belongs to no test"));
    }
}
