//! From a line to the root of its day: the hashes beside it, from the line upward (the audit path of RFC 6962).

use crate::{Hash, TreeHasher};

/// What stands beside a line's way to the root: the leaves of a subtree, and on which side it is.
#[derive(Debug, Clone)]
struct Sibling {
    first: u64,
    end: u64,
    is_left: bool,
}

/// Makes a path while all leaves of the day come by, in memory of the tree's height.
#[derive(Debug, Clone)]
pub struct PathBuilder {
    siblings: Vec<(Sibling, TreeHasher)>,
    next: u64,
}

// === impl PathBuilder ===

impl PathBuilder {
    /// For the leaf at an index of so many.
    #[must_use]
    pub fn new(index: u64, count: u64) -> Self {
        let siblings = siblings(index, count).into_iter();
        Self {
            siblings: siblings
                .map(|sibling| (sibling, TreeHasher::new()))
                .collect(),
            next: 0,
        }
    }

    /// Takes every leaf, also the one that the path is of.
    pub fn add(&mut self, leaf: Hash) {
        let index = self.next;
        self.next = self.next.saturating_add(1);
        let beside = self
            .siblings
            .iter_mut()
            .find(|(sibling, _)| (sibling.first..sibling.end).contains(&index));
        if let Some((_, hasher)) = beside {
            hasher.add(leaf);
        }
    }

    /// From the leaf upward; none if leaves are missing.
    #[must_use]
    pub fn finish(self) -> Option<Vec<Hash>> {
        let mut path = Vec::new();
        for (sibling, hasher) in self.siblings.into_iter().rev() {
            if hasher.count() != sibling.end.saturating_sub(sibling.first) {
                return None;
            }
            path.push(hasher.root()?);
        }
        Some(path)
    }
}

/// The root that a leaf and its path lead to; none if the path has another length than that of the index.
#[must_use]
pub fn root_of_path(leaf: Hash, index: u64, count: u64, path: &[Hash]) -> Option<Hash> {
    let siblings = siblings(index, count);
    if index >= count || siblings.len() != path.len() {
        return None;
    }
    let up = siblings.iter().rev().zip(path);
    Some(up.fold(leaf, |below, (sibling, beside)| {
        if sibling.is_left {
            Hash::of_node(beside, &below)
        } else {
            Hash::of_node(&below, beside)
        }
    }))
}

/// From the root downward.
fn siblings(index: u64, count: u64) -> Vec<Sibling> {
    let mut found = Vec::new();
    let (mut first, mut end) = (0, count);
    while end.saturating_sub(first) > 1 {
        let left_leaves = largest_power_below(end.saturating_sub(first));
        let middle = first.saturating_add(left_leaves);
        if index < middle {
            found.push(Sibling {
                first: middle,
                end,
                is_left: false,
            });
            end = middle;
        } else {
            found.push(Sibling {
                first,
                end: middle,
                is_left: true,
            });
            first = middle;
        }
    }
    found
}

/// The largest power of two below a number of at least two.
fn largest_power_below(count: u64) -> u64 {
    let below = count.saturating_sub(1);
    below
        .checked_ilog2()
        .and_then(|bits| 1_u64.checked_shl(bits))
        .unwrap_or(1)
}
