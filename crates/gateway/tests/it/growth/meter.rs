//! Sums of a database and of processes, read before and after.

use std::fs;
use std::ops::Sub;

use trunkline_testkit::Db;

/// Milliseconds of one tick of `/proc/…/stat`: the kernel has told a hundred a second for decades.
const TICK_MILLIS: f64 = 10.0;

/// What was counted up to a moment.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Sums {
    /// Buffers of the tables of tasks and of their indexes, hit or read.
    pub(crate) buffers: f64,
    /// Transactions of this database. Every statement of a question is one.
    pub(crate) statements: f64,
    /// CPU of this process: the gateway and the simulator.
    pub(crate) own_millis: f64,
    /// CPU of PostgreSQL.
    pub(crate) postgres_millis: f64,
}

impl Sub for Sums {
    type Output = Self;

    fn sub(self, before: Self) -> Self {
        Self {
            buffers: self.buffers - before.buffers,
            statements: self.statements - before.statements,
            own_millis: self.own_millis - before.own_millis,
            postgres_millis: self.postgres_millis - before.postgres_millis,
        }
    }
}

/// Reads the sums. Backends tell theirs a second late, so the caller has waited.
pub(crate) async fn read(db: &Db) -> Sums {
    let reported = db
        .ask(
            "SELECT concat_ws(' ',
                 (SELECT sum(heap_blks_hit + heap_blks_read + idx_blks_hit + idx_blks_read
                      + COALESCE(toast_blks_hit + toast_blks_read + tidx_blks_hit + tidx_blks_read, 0))
                  FROM pg_statio_all_tables
                  WHERE schemaname = 'app' AND relname IN ('video_task', 'video_schedule')),
                 (SELECT xact_commit + xact_rollback FROM pg_stat_database WHERE datname = current_database()),
                 (SELECT pid FROM pg_stat_activity WHERE backend_type = 'checkpointer'))",
        )
        .await;
    let reported: Vec<f64> = reported[0]
        .split(' ')
        .map(|text| text.parse().unwrap())
        .collect();
    let [buffers, statements, child] = reported.as_slice() else {
        panic!("{reported:?}");
    };
    let [postmaster, _, _] = stat(&child.to_string()).unwrap();
    Sums {
        buffers: *buffers,
        statements: *statements,
        own_millis: stat("self").unwrap()[1] * TICK_MILLIS,
        postgres_millis: family(postmaster) * TICK_MILLIS,
    }
}

/// Ticks of a process, of those it has buried, and of its children.
fn family(parent: f64) -> f64 {
    let [_, own, buried] = stat(&parent.to_string()).unwrap();
    let children = fs::read_dir("/proc").unwrap().filter_map(|entry| {
        let name = entry.unwrap().file_name();
        let [of, ticks, _] = stat(name.to_str()?)?;
        (of.to_bits() == parent.to_bits()).then_some(ticks)
    });
    own + buried + children.sum::<f64>()
}

/// The parent, the ticks of a process, and those of children it has buried; none if it is gone.
fn stat(process: &str) -> Option<[f64; 3]> {
    let text = fs::read(format!("/proc/{process}/stat")).ok()?;
    let text = String::from_utf8_lossy(&text);
    // The name stands in brackets and may hold anything.
    let (_, behind) = text.rsplit_once(')')?;
    let fields: Vec<&str> = behind.split_whitespace().collect();
    let number = |place: usize| fields.get(place)?.parse::<f64>().ok();
    Some([
        number(1)?,
        number(11)? + number(12)?,
        number(13)? + number(14)?,
    ])
}
