//! The table of jobs, one file each: what is done, how often it is looked for, and what wakes it.

mod account_erasure;
pub(crate) mod alarms;
mod automatic_top_up;
mod channel_health_retention;
mod email_delivery;
mod email_retention;
mod event_relay;
mod event_retention;
mod loss_metrics;
mod low_balance_email;
mod media_retention;
mod outbox_size;
mod payment_reconciliation;
mod prompt_retention;
mod stored_response_retention;
mod trial_expiry;
mod usage_chain;
mod usage_retention;
mod video_tasks;
mod webhook_delivery;
mod webhook_maintenance;

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;
use tokio::task::JoinSet;
use trunkline_db::Signal;

use crate::job::{Job, JobContext, Wake};

const JOBS: &[Job] = &[
    Job {
        name: "video_submission",
        period: Duration::from_millis(200),
        wake: Some(wake(Signal::Video, 5)),
        run: |context| Box::pin(video_tasks::submit(context)),
    },
    Job {
        name: "video_polling",
        period: Duration::from_millis(200),
        wake: Some(wake(Signal::Video, 5)),
        run: |context| Box::pin(video_tasks::poll(context)),
    },
    Job {
        name: "video_download",
        period: Duration::from_millis(200),
        wake: Some(wake(Signal::Video, 5)),
        run: |context| Box::pin(video_tasks::download(context)),
    },
    Job {
        name: "webhook_delivery",
        period: Duration::from_millis(250),
        wake: Some(wake(Signal::Webhooks, 5)),
        run: |context| Box::pin(webhook_delivery::run(context)),
    },
    Job {
        name: "webhook_maintenance",
        period: Duration::from_secs(2),
        wake: Some(wake(Signal::Webhooks, 20)),
        run: |context| Box::pin(webhook_maintenance::run(context)),
    },
    Job {
        name: "event_relay",
        period: Duration::from_millis(200),
        wake: Some(wake(Signal::Outbox, 5)),
        run: |context| Box::pin(event_relay::run(context)),
    },
    Job {
        name: "outbox_size",
        period: Duration::from_secs(5),
        wake: None,
        run: |context| Box::pin(outbox_size::run(context)),
    },
    Job {
        name: "loss_metrics",
        period: Duration::from_secs(60),
        wake: None,
        run: |context| Box::pin(loss_metrics::run(context)),
    },
    Job {
        name: "alarms",
        period: Duration::from_secs(5),
        wake: None,
        run: |context| Box::pin(alarms::run(context)),
    },
    Job {
        name: "email_delivery",
        period: Duration::from_secs(4),
        wake: None,
        run: |context| Box::pin(email_delivery::run(context)),
    },
    Job {
        name: "low_balance_email",
        period: Duration::from_secs(5),
        wake: None,
        run: |context| Box::pin(low_balance_email::run(context)),
    },
    Job {
        name: "trial_expiry",
        period: Duration::from_secs(10),
        wake: None,
        run: |context| Box::pin(trial_expiry::run(context)),
    },
    Job {
        name: "automatic_top_up",
        period: Duration::from_secs(5),
        wake: None,
        run: |context| Box::pin(automatic_top_up::run(context)),
    },
    Job {
        name: "payment_reconciliation",
        // It is due once a day, over all nodes.
        period: Duration::from_secs(600),
        wake: None,
        run: |context| Box::pin(payment_reconciliation::run(context)),
    },
    Job {
        name: "usage_chain",
        // Nothing is read of the chain before its day is over; each run is a row for each account.
        period: Duration::from_secs(15),
        wake: None,
        run: |context| Box::pin(usage_chain::run(context)),
    },
    Job {
        name: "stored_response_retention",
        // Some of them live for two minutes.
        period: Duration::from_secs(30),
        wake: None,
        run: |context| Box::pin(stored_response_retention::run(context)),
    },
    Job {
        name: "email_retention",
        period: Duration::from_secs(60),
        wake: None,
        run: |context| Box::pin(email_retention::run(context)),
    },
    Job {
        name: "account_erasure",
        period: Duration::from_secs(60),
        wake: None,
        run: |context| Box::pin(account_erasure::run(context)),
    },
    Job {
        name: "channel_health_retention",
        period: Duration::from_secs(600),
        wake: None,
        run: |context| Box::pin(channel_health_retention::run(context)),
    },
    Job {
        name: "prompt_retention",
        period: Duration::from_secs(600),
        wake: None,
        run: |context| Box::pin(prompt_retention::run(context)),
    },
    Job {
        name: "event_retention",
        period: Duration::from_secs(600),
        wake: None,
        run: |context| Box::pin(event_retention::run(context)),
    },
    Job {
        name: "media_retention",
        period: Duration::from_secs(600),
        wake: None,
        run: |context| Box::pin(media_retention::run(context)),
    },
    Job {
        name: "usage_retention",
        period: Duration::from_secs(3_600),
        wake: None,
        run: |context| Box::pin(usage_retention::run(context)),
    },
];

/// Starts every job. Each runs until it is stopped.
pub fn start(tasks: &mut JoinSet<()>, context: JobContext, stop: &watch::Receiver<bool>) {
    let context = Arc::new(context);
    for job in JOBS {
        tasks.spawn(job.repeat(Arc::clone(&context), stop.clone()));
    }
}

const fn wake(signal: Signal, fallback_seconds: u64) -> Wake {
    Wake {
        signal,
        fallback: Duration::from_secs(fallback_seconds),
    }
}
