//! A function fits a page; tests may be longer, because a scenario is read from top to bottom.

use syn::visit::{self, Visit};

use crate::files::Tree;
use crate::finding::{Finding, line_of};
use crate::tidy::POLICY_FILE;
use crate::tidy::policy::Policy;
use crate::tidy::sizes::Limit;
use crate::tokens::TEST_ATTRIBUTES;

const FUNCTION_LIMIT: Limit = Limit {
    lines: 70,
    slack: 5,
};

/// A function with a body, from its `fn` to its closing brace.
#[derive(Debug, PartialEq, Eq)]
struct Function {
    name: String,
    line: usize,
    lines: usize,
}

/// Collects functions in the order they are written; those inside a body count by themselves too.
#[derive(Default)]
struct Collector {
    functions: Vec<Function>,
    owner: Option<String>,
}

pub(crate) fn check(tree: &Tree, policy: &Policy, policy_text: &str) -> Vec<Finding> {
    let mut findings = Vec::new();
    let mut long_ones = Vec::new();
    for file in tree.rust_files() {
        match functions(&file.text) {
            Ok(functions) => long_ones.extend(
                functions
                    .into_iter()
                    .filter(|function| function.lines > FUNCTION_LIMIT.lines)
                    .map(|function| (file.path.as_str(), function)),
            ),
            Err(error) => findings.push(Finding::new(
                &file.path,
                error.span().start().line,
                format!("does not parse, so its functions go unmeasured: {error}"),
            )),
        }
    }
    for (path, function) in &long_ones {
        let most = policy
            .long_functions
            .iter()
            .find(|entry| entry.path == *path && entry.name == function.name)
            .map_or(FUNCTION_LIMIT.lines, |entry| entry.max);
        if function.lines > most {
            findings.push(Finding::new(
                path,
                function.line,
                format!(
                    "`{}` has {} lines, {most} allowed; take a step out and name it, \
                     or give a [[long_function]] with a reason in {POLICY_FILE}",
                    function.name, function.lines
                ),
            ));
        }
    }
    for entry in &policy.long_functions {
        // What is not among the long ones is gone or short: both end the entry.
        let actual = long_ones
            .iter()
            .filter(|(path, function)| *path == entry.path && function.name == entry.name)
            .map(|(_, function)| function.lines)
            .max();
        if let Some(fault) = FUNCTION_LIMIT.fault_of_allowance(actual, entry.max) {
            findings.push(Finding::new(
                POLICY_FILE,
                line_of(policy_text, &format!("\"{}\"", entry.name)),
                format!("allowance for `{}` in {}: {fault}", entry.name, entry.path),
            ));
        }
    }
    findings
}

fn functions(source: &str) -> syn::Result<Vec<Function>> {
    let file = syn::parse_file(source)?;
    let mut collector = Collector::default();
    collector.visit_file(&file);
    Ok(collector.functions)
}

fn is_test(attributes: &[syn::Attribute]) -> bool {
    attributes.iter().any(|attribute| {
        let last = attribute.path().segments.last();
        last.is_some_and(|segment| TEST_ATTRIBUTES.iter().any(|name| segment.ident == name))
    })
}

// === impl Collector ===

impl Collector {
    fn note(
        &mut self,
        attributes: &[syn::Attribute],
        signature: &syn::Signature,
        body: &syn::Block,
    ) {
        if is_test(attributes) {
            return;
        }
        let line = signature.fn_token.span.start().line;
        let end = body.brace_token.span.close().end().line;
        let name = match &self.owner {
            Some(owner) => format!("{owner}::{}", signature.ident),
            None => signature.ident.to_string(),
        };
        self.functions.push(Function {
            name,
            line,
            lines: end + 1 - line,
        });
    }

    fn inside(&mut self, owner: Option<String>, visit: impl FnOnce(&mut Self)) {
        let outer = std::mem::replace(&mut self.owner, owner);
        visit(self);
        self.owner = outer;
    }
}

impl<'ast> Visit<'ast> for Collector {
    fn visit_item_fn(&mut self, item: &'ast syn::ItemFn) {
        self.note(&item.attrs, &item.sig, &item.block);
        self.inside(None, |collector| visit::visit_item_fn(collector, item));
    }

    fn visit_item_impl(&mut self, item: &'ast syn::ItemImpl) {
        let owner = if let syn::Type::Path(path) = item.self_ty.as_ref() {
            path.path.segments.last().map(|last| last.ident.to_string())
        } else {
            None
        };
        self.inside(owner, |collector| visit::visit_item_impl(collector, item));
    }

    fn visit_item_trait(&mut self, item: &'ast syn::ItemTrait) {
        let owner = Some(item.ident.to_string());
        self.inside(owner, |collector| visit::visit_item_trait(collector, item));
    }

    fn visit_impl_item_fn(&mut self, item: &'ast syn::ImplItemFn) {
        self.note(&item.attrs, &item.sig, &item.block);
        self.inside(None, |collector| visit::visit_impl_item_fn(collector, item));
    }

    fn visit_trait_item_fn(&mut self, item: &'ast syn::TraitItemFn) {
        if let Some(body) = &item.default {
            self.note(&item.attrs, &item.sig, body);
        }
        self.inside(None, |collector| {
            visit::visit_trait_item_fn(collector, item);
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn functions_are_measured_from_fn_to_brace_and_tests_are_left_out() {
        let source = "//! Module.\n#[inline]\nfn one() {}\nimpl Money {\n    fn two(\n        &self,\n    ) {\n    }\n}\n#[tokio::test]\nasync fn scenario() {\n}\ntrait T {\n    fn three();\n    fn four() {\n        fn five() {}\n    }\n}\n";
        let seen: Vec<_> = functions(source)
            .unwrap()
            .into_iter()
            .map(|function| (function.name, function.line, function.lines))
            .collect();
        assert_eq!(
            seen,
            [
                ("one".to_owned(), 3, 1),
                ("Money::two".to_owned(), 5, 4),
                ("T::four".to_owned(), 15, 3),
                ("five".to_owned(), 16, 1)
            ]
        );
    }
}
