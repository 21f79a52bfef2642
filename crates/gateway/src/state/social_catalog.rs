//! What is on the counter: the cells that are known, and those that are paused. One snapshot, exchanged
//! whole; calls keep the one that they began with.

use std::collections::BTreeSet;
use std::sync::Arc;

use arc_swap::ArcSwap;
use trunkline_db::{DbError, Session, revision};
use trunkline_social::{Cell, Cells};
use trunkline_store::cell_pauses;

use super::platform_files::Look;

/// The name of these endpoints in a key's list and in the usage log.
pub(crate) const SOCIAL: &str = "social";

/// What a pair would be called as a cell, whether there is one or not.
pub(crate) fn model_name(platform: &str, capability: &str) -> String {
    format!("{SOCIAL}-{platform}-{capability}")
}

#[derive(Debug, Clone, Default)]
pub(crate) struct SocialCatalog {
    pub(crate) cells: Arc<Cells>,
    /// The names of those that are paused, as the usage log has them.
    paused: Arc<BTreeSet<String>>,
    /// The number of the newest change of the pauses; none before they were read.
    revision: Option<i64>,
    /// Counts exchanges of the cells.
    edition: u64,
    /// What the operator's folder looked like when it was dealt with.
    pub(super) seen: Look,
    /// The folder's last problem that was reported.
    pub(super) reported: Option<String>,
}

impl SocialCatalog {
    pub(crate) fn new(cells: Cells) -> Self {
        Self {
            cells: Arc::new(cells),
            ..Self::default()
        }
    }

    pub(crate) fn is_paused(&self, cell: &Cell) -> bool {
        self.paused.contains(&cell.model)
    }

    /// The same with other cells, those of the operator's folder as it was seen.
    pub(super) fn with_cells(&self, cells: Cells, seen: Look) -> Self {
        Self {
            cells: Arc::new(cells),
            edition: self.edition.saturating_add(1),
            seen,
            reported: None,
            ..self.clone()
        }
    }

    /// The same cells, and what was wrong with the folder; none if it is well again.
    pub(super) fn with_problem(&self, seen: Look, reported: Option<String>) -> Self {
        Self {
            seen,
            reported,
            ..self.clone()
        }
    }

    /// The same with the pauses of a change, unless those of a newer one are there.
    fn with_pauses(&self, paused: BTreeSet<String>, revision: i64) -> Self {
        if self.revision.is_some_and(|known| known > revision) {
            return self.clone();
        }
        Self {
            paused: Arc::new(paused),
            revision: Some(revision),
            ..self.clone()
        }
    }

    /// Changes whenever what is told of a cell may have.
    pub(crate) fn stamp(&self) -> (Option<i64>, u64) {
        (self.revision, self.edition)
    }
}

/// Takes over what was paused or resumed.
pub(crate) async fn follow_pauses(
    catalog: &ArcSwap<SocialCatalog>,
    session: &mut Session,
) -> Result<(), DbError> {
    let newest = revision::current(session, cell_pauses::TOPIC).await?;
    if catalog.load_full().revision == Some(newest) {
        return Ok(());
    }
    let rows = cell_pauses::paused(session).await?;
    let paused = rows.iter();
    let paused = paused.map(|row| model_name(&row.platform, &row.capability));
    let paused: BTreeSet<String> = paused.collect();
    // The cells may have been exchanged while the rows were read.
    catalog.rcu(|catalog| catalog.with_pauses(paused.clone(), newest));
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_and_pauses_are_exchanged_one_without_the_other() {
        let paused = |capability: &str| BTreeSet::from([model_name("douyin", capability)]);
        let all = Cells::builtin().unwrap();
        let search = Arc::clone(all.get("douyin", "search").unwrap());
        let begun = SocialCatalog::new(Cells::default()).with_pauses(paused("search"), 7);
        let counter = begun.with_cells(all.clone(), Look::new());
        assert!(counter.is_paused(&search));
        assert_eq!(counter.stamp(), (Some(7), 1));
        let counter = counter.with_pauses(paused("post"), 8);
        assert_eq!(*counter.cells, all);
        assert!(!counter.is_paused(&search));
        assert_eq!(counter.stamp(), (Some(8), 1));
        // A slow read of an older state does not bring it back.
        let counter = counter.with_pauses(paused("search"), 7);
        assert!(!counter.is_paused(&search));
        assert_eq!(counter.stamp(), (Some(8), 1));
    }
}
