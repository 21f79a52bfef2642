//! What is on the counter: the cells that are known, and those that are paused. One snapshot, exchanged
//! whole; calls keep the one that they began with.

use std::collections::BTreeSet;
use std::sync::Arc;

use trunkline_db::{DbError, Session, revision};
use trunkline_social::{Cell, Cells};
use trunkline_store::social;

use crate::gateway::Gateway;

/// Cells and pauses.
#[derive(Debug, Clone, Default)]
pub(crate) struct Counter {
    pub(crate) cells: Arc<Cells>,
    paused: Arc<BTreeSet<(String, String)>>,
    /// The number of the newest change of the pauses; none before they were read.
    revision: Option<i64>,
    /// Counts exchanges of the cells.
    pub(super) edition: u64,
}

// === impl Counter ===

impl Counter {
    pub(crate) fn new(cells: Cells) -> Self {
        Self {
            cells: Arc::new(cells),
            ..Self::default()
        }
    }

    pub(crate) fn is_paused(&self, cell: &Cell) -> bool {
        let name = (cell.platform.key.clone(), cell.capability.word().to_owned());
        self.paused.contains(&name)
    }

    /// The same with other cells.
    pub(super) fn with_cells(&self, cells: Cells) -> Self {
        Self {
            cells: Arc::new(cells),
            edition: self.edition.saturating_add(1),
            ..self.clone()
        }
    }

    /// Changes whenever what is told of a cell may have.
    pub(crate) fn stamp(&self) -> (Option<i64>, u64) {
        (self.revision, self.edition)
    }
}

// === impl Gateway ===

impl Gateway {
    /// Takes over what was paused or resumed.
    pub(crate) async fn follow_pauses(&self, session: &mut Session) -> Result<(), DbError> {
        let newest = revision::current(session, social::TOPIC).await?;
        let before = self.inner.counter.get();
        if before.revision == Some(newest) {
            return Ok(());
        }
        let rows = social::paused(session).await?;
        let paused = rows.into_iter().map(|row| (row.platform, row.capability));
        let mut counter = Counter::clone(&before);
        counter.paused = Arc::new(paused.collect());
        counter.revision = Some(newest);
        self.inner.counter.set(counter);
        Ok(())
    }

    /// Every cell, and whether it is paused.
    #[must_use]
    pub fn cells(&self) -> Vec<(Arc<Cell>, bool)> {
        let counter = self.inner.counter.get();
        let cells = counter.cells.all();
        cells
            .map(|cell| (Arc::clone(cell), counter.is_paused(cell)))
            .collect()
    }
}
