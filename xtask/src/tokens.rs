//! What both chores ask of Rust source without compiling it: function headers and literals, with their places.
//!
//! Tokens instead of a syntax tree, because tests also live inside macros (`proptest!`) that no tree shows.

use std::str::FromStr as _;

use proc_macro2::{Delimiter, Group, LexError, LineColumn, TokenStream, TokenTree};

/// Attributes whose last word makes a function a test.
pub(crate) const TEST_ATTRIBUTES: [&str; 3] = ["test", "rstest", "test_case"];

/// Words that may stand between the attributes of a function and its `fn`.
const QUALIFIERS: [&str; 5] = ["pub", "const", "async", "unsafe", "extern"];

/// The tokens of one file, reduced to what the chores look at.
#[derive(Default)]
pub(crate) struct RustTokens {
    headers: Vec<FnHeader>,
    literals: Vec<Literal>,
    names: Vec<Name>,
    starts: Vec<LineColumn>,
}

/// A function from its first attribute to its name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct FnHeader {
    pub(crate) name: String,
    pub(crate) is_test: bool,
    pub(crate) is_ignored: bool,
    first: LineColumn,
    last: LineColumn,
}

/// A literal as written in the source, quotes included; doc comments are not among them.
pub(crate) struct Literal {
    pub(crate) line: usize,
    pub(crate) text: String,
    start: LineColumn,
    end: LineColumn,
}

/// An identifier or a keyword.
pub(crate) struct Name {
    pub(crate) line: usize,
    pub(crate) text: String,
}

/// Attributes and qualifiers read so far, in case a `fn` follows.
struct OpenHeader {
    first: LineColumn,
    is_test: bool,
    is_ignored: bool,
}

// === impl RustTokens ===

impl RustTokens {
    pub(crate) fn read(source: &str) -> Result<Self, LexError> {
        let mut tokens = Self::default();
        tokens.walk(TokenStream::from_str(source)?, false);
        Ok(tokens)
    }

    pub(crate) fn literals(&self) -> &[Literal] {
        &self.literals
    }

    pub(crate) fn names(&self) -> &[Name] {
        &self.names
    }

    pub(crate) fn is_inside_literal(&self, at: LineColumn) -> bool {
        self.literals
            .iter()
            .any(|literal| literal.start <= at && at < literal.end)
    }

    /// The function whose header holds the first token below `line`: nothing else may stand between.
    pub(crate) fn header_below(&self, line: usize) -> Option<&FnHeader> {
        let next = self.starts.iter().find(|start| start.line > line)?;
        self.headers
            .iter()
            .find(|header| header.first <= *next && *next <= header.last)
    }

    fn walk(&mut self, stream: TokenStream, inside_proptest: bool) {
        let mut open: Option<OpenHeader> = None;
        let mut trees = stream.into_iter().peekable();
        let mut names_proptest = false;
        while let Some(tree) = trees.next() {
            let start = tree.span().start();
            self.starts.push(start);
            if let TokenTree::Ident(word) = &tree {
                self.names.push(Name {
                    line: start.line,
                    text: word.to_string(),
                });
            }
            match tree {
                TokenTree::Punct(mark) if mark.as_char() == '#' => {
                    if let Some(TokenTree::Group(attribute)) = trees.peek() {
                        let header = open.get_or_insert_with(|| OpenHeader::at(start));
                        header.note_attribute(attribute);
                    } else {
                        open = None;
                    }
                }
                TokenTree::Punct(mark) => {
                    names_proptest &= mark.as_char() == '!';
                    open = None;
                }
                TokenTree::Ident(word) if word == "fn" => {
                    let header = open.take().unwrap_or_else(|| OpenHeader::at(start));
                    if let Some(TokenTree::Ident(name)) = trees.peek() {
                        let last = name.span().start();
                        let name = name.to_string();
                        self.headers.push(header.close(name, last, inside_proptest));
                    }
                }
                TokenTree::Ident(word) => {
                    names_proptest = word == "proptest";
                    if QUALIFIERS.iter().any(|qualifier| word == qualifier) {
                        open.get_or_insert_with(|| OpenHeader::at(start));
                    } else {
                        open = None;
                    }
                }
                TokenTree::Group(group) => {
                    // `#[…]` and the `(crate)` of `pub(crate)` stay part of a header; a body ends it.
                    if group.delimiter() == Delimiter::Brace {
                        open = None;
                    }
                    self.walk_group(&group, names_proptest);
                    names_proptest = false;
                }
                TokenTree::Literal(literal) => {
                    let span = literal.span();
                    self.literals.push(Literal {
                        line: start.line,
                        text: literal.to_string(),
                        start,
                        end: span.end(),
                    });
                }
            }
        }
    }

