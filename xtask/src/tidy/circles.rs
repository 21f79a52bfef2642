//! Modules of a crate are layers: no circle of imports may hold more than two top-level modules.
//!
//! An import is any path that begins with `crate` or leaves its module with `super`, in a `use` or in code.
//! Tests may import what they like.

use std::collections::{BTreeMap, BTreeSet};

use crate::files::Tree;
use crate::finding::Finding;

use self::imports::{aliases_of, imports_of};

mod imports;

/// Two modules that know each other are one thing in two files; more are no layers.
const MAX_MODULES: usize = 2;

/// Which top-level module of a crate imports which.
type Graph = BTreeMap<String, BTreeSet<String>>;

pub(crate) fn check(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for folder in crates(tree) {
        let graph = graph(tree, &folder);
        for members in circles(&graph) {
            let names: Vec<&str> = members.iter().map(String::as_str).collect();
            findings.push(Finding::new(
                &format!("{folder}/src"),
                1,
                format!(
                    "{} modules import each other ({}), for example {}; {MAX_MODULES} allowed: move what \
                     they share below them",
                    names.len(),
                    names.join(", "),
                    example(&graph, &members).join(" → "),
                ),
            ));
        }
    }
    findings
}

/// Folders with a `src/lib.rs` or a `src/main.rs`.
fn crates(tree: &Tree) -> BTreeSet<String> {
    let roots = ["/src/lib.rs", "/src/main.rs"];
    tree.rust_files()
        .filter_map(|file| roots.iter().find_map(|root| file.path.strip_suffix(root)))
        .map(str::to_owned)
        .collect()
}

fn graph(tree: &Tree, folder: &str) -> Graph {
    let source = format!("{folder}/src/");
    let files: Vec<_> = tree
        .rust_files()
        .filter_map(|file| {
            let path = file.path.strip_prefix(&source)?;
            Some((module_of(path), file))
        })
        .collect();
    let modules: BTreeSet<&str> = files
        .iter()
        .filter_map(|(module, _)| module.first().copied())
        .collect();
    // What the root re-exports is imported from there as well.
    let aliases: BTreeMap<String, String> = files
        .iter()
        .filter(|(module, _)| module.is_empty())
        .flat_map(|(_, file)| aliases_of(&file.text))
        .collect();
    let mut graph: Graph = modules
        .iter()
        .map(|module| ((*module).to_owned(), BTreeSet::new()))
        .collect();
    for (module, file) in &files {
        let Some(own) = module.first() else { continue };
        if module.contains(&"tests") {
            continue;
        }
        let imports = imports_of(&file.text, module.len());
        let found = imports
            .iter()
            .map(|name| aliases.get(name).map_or(name.as_str(), String::as_str))
            .filter(|name| name != own && modules.contains(name))
            .map(str::to_owned);
        graph.entry((*own).to_owned()).or_default().extend(found);
    }
    graph
}

/// `a/b.rs` and `a/b/mod.rs` are `a::b`; the root has no parts.
fn module_of(path: &str) -> Vec<&str> {
    let path = path.strip_suffix(".rs").unwrap_or(path);
    let mut parts: Vec<&str> = path.split('/').collect();
    if matches!(parts.as_slice(), ["lib" | "main"]) || parts.last() == Some(&"mod") {
        parts.pop();
    }
    parts
}

/// Sets of modules that reach each other, if they are too large.
fn circles(graph: &Graph) -> Vec<BTreeSet<String>> {
    let reach: BTreeMap<&str, BTreeSet<&str>> = graph
        .keys()
        .map(|module| (module.as_str(), reached(graph, module)))
        .collect();
    let mut seen = BTreeSet::new();
    let mut found = Vec::new();
    for (module, reached) in &reach {
        let members: BTreeSet<String> = reached
            .iter()
            .filter(|other| reach.get(*other).is_some_and(|back| back.contains(module)))
            .map(|other| (*other).to_owned())
            .collect();
        if members.len() > MAX_MODULES && seen.insert(members.clone()) {
            found.push(members);
        }
    }
    found
}

fn reached<'a>(graph: &'a Graph, from: &str) -> BTreeSet<&'a str> {
    let mut found = BTreeSet::new();
    let mut open = vec![from];
    while let Some(module) = open.pop() {
        for next in graph.get(module).into_iter().flatten() {
            if found.insert(next.as_str()) {
                open.push(next);
            }
        }
    }
    found
}

/// The shortest way from the first member back to itself.
fn example(graph: &Graph, members: &BTreeSet<String>) -> Vec<String> {
    let Some(first) = members.first() else {
        return Vec::new();
    };
    let mut ways = vec![vec![first.clone()]];
    let mut seen = BTreeSet::new();
    while !ways.is_empty() {
        let mut longer = Vec::new();
        for way in ways {
            let last = way.last().and_then(|last| graph.get(last));
            for next in last
                .into_iter()
                .flatten()
                .filter(|next| members.contains(*next))
            {
                let mut way = way.clone();
                way.push(next.clone());
                if next == first {
                    return way;
                }
                if seen.insert(next.clone()) {
                    longer.push(way);
                }
            }
        }
        ways = longer;
    }
    Vec::new()
}
