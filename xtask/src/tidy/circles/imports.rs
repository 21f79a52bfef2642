//! Which top-level modules of its crate a file names. Tokens instead of a syntax tree: code inside macros
//! imports too.

use std::collections::BTreeSet;
use std::str::FromStr as _;

use proc_macro2::{Delimiter, TokenStream, TokenTree};

/// Names that the root of a crate takes out of its modules, and the module of each. A root that does not
/// parse is a finding of another rule.
pub(super) fn aliases_of(source: &str) -> Vec<(String, String)> {
    let tokens: Vec<_> = tokens_of(source);
    let mut found = Vec::new();
    let mut rest = tokens.as_slice();
    while let [first, after @ ..] = rest {
        rest = after;
        if is_word(first, "use") {
            let end = rest.iter().position(|token| is_punct(token, ';'));
            let (tree, after) = rest.split_at(end.unwrap_or(rest.len()));
            rest = after;
            let mut paths = Vec::new();
            use_paths(tree, &[], &mut paths);
            found.extend(paths.into_iter().filter_map(|path| {
                let mut parts = path
                    .into_iter()
                    .filter(|part| part != "crate" && part != "self");
                let module = parts.next()?;
                Some((parts.next_back()?, module))
            }));
        }
    }
    found
}

/// First names of every path from the crate's root, of a module so many levels below it.
pub(super) fn imports_of(source: &str, depth: usize) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    walk(&tokens_of(source), depth, &mut found);
    found
}

fn tokens_of(source: &str) -> Vec<TokenTree> {
    TokenStream::from_str(source)
        .map(|tokens| tokens.into_iter().collect())
        .unwrap_or_default()
}

fn walk(tokens: &[TokenTree], depth: usize, found: &mut BTreeSet<String>) {
    let mut rest = tokens;
    while let [first, after @ ..] = rest {
        rest = after;
        if is_punct(first, '#') && after.first().is_some_and(is_cfg_test) {
            rest = after_item(after);
        } else if is_word(first, "mod")
            && let [TokenTree::Ident(_), TokenTree::Group(body), after @ ..] = after
        {
            let body: Vec<_> = body.stream().into_iter().collect();
            walk(&body, depth + 1, found);
            rest = after;
        } else if is_word(first, "crate") {
            take(after, found);
        } else if is_word(first, "super") {
            let (supers, after) = supers(after);
            if supers == depth {
                take(after, found);
            }
            rest = after;
        } else if let TokenTree::Group(group) = first {
            let inside: Vec<_> = group.stream().into_iter().collect();
            walk(&inside, depth, found);
        }
    }
}

/// How often `super` stands at the beginning of a path, the first one included, and what follows.
fn supers(mut rest: &[TokenTree]) -> (usize, &[TokenTree]) {
    let mut count = 1;
    while let [colon, second, word, after @ ..] = rest
        && is_punct(colon, ':')
        && is_punct(second, ':')
        && is_word(word, "super")
    {
        count += 1;
        rest = after;
    }
    (count, rest)
}

/// The names that follow `::`, one or a braced list.
fn take(rest: &[TokenTree], found: &mut BTreeSet<String>) {
    let [colon, second, next, ..] = rest else {
        return;
    };
    if !is_punct(colon, ':') || !is_punct(second, ':') {
        return;
    }
    let mut paths = Vec::new();
    match next {
        TokenTree::Ident(name) => {
            found.insert(name.to_string());
        }
        TokenTree::Group(group) if group.delimiter() == Delimiter::Brace => {
            use_paths(std::slice::from_ref(next), &[], &mut paths);
        }
        TokenTree::Group(_) | TokenTree::Punct(_) | TokenTree::Literal(_) => {}
    }
    found.extend(paths.into_iter().filter_map(|path| path.into_iter().next()));
}

/// Every path of a tree of imports; an alias is the last part.
fn use_paths(tokens: &[TokenTree], before: &[String], paths: &mut Vec<Vec<String>>) {
    let mut path = before.to_vec();
    for token in tokens {
        match token {
            TokenTree::Ident(name) if name != "as" && name != "pub" => path.push(name.to_string()),
            TokenTree::Group(group) if group.delimiter() == Delimiter::Brace => {
                let inside: Vec<_> = group.stream().into_iter().collect();
                for part in inside.split(|token| is_punct(token, ',')) {
                    if !part.is_empty() {
                        use_paths(part, &path, paths);
                    }
                }
                return;
            }
            TokenTree::Ident(_)
            | TokenTree::Group(_)
            | TokenTree::Punct(_)
            | TokenTree::Literal(_) => {}
        }
    }
    paths.push(path);
}

fn is_cfg_test(token: &TokenTree) -> bool {
    matches!(token, TokenTree::Group(group) if group.stream().to_string().replace(' ', "") == "cfg(test)")
}

/// What follows the next item: its body or its semicolon ends it.
fn after_item(tokens: &[TokenTree]) -> &[TokenTree] {
    let ends = |token: &TokenTree| {
        is_punct(token, ';')
            || matches!(token, TokenTree::Group(group) if group.delimiter() == Delimiter::Brace)
    };
    let end = tokens.iter().position(ends);
    end.and_then(|end| tokens.get(end + 1..))
        .unwrap_or_default()
}

fn is_word(token: &TokenTree, word: &str) -> bool {
    matches!(token, TokenTree::Ident(name) if name == word)
}

fn is_punct(token: &TokenTree, sign: char) -> bool {
    matches!(token, TokenTree::Punct(punct) if punct.as_char() == sign)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(source: &str, depth: usize) -> Vec<String> {
        imports_of(source, depth).into_iter().collect()
    }

    #[test]
    fn every_path_from_the_root_counts_wherever_it_stands() {
        let source = "use crate::a::{X, Y};\nuse crate::{b::Z, c};\npub(crate) fn f(it: crate::d::T) { \
                      log!(crate::e::word()) }\n";
        assert_eq!(names(source, 1), ["a", "b", "c", "d", "e"]);
    }

    #[test]
    fn super_counts_where_it_leaves_the_top_level_module() {
        assert_eq!(names("use super::a::X;", 1), ["a"]);
        assert!(names("use super::a::X;", 2).is_empty());
        assert_eq!(names("use super::super::{a::X, b};", 2), ["a", "b"]);
        assert!(names("mod inside { use super::a::X; }", 1).is_empty());
        assert_eq!(names("mod inside { use super::super::a::X; }", 1), ["a"]);
    }

    #[test]
    fn tests_import_what_they_like() {
        let source = "#[cfg(test)]\nmod tests { use crate::a::X; }\n#[cfg(test)]\nuse crate::b::Y;\n\
                      use crate::c::Z;\n";
        assert_eq!(names(source, 1), ["c"]);
    }

    #[test]
    fn what_the_root_re_exports_belongs_to_its_module() {
        let source = "mod a;\npub use a::{X, deep::Y};\npub use self::b::Z as W;\n";
        let found = aliases_of(source);
        let pair = |name: &str, module: &str| (name.to_owned(), module.to_owned());
        assert_eq!(found, [pair("X", "a"), pair("Y", "a"), pair("W", "b")]);
    }
}
