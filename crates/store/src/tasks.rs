//! Video tasks: one row each, from its hold to its verdict, and the narrow table that tells workers
//! what is due. Every step says from which states it may be taken and answers whether it was; the
//! money that goes with it is moved by the ledger in the same transaction.

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
