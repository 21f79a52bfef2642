//! Video tasks: one row each, from its hold to its outcome, and the narrow schedule table that
//! workers claim from. Every transition names the states it starts from and returns whether it was
//! made; the ledger moves its money in the same transaction.

mod claim;
mod row;
mod search;
mod transitions;

pub use claim::{Due, Job, claim, next_due, reschedule, schedule, unschedule};
pub use row::{Task, TaskState, find, newest_like, of_account, page};
pub use search::{CANCELLED, SEARCH_MAX_ROWS, Stage, TasksPage, TasksQuery, search};
pub use transitions::{
    Failed, NewTask, complete, fail, has_capacity, insert, lock_in_state, mark_unknown, mirrored,
    note_millis, purge_sent, record_progress, record_upstream_id, remove, return_to_accepted,
    submitted, submitting, update_file, usual_millis,
};
