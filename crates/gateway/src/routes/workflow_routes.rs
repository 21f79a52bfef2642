//! Routes of workflow runs: paths and methods. The handlers are with the operation.

use http::Method;

use crate::authenticate::identify;
use crate::error::ApiError;
use crate::operations::workflow::{
    cancel_run, list_runs, run_events, run_receipt, show_run, start_run,
};
use crate::paid_route::PaidRequest;
use crate::rate_limit::{self, Cost};
use crate::response::Response;

/// A path below `/v1/workflows/`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum WorkflowRoute<'a> {
    /// Begin a run of a workflow, or list them.
    Runs(&'a str),
    Run(&'a str, &'a str, RunView),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum RunView {
    Run,
    Events,
    Receipt,
    Cancel,
}

// === impl WorkflowRoute ===

impl<'a> WorkflowRoute<'a> {
    /// The route of the rest of a path.
    pub(super) fn of(rest: &'a str) -> Option<Self> {
        let parts: Vec<&str> = rest.split('/').collect();
        match *parts.as_slice() {
            [id, "runs"] => Some(Self::Runs(id)),
            [id, "runs", run] => Some(Self::Run(id, run, RunView::Run)),
            [id, "runs", run, "events"] => Some(Self::Run(id, run, RunView::Events)),
            [id, "runs", run, "receipt"] => Some(Self::Run(id, run, RunView::Receipt)),
            [id, "runs", run, "cancel"] => Some(Self::Run(id, run, RunView::Cancel)),
            _ => None,
        }
    }

    pub(super) const fn methods(self) -> &'static [Method] {
        const LISTED: &[Method] = &[Method::GET, Method::HEAD, Method::POST];
        const READ: &[Method] = &[Method::GET, Method::HEAD];
        const WRITE: &[Method] = &[Method::POST];
        match self {
            Self::Runs(_) => LISTED,
            Self::Run(_, _, RunView::Run | RunView::Events | RunView::Receipt) => READ,
            Self::Run(_, _, RunView::Cancel) => WRITE,
        }
    }
}

/// Begins a run, or answers what is asked of one.
pub(super) async fn answer(
    paid: PaidRequest<'_>,
    route: WorkflowRoute<'_>,
) -> Result<Response, ApiError> {
    if let WorkflowRoute::Runs(id) = route
        && paid.request.method() == Method::POST
    {
        return start_run(paid, id).await;
    }
    let services = paid.services;
    let caller = identify(&services.edge, paid.context, &paid.request)?;
    let cost = Cost::question(true);
    rate_limit::check(&services.edge, paid.context, &caller, cost).await?;
    match route {
        WorkflowRoute::Runs(id) => list_runs(services, &caller, id).await,
        WorkflowRoute::Run(id, run, RunView::Run) => show_run(services, &caller, id, run).await,
        WorkflowRoute::Run(id, run, RunView::Events) => {
            run_events(services, &caller, id, run).await
        }
        WorkflowRoute::Run(id, run, RunView::Receipt) => {
            run_receipt(services, &caller, id, run).await
        }
        WorkflowRoute::Run(id, run, RunView::Cancel) => {
            cancel_run(services, &caller, id, run).await
        }
    }
}
