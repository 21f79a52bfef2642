//! Runs of workflows. A run is one call of the operation that the workflow's verified binding names: its inputs are
//! put into that operation's request, and from there it is the operation, with its price, its money and its answer.

mod resume;
mod run_request;
mod runs;

use std::borrow::Cow;
use std::sync::Arc;

use bytes::Bytes;
use http::{HeaderMap, HeaderName, HeaderValue, Request};
use hyper::body::Incoming;
use serde_json::Value;
use trunkline_catalog::Sale;
use trunkline_generation::images::ImageEndpoint;
use trunkline_store::workflow_runs::NewRun;
use trunkline_store::workflows::{self, Version};

use self::resume::{begin_run, end_run};
use self::run_request::RunRequest;
use super::chat::{Chat, ChatRoute, Quoted};
use super::generation::images::{Images, ImagesExecution};
use super::generation::speech::{Speech, SpeechExecution};
use super::video::{PricedVideo, Video, VideoBody, is_video, views};
use crate::authenticate::identify;
use crate::body::{self, JsonOrForm};
use crate::caller::Caller;
use crate::endpoint::{ENDPOINTS, Endpoint, GEMINI};
use crate::error::{ApiError, ErrorCode};
use crate::idempotency::{Fingerprint, IdempotencyPolicy, has_key};
use crate::in_flight::InFlightPermit;
use crate::operation::{Operation, PricedOperation, Received};
use crate::paid_route::PaidRequest;
use crate::pipeline;
use crate::priced_call::{Offer, Pricing};
use crate::request_context::RequestContext;
use crate::response::Response;
use crate::services::Services;

pub(crate) use self::run_request::quoted_run;
pub(crate) use self::runs::{cancel_run, list_runs, run_events, run_receipt, show_run};

/// The header that names the run of an answer.
const RUN_HEADER: &str = "trunkline-workflow-run";

/// What a binding can name.
enum Target {
    Chat(Endpoint),
    Images(ImageEndpoint),
    Speech,
    Video,
}

/// An operation that a workflow can be bound to.
trait Runnable: Operation {
    /// Whether its answer may come before its charge.
    const IS_TASK: bool = false;

    /// A body of JSON, as if it had been received.
    fn body_of(body: Bytes) -> Self::Body;

    /// Begins what was admitted.
    fn begin(
        services: &Arc<Services>,
        context: &Arc<RequestContext>,
        priced: Self::Priced,
        permit: InFlightPermit,
    ) -> impl Future<Output = Result<Response, ApiError>> + Send;
}

/// One run, as the operation that it is.
struct WorkflowRun<O> {
    operation: O,
    run: RunFacts,
}

/// What is written of a run, as far as its request tells.
#[derive(Clone)]
struct RunFacts {
    confirmations: Vec<String>,
    body_hash: [u8; 32],
}

struct RunRoute<R> {
    route: R,
    version: Arc<Version>,
}

/// `POST /v1/workflows/{id}/runs`.
pub(crate) async fn start_run(paid: PaidRequest<'_>, id: &str) -> Result<Response, ApiError> {
    // The key comes first: a stranger makes us look up nothing.
    identify(&paid.services.edge, paid.context, &paid.request)?;
    let version = find_workflow(paid.services, id).await?;
    match target_of(&version)? {
        Target::Chat(endpoint) => {
            let route = ChatRoute {
                endpoint,
                model: None,
                stream: false,
                as_json_array: false,
            };
            Box::pin(run::<Chat>(paid, route, version)).await
        }
        Target::Images(route) => Box::pin(run::<Images>(paid, route, version)).await,
        Target::Speech => Box::pin(run::<Speech>(paid, (), version)).await,
        Target::Video => Box::pin(run::<Video>(paid, (), version)).await,
    }
}

async fn run<O: Runnable>(
    paid: PaidRequest<'_>,
    route: O::Route,
    version: Version,
) -> Result<Response, ApiError> {
    let PaidRequest {
        services,
        context,
        request,
    } = paid;
    let version = Arc::new(version);
    let route = RunRoute {
        route,
        version: Arc::clone(&version),
    };
    let accepted = pipeline::accept::<WorkflowRun<O>>(services, context, route, request).await?;
    let (facts, is_named) = (accepted.operation.run.clone(), has_key(&accepted.headers));
    let (priced, permit) = pipeline::price_and_admit(services, context, accepted).await?;
    let run = new_run(&version, &priced, facts);
    // A call that broke off is gone on with before another one is paid.
    if let Some((earlier, response)) = begin_run(services, &run, is_named).await? {
        return Ok(named(response, &earlier));
    }
    let answered = O::begin(services, context, priced, permit).await;
    if let Err(error) = &answered {
        end_run(services, &run, error).await;
    }
    answered.map(|response| named(response, &run))
}

fn new_run<P: PricedOperation>(version: &Version, priced: &P, facts: RunFacts) -> NewRun {
    let record = version.workflow.record();
    let call = priced.call();
    NewRun {
        request: call.id.uuid(),
        account: call.caller.account.id,
        key: call.caller.key.id,
        workflow_id: record.workflow_id.clone(),
        revision: version.revision,
        digest: version.workflow.digest().bytes(),
        operation: record.runtime_binding.endpoint.clone().unwrap_or_default(),
        model: call.model.clone(),
        confirmations: facts.confirmations,
        body_hash: facts.body_hash,
    }
}

/// The answer of a run says which one it is of.
fn named(mut response: Response, run: &NewRun) -> Response {
    if let Ok(name) = HeaderValue::from_str(&runs::run_name(run.request)) {
        let header = HeaderName::from_static(RUN_HEADER);
        response.headers_mut().insert(header, name);
    }
    response
}

