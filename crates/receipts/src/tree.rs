//! The root of a day's lines: the tree of RFC 6962, built while lines come, in memory of its height.

use crate::Hash;

/// Takes leaves in their order.
#[derive(Debug, Clone, Default)]
pub struct TreeHasher {
    /// Roots of full subtrees, the largest first, each with its number of leaves.
    full: Vec<Subtree>,
    count: u64,
}

#[derive(Debug, Clone, Copy)]
struct Subtree {
    leaves: u64,
    root: Hash,
}

// === impl TreeHasher ===

impl TreeHasher {
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    #[must_use]
    pub const fn count(&self) -> u64 {
        self.count
    }

    pub fn add(&mut self, leaf: Hash) {
        let mut last = Subtree {
            leaves: 1,
            root: leaf,
        };
        while let Some(before) = self.full.pop_if(|before| before.leaves == last.leaves) {
            last = Subtree {
                leaves: last.leaves.saturating_mul(2),
                root: Hash::of_node(&before.root, &last.root),
            };
        }
        self.full.push(last);
        self.count = self.count.saturating_add(1);
    }

    /// None of no leaves.
    #[must_use]
    pub fn root(&self) -> Option<Hash> {
        let roots = self.full.iter().rev().map(|subtree| subtree.root);
        roots.reduce(|right, left| Hash::of_node(&left, &right))
    }
}
