//! Erases what is stored of closed accounts that an operator erases: prompts and files of videos, stored answers.

use trunkline_blobs::ObjectPath;
use trunkline_ledger::stored_responses;
use trunkline_store::account_close;

use crate::job::{JobContext, JobResult, Progress};

/// Accounts of one run, and videos of one.
const ACCOUNTS: i64 = 10;
const TASKS: i64 = 100;

pub(super) async fn run(context: &JobContext) -> JobResult {
    let mut session = context.data.session().await?;
    let erasing = account_close::to_erase(&mut session, ACCOUNTS).await?;
    let mut done: u64 = 0;
    for account in erasing {
        let tasks = account_close::tasks_to_erase(&mut session, account, TASKS).await?;
        for task in &tasks {
            // A path that is none of ours leads to no file.
            let path = task.media_path.as_deref().map(ObjectPath::parse);
            if let Some(Ok(path)) = path {
                context.media.delete(&path).await?;
            }
            account_close::erase_task(&mut session, task.id).await?;
        }
        if tasks.is_empty() {
            stored_responses::purge_account(&context.data, account).await?;
            account_close::finish_erasure(&context.data, account).await?;
            tracing::info!(account.id = account.number(), "account erasure: done");
        }
        done = done.saturating_add(1);
    }
    Ok(Progress::of(done))
}
