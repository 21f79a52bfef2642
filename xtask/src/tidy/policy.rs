//! `tidy.toml` as types: what each rule allows, and why.

use std::collections::BTreeMap;

use serde::Deserialize;

use crate::finding::{Finding, line_of};
use crate::tidy::POLICY_FILE;

/// The whole file; an unknown key is refused, so that a misspelt rule cannot sleep.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Policy {
    /// Innermost first: a crate may use its own layer and those before it.
    #[serde(default, rename = "layer")]
    pub(crate) layers: Vec<Layer>,
    /// By noun: the package name without `trunkline-`.
    #[serde(default, rename = "crate")]
    pub(crate) crates: BTreeMap<String, CrateRule>,
    #[serde(default, rename = "feature")]
    pub(crate) features: Vec<Feature>,
    #[serde(default, rename = "long_file")]
    pub(crate) long_files: Vec<LongFile>,
    #[serde(default, rename = "long_function")]
    pub(crate) long_functions: Vec<LongFunction>,
    #[serde(default)]
    pub(crate) forbidden: Vec<Forbidden>,
    #[serde(default)]
    pub(crate) only_in: Vec<OnlyIn>,
    #[serde(default)]
    pub(crate) vocabulary: Vocabulary,
}

/// A set of crates with the same freedom.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Layer {
    pub(crate) name: String,
    /// Outside crates that no crate of this layer may name, not even for its tests.
    #[serde(default)]
    pub(crate) banned: Vec<String>,
}

/// The edges one crate may have to other crates of the workspace.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct CrateRule {
    pub(crate) layer: String,
    /// `[dependencies]` and `[build-dependencies]`.
    #[serde(default)]
    pub(crate) uses: Vec<String>,
    /// `[dev-dependencies]`.
    #[serde(default)]
    pub(crate) tests_use: Vec<String>,
}

/// A feature of a crate that must not reach what is shipped.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Feature {
    pub(crate) name: String,
    /// The crate that has it, by noun.
    pub(crate) of: String,
    /// The crates that may turn it on, by noun.
    pub(crate) only_by: Vec<String>,
    pub(crate) reason: String,
}

/// A file over the limit, how long it may be, and why it is not split.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct LongFile {
    pub(crate) path: String,
    pub(crate) max: usize,
    reason: String,
}

/// A function over the limit; methods are named `Type::method`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct LongFunction {
    pub(crate) path: String,
    pub(crate) name: String,
    pub(crate) max: usize,
    reason: String,
}

/// Text that must not be committed.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Forbidden {
    /// An absolute path; `*` stands for one path segment.
    pub(crate) pattern: String,
    pub(crate) reason: String,
    /// Paths where it may stand after all.
    #[serde(default)]
    pub(crate) except: Vec<String>,
}

/// Text that belongs to some modules and to no other.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct OnlyIn {
    pub(crate) pattern: String,
    pub(crate) look_in: LookIn,
    pub(crate) paths: Vec<String>,
    pub(crate) reason: String,
}

/// Where a pattern is looked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum LookIn {
    /// `.sql` files and the string literals of `.rs` files; the pattern must begin a name.
    Sql,
    /// Every text file, anywhere on a line.
    Text,
}

/// The words that are not used, because the field has others.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Vocabulary {
    /// Whether a banned word fails the check; `tidy --words` counts them either way.
    pub(crate) enforce: bool,
    /// Paths that are not read: fixtures, recorded answers, what others wrote.
    #[serde(default)]
    pub(crate) except: Vec<String>,
    #[serde(default)]
    pub(crate) banned: Vec<Banned>,
}

/// Words for one thing, and what it is called instead.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Banned {
    /// Lower case; a plural is a word of its own.
    pub(crate) words: Vec<String>,
    pub(crate) say: String,
    pub(crate) look_for: LookFor,
    /// Fails also while the list as a whole does not.
    #[serde(default)]
    pub(crate) enforce: bool,
    /// Paths where they may stand.
    #[serde(default)]
    pub(crate) except: Vec<String>,
    /// Lower case: ordinary English or a name of others that holds such a word.
    #[serde(default)]
    pub(crate) phrases: Vec<String>,
}

/// What a banned word is compared with.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum LookFor {
    /// Every word of every text file, with names split on case and underscores.
    Word,
    /// The words that names of Rust code and of files are made of.
    NamePart,
    /// Whole names of Rust code and of files.
    Name,
}

// === impl Policy ===

impl Policy {
    /// Mistakes in the policy itself that its types cannot refuse.
    pub(crate) fn faults(&self, text: &str) -> Vec<Finding> {
        let files = self
            .long_files
            .iter()
            .map(|rule| (&rule.path, &rule.reason));
        let functions = self
            .long_functions
            .iter()
            .map(|rule| (&rule.name, &rule.reason));
        let forbidden = self
            .forbidden
            .iter()
            .map(|rule| (&rule.pattern, &rule.reason));
        let only_in = self
            .only_in
            .iter()
            .map(|rule| (&rule.pattern, &rule.reason));
        let features = self.features.iter().map(|rule| (&rule.name, &rule.reason));
        let mut findings: Vec<_> = files
            .chain(functions)
            .chain(features)
            .chain(forbidden)
            .chain(only_in)
            .filter(|(_, reason)| reason.trim().is_empty())
            .map(|(named, _)| {
                let line = line_of(text, &format!("\"{named}\""));
                Finding::new(
                    POLICY_FILE,
                    line,
                    format!("`{named}` has no reason; say why"),
                )
            })
            .collect();
        for (noun, rule) in &self.crates {
            if self.layer_depth(&rule.layer).is_none() {
                findings.push(Finding::new(
                    POLICY_FILE,
                    line_of(text, &crate_header(noun)),
                    format!(
                        "`{noun}` is in layer `{}`, which no [[layer]] names",
                        rule.layer
                    ),
                ));
            }
        }
        findings
    }

    /// How far from the centre a layer is; 0 is the innermost.
    pub(crate) fn layer_depth(&self, name: &str) -> Option<usize> {
        self.layers.iter().position(|layer| layer.name == name)
    }
}

/// How the rule of a crate begins in the file.
pub(crate) fn crate_header(noun: &str) -> String {
    format!("[crate.{noun}]")
}