/// The newest version of a workflow.
pub(crate) async fn find_workflow(services: &Services, id: &str) -> Result<Version, ApiError> {
    let mut session = services.data.session().await?;
    let found = workflows::find_by_id(&mut session, id).await;
    drop(session);
    found?.ok_or_else(|| {
        let id: String = id.chars().take(64).collect();
        let text = format!("there is no workflow {id:?}");
        ApiError::new(ErrorCode::NotFound, text).at("workflow_id")
    })
}

/// The operation that a binding names.
fn target_of(version: &Version) -> Result<Target, ApiError> {
    let path = version
        .workflow
        .record()
        .runtime_binding
        .endpoint
        .as_deref();
    let path = path.unwrap_or_default();
    let below = path.strip_prefix("/v1/").unwrap_or_default();
    match below {
        "images/generations" => return Ok(Target::Images(ImageEndpoint::Generations)),
        "images/edits" => return Ok(Target::Images(ImageEndpoint::Edits)),
        "audio/speech" => return Ok(Target::Speech),
        _ => {}
    }
    if is_video(path) {
        return Ok(Target::Video);
    }
    let mut chats = ENDPOINTS.into_iter().filter(|endpoint| *endpoint != GEMINI);
    let found = chats.find(|endpoint| endpoint.path == below);
    found.map(Target::Chat).ok_or_else(|| {
        let text =
            "this workflow cannot be run: its runtime binding names no operation of this gateway";
        ApiError::new(ErrorCode::WorkflowNotRunnable, text).at("workflow_id")
    })
}

impl<O: Runnable> Operation for WorkflowRun<O> {
    type Route = RunRoute<O::Route>;
    type Body = Bytes;
    type Priced = O::Priced;

    const IDEMPOTENCY: IdempotencyPolicy = IdempotencyPolicy::Key;

    fn endpoint(route: &Self::Route) -> &'static str {
        O::endpoint(&route.route)
    }

    fn receive(
        services: &Services,
        caller: &Caller,
        _route: &Self::Route,
        request: Request<Incoming>,
    ) -> impl Future<Output = Result<Received<Bytes>, ApiError>> + Send {
        body::receive_json(services, caller, request)
    }

    fn body_bytes(body: &Bytes) -> usize {
        body.len()
    }

    fn fingerprint<'a>(
        context: &'a RequestContext,
        _route: &Self::Route,
        body: &'a Bytes,
    ) -> Fingerprint<'a> {
        Fingerprint {
            path: context.path(),
            class: "workflow run",
            body: Cow::Borrowed(body),
            task: O::IS_TASK,
        }
    }

    fn parse(route: Self::Route, body: Bytes) -> Result<Self, ApiError> {
        let RunRoute { route, version } = route;
        let request = RunRequest::read(&body)?;
        let mapped = request.mapped(&version.workflow)?;
        let confirmations = request.confirmed(&version.workflow)?;
        let run = RunFacts {
            confirmations,
            body_hash: run_request::body_hash(&version, &body),
        };
        let operation = O::parse(route, O::body_of(mapped))?;
        Ok(Self { operation, run })
    }

    fn model(&self) -> &str {
        self.operation.model()
    }

    fn set_model(&mut self, model: String) {
        self.operation.set_model(model);
    }

    fn name(&self) -> &'static str {
        self.operation.name()
    }

    fn quoted_body(&self) -> Cow<'_, [u8]> {
        self.operation.quoted_body()
    }

    fn offer(
        &self,
        services: &Services,
        caller: &Caller,
        headers: &HeaderMap,
    ) -> impl Future<Output = Result<Offer, ApiError>> + Send {
        self.operation.offer(services, caller, headers)
    }

    fn check_endpoint(&self, sale: &Sale) -> Result<(), ApiError> {
        self.operation.check_endpoint(sale)
    }

    fn field(&self, name: &str) -> Option<Value> {
        self.operation.field(name)
    }

    fn price(
        self,
        services: &Services,
        pricing: Pricing<'_>,
    ) -> impl Future<Output = Result<Self::Priced, ApiError>> + Send {
        self.operation.price(services, pricing)
    }
}

impl Runnable for Chat {
    fn body_of(body: Bytes) -> Bytes {
        body
    }

    async fn begin(
        services: &Arc<Services>,
        context: &Arc<RequestContext>,
        priced: Quoted,
        permit: InFlightPermit,
    ) -> Result<Response, ApiError> {
        pipeline::start(services, context, Box::new(priced), permit).await
    }
}

impl Runnable for Images {
    fn body_of(body: Bytes) -> JsonOrForm {
        JsonOrForm::Json(body)
    }

    async fn begin(
        services: &Arc<Services>,
        context: &Arc<RequestContext>,
        priced: ImagesExecution,
        permit: InFlightPermit,
    ) -> Result<Response, ApiError> {
        pipeline::start(services, context, Box::new(priced), permit).await
    }
}

impl Runnable for Speech {
    fn body_of(body: Bytes) -> Bytes {
        body
    }

    async fn begin(
        services: &Arc<Services>,
        context: &Arc<RequestContext>,
        priced: SpeechExecution,
        permit: InFlightPermit,
    ) -> Result<Response, ApiError> {
        pipeline::start(services, context, Box::new(priced), permit).await
    }
}

impl Runnable for Video {
    const IS_TASK: bool = true;

    fn body_of(body: Bytes) -> VideoBody {
        VideoBody::Json(body)
    }

    async fn begin(
        services: &Arc<Services>,
        context: &Arc<RequestContext>,
        priced: PricedVideo,
        permit: InFlightPermit,
    ) -> Result<Response, ApiError> {
        views::start(services, context, priced, permit).await
    }
}