    fn walk_group(&mut self, group: &Group, is_proptest: bool) {
        if !is_doc_comment(group) {
            self.walk(group.stream(), is_proptest);
        }
        self.starts.push(group.span_close().start());
    }
}

// === impl OpenHeader ===

impl OpenHeader {
    fn at(first: LineColumn) -> Self {
        Self {
            first,
            is_test: false,
            is_ignored: false,
        }
    }

    fn note_attribute(&mut self, attribute: &Group) {
        let mut last_word = String::new();
        for tree in attribute.stream() {
            match tree {
                TokenTree::Ident(word) => last_word = word.to_string(),
                TokenTree::Punct(mark) if mark.as_char() == ':' => {}
                TokenTree::Punct(_) | TokenTree::Group(_) | TokenTree::Literal(_) => break,
            }
        }
        self.is_test |= TEST_ATTRIBUTES.contains(&last_word.as_str());
        self.is_ignored |= last_word == "ignore";
    }

    fn close(self, name: String, last: LineColumn, inside_proptest: bool) -> FnHeader {
        FnHeader {
            name,
            is_test: self.is_test || inside_proptest,
            is_ignored: self.is_ignored,
            first: self.first,
            last,
        }
    }
}

/// A doc comment reaches us as `[doc = "…"]`; its text is prose and no literal of the program.
fn is_doc_comment(group: &Group) -> bool {
    let mut trees = group.stream().into_iter();
    let names_doc = matches!(trees.next(), Some(TokenTree::Ident(word)) if word == "doc");
    let assigns = matches!(trees.next(), Some(TokenTree::Punct(mark)) if mark.as_char() == '=');
    group.delimiter() == Delimiter::Bracket && names_doc && assigns
}

#[cfg(test)]
mod tests {
    use super::*;

    const SOURCE: &str = r#"//! Top.
fn plain() { let text = "fn not_a_function() // no"; }
/// Prose.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "slow"]
pub(crate) async fn awaited() {}
proptest! {
    #![proptest_config(config())]
    #[test]
    fn drawn(x: u8) {}
    fn bare(x: u8) {}
}
type Callback = fn(u8) -> u8;
"#;

    #[test]
    fn tests_are_told_from_other_functions_also_inside_macros() {
        let tokens = RustTokens::read(SOURCE).unwrap();
        let seen: Vec<_> = tokens
            .headers
            .iter()
            .map(|header| (header.name.as_str(), header.is_test, header.is_ignored))
            .collect();
        assert_eq!(
            seen,
            [
                ("plain", false, false),
                ("awaited", true, true),
                ("drawn", true, false),
                ("bare", true, false)
            ]
        );
    }

    #[test]
    fn the_header_below_a_line_begins_with_its_attributes() {
        let tokens = RustTokens::read(SOURCE).unwrap();
        let below = |line| tokens.header_below(line).map(|header| header.name.as_str());
        assert_eq!(below(1), Some("plain"));
        assert_eq!(below(2), Some("awaited"));
        assert_eq!(below(5), Some("awaited"));
        assert_eq!(below(8), Some("drawn"));
        assert_eq!(below(6), None, "a macro call stands between");
        assert_eq!(below(12), None, "a type is no function");
    }

    #[test]
    fn literals_know_where_they_are_and_doc_comments_are_none() {
        let tokens = RustTokens::read(SOURCE).unwrap();
        let at = |line, column| tokens.is_inside_literal(LineColumn { line, column });
        assert!(at(2, 40));
        assert!(!at(2, 5));
        assert!(!at(1, 3) && !at(3, 4));
    }
}
