//! A function takes plain arguments or a named struct: a tuple parameter hides how many there are, and its
//! parts have no names where it is called.
//!
//! Tests may take what they like, and so may closures, whose arguments others decide.

use syn::spanned::Spanned as _;
use syn::visit::{self, Visit};

use crate::files::Tree;
use crate::finding::Finding;

/// The tuple parameters of a file, as the name of the function and the line.
#[derive(Default)]
struct Collector {
    found: Vec<(String, usize)>,
}

pub(crate) fn check(tree: &Tree) -> Vec<Finding> {
    let product = tree.rust_files().filter(|file| is_product(&file.path));
    // What does not parse is a finding of the functions' check.
    let parsed = product.filter_map(|file| Some((file, syn::parse_file(&file.text).ok()?)));
    let found = parsed.flat_map(|(file, source)| {
        let mut collector = Collector::default();
        collector.visit_file(&source);
        let found = collector.found.into_iter();
        found.map(|(name, line)| {
            let what = format!(
                "`{name}` has a tuple parameter; give it plain arguments or a struct with named fields"
            );
            Finding::new(&file.path, line, what)
        })
    });
    found.collect()
}

fn is_product(path: &str) -> bool {
    let is_source = path.split('/').any(|part| part == "src");
    let is_test = path.ends_with("/tests.rs") || path.split('/').any(|part| part == "tests");
    is_source && !is_test
}

fn is_tuple_pattern(pattern: &syn::Pat) -> bool {
    matches!(pattern, syn::Pat::Tuple(tuple) if !tuple.elems.is_empty())
}

/// A tuple of something, or a reference to one; `()` has no parts.
fn is_tuple_type(kind: &syn::Type) -> bool {
    if let syn::Type::Reference(reference) = kind {
        return is_tuple_type(&reference.elem);
    }
    matches!(kind, syn::Type::Tuple(tuple) if !tuple.elems.is_empty())
}

fn is_for_tests(attribute: &syn::Attribute) -> bool {
    let condition = attribute.path().is_ident("cfg");
    condition
        && attribute
            .parse_args::<syn::Ident>()
            .is_ok_and(|word| word == "test")
}

// === impl Collector ===

impl<'ast> Visit<'ast> for Collector {
    fn visit_signature(&mut self, signature: &'ast syn::Signature) {
        for input in &signature.inputs {
            if let syn::FnArg::Typed(parameter) = input
                && (is_tuple_pattern(&parameter.pat) || is_tuple_type(&parameter.ty))
            {
                let line = parameter.span().start().line;
                self.found.push((signature.ident.to_string(), line));
            }
        }
    }

    fn visit_item_mod(&mut self, module: &'ast syn::ItemMod) {
        if !module.attrs.iter().any(is_for_tests) {
            visit::visit_item_mod(self, module);
        }
    }
}
