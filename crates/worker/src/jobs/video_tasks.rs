//! Video tasks: submitted, polled and downloaded, each by whichever worker claims it first.

use trunkline_gateway::{VideoJob, claim_video_jobs, next_video_job};

use crate::job::{JobContext, JobResult, Progress};

pub(super) async fn submit(context: &JobContext) -> JobResult {
    claim(context, VideoJob::Submit).await
}

pub(super) async fn poll(context: &JobContext) -> JobResult {
    claim(context, VideoJob::Poll).await
}

pub(super) async fn download(context: &JobContext) -> JobResult {
    claim(context, VideoJob::Mirror).await
}

async fn claim(context: &JobContext, job: VideoJob) -> JobResult {
    let gateway = &context.gateway;
    if claim_video_jobs(gateway, job).await? > 0 {
        return Ok(Progress::More);
    }
    Ok(Progress::Idle(next_video_job(gateway, job).await?))
}
