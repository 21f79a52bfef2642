//! Video tasks: one row each, from its hold to its verdict, and the narrow table that tells workers
//! what is due. Every step says from which states it may be taken and answers whether it was; the
//! money that goes with it is moved by the ledger in the same transaction.

mod due;
mod row;
mod search;
mod steps;

pub use due::{Due, Job, claim, next_due, reschedule, schedule, unschedule};
pub use row::{Task, TaskState, find, newest_like, of_account, page};
pub use search::{CANCELLED, SEARCH_MAX_ROWS, Stage, TasksAsked, TasksFound, search};
pub use steps::{
    Failed, NewTask, accepted_again, complete, fail, forget_sent, has_room, heard, hold_in, insert,
    mirrored, note_millis, relinked, remove, submitted, submitting, told, unknown, usual_millis,
};
