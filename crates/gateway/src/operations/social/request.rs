//! One request for social data: its key, its pair, its account, its cell, its parameters and its price, in
//! this order. Nothing has moved yet.

use std::borrow::Cow;
use std::sync::Arc;

use http::{HeaderMap, Request};
use hyper::body::Incoming;
use serde_json::{Map, Value, json};
use trunkline_catalog::{Attributes, FieldReport, PriceClass, Quote, Sale};
use trunkline_ledger::accounts;
use trunkline_social::{Cell, CheckedQuery, RequestError, check, pairs};
use trunkline_types::{Bucket, Money, Usage};

use super::paginate::PageSink;
use crate::caller::Caller;
use crate::error::{ApiError, ErrorCode};
use crate::idempotency::{Fingerprint, IdempotencyPolicy};
use crate::model_alias;
use crate::operation::{Operation, Received};
use crate::priced_call::{Offer, Price, PricedCall, Pricing, Terms};
use crate::quote_lock::{self, QUOTE_HEADER};
use crate::request_context::RequestContext;
use crate::services::Services;
use crate::state::{SOCIAL, model_name};

/// One request for social data, as its path and query say it.
pub(crate) struct Social {
    platform: String,
    capability: String,
    query: String,
    /// What the pair would be called as a cell, whether there is one or not.
    model: String,
}

/// A path of social data.
#[derive(Debug, Clone)]
pub(crate) struct SocialRoute {
    pub(crate) platform: String,
    pub(crate) capability: String,
}

/// One page of social data with its price.
pub(crate) struct SocialExecution {
    pub(super) call: PricedCall,
    pub(super) query: CheckedQuery,
    pub(super) price: Price,
    /// Where the page goes, where it is one of many.
    pub(super) page: Option<PageSink>,
}

impl Social {
    pub(super) fn new(route: SocialRoute, query: String) -> Self {
        Self {
            model: model_name(&route.platform, &route.capability),
            platform: route.platform,
            capability: route.capability,
            query,
        }
    }
}

impl Operation for Social {
    type Route = SocialRoute;
    type Body = String;
    type Priced = SocialExecution;

    const IDEMPOTENCY: IdempotencyPolicy = IdempotencyPolicy::Ignored;

    fn endpoint(_route: &SocialRoute) -> &'static str {
        SOCIAL
    }

    fn name(&self) -> &'static str {
        SOCIAL
    }

    async fn receive(
        services: &Services,
        caller: &Caller,
        _route: &SocialRoute,
        request: Request<Incoming>,
    ) -> Result<Received<String>, ApiError> {
        let permit = services.edge.acquire(caller.account.id, 0)?;
        let (head, _) = request.into_parts();
        Ok(Received {
            body: head.uri.query().unwrap_or_default().to_owned(),
            headers: head.headers,
            permit,
        })
    }

    fn body_bytes(_body: &String) -> usize {
        0
    }

    fn fingerprint<'a>(
        context: &'a RequestContext,
        _route: &SocialRoute,
        body: &'a String,
    ) -> Fingerprint<'a> {
        Fingerprint {
            path: context.path(),
            class: SOCIAL,
            body: Cow::Borrowed(body.as_bytes()),
            task: false,
        }
    }

    fn parse(route: SocialRoute, body: String) -> Result<Self, ApiError> {
        Ok(Self::new(route, body))
    }

    fn model(&self) -> &str {
        &self.model
    }

    /// Cells have no aliases.
    fn set_model(&mut self, _model: String) {}

    fn quoted_body(&self) -> Cow<'_, [u8]> {
        Cow::Borrowed(self.query.as_bytes())
    }

    /// The key's rules, the pair, the account, the cell: in this order.
    async fn offer(
        &self,
        services: &Services,
        caller: &Caller,
        _headers: &HeaderMap,
    ) -> Result<Offer, ApiError> {
        let cell = known_cell(services, caller, &self.platform, &self.capability)?;
        check_topped_up(services, caller).await?;
        Ok(Offer {
            sale: find_sale(services, caller, &cell)?,
            at: services.now(),
            maximum: None,
        })
    }

    /// A cell is an endpoint and a model.
    fn check_endpoint(&self, _sale: &Sale) -> Result<(), ApiError> {
        Ok(())
    }

    fn field(&self, name: &str) -> Option<Value> {
        let given = pairs(&self.query)?.into_iter();
        let mut values = given.filter(|pair| pair.name == name);
        values.next()?.value.map(Value::String)
    }

    /// The parameters are checked here; a locked quote is bound to them.
    async fn price(
        self,
        services: &Services,
        mut pricing: Pricing<'_>,
    ) -> Result<SocialExecution, ApiError> {
        let cell = known_cell(services, &pricing.caller, &self.platform, &self.capability)?;
        let checked = check(&cell, &self.query).map_err(refused)?;
        let mut report = FieldReport::default();
        checked
            .notes()
            .into_iter()
            .for_each(|note| report.add(note));
        // The key's rules, looked at before, hold whatever a quote says.
        if let Some(quote) = pricing.headers.get(QUOTE_HEADER) {
            let body = quoted_body(&checked);
            let caller = &pricing.caller;
            let redeemed = quote_lock::redeem(
                services,
                quote,
                caller,
                SOCIAL,
                &cell.model,
                body.as_bytes(),
            );
            // In a box: few calls bring one.
            pricing.offer = Box::pin(redeemed).await?;
        }
        let terms = Terms {
            endpoint: SOCIAL,
            model: cell.model.clone(),
            attributes: Attributes::default(),
            report,
        };
        let mut call = PricedCall::new(pricing, terms)?;
        // The account has topped up, even if memory does not know it yet.
        call.class = PriceClass::Paid;
        let price = call.price(&Usage::unknown().with(Bucket::Calls, 1))?;
        Ok(SocialExecution {
            call,
            query: checked,
            price,
            page: None,
        })
    }
}

/// Whether a further page of a call may be asked for: much may have changed since the last one.
pub(super) fn check_continuation(
    services: &Services,
    execution: &SocialExecution,
) -> Result<(), ApiError> {
    services.edge.in_flight.check_open()?;
    let caller = execution.call.caller.refresh(&services.edge)?;
    let cell = &execution.query.cell;
    let cell = known_cell(
        services,
        &caller,
        &cell.platform.key,
        cell.capability.as_str(),
    )?;
    find_sale(services, &caller, &cell).map(drop)
}

/// The cell of a pair, if the key may use it.
fn known_cell(
    services: &Services,
    caller: &Caller,
    platform: &str,
    capability: &str,
) -> Result<Arc<Cell>, ApiError> {
    caller.check_endpoint(SOCIAL)?;
    check_platform(caller, platform)?;
    let model = model_name(platform, capability);
    if !caller.may_use(&model) {
        let text = format!("this API key may not use {}", truncated(&model));
        return Err(ApiError::new(ErrorCode::ModelNotAllowed, text));
    }
    let counter = services.social_catalog.load_full();
    let cell = counter.cells.get(platform, capability);
    let cell = cell.cloned().ok_or_else(|| {
        let pair = truncated(&format!("{platform}/{capability}"));
        let text = format!("unknown endpoint {pair}; see the social catalog");
        ApiError::new(ErrorCode::NotFound, text)
    })?;
    model_alias::check_demands(services, caller, &cell.model)?;
    Ok(cell)
}

/// What a cell is sold for to this caller. What has no price for it is listed as paused, and so
/// answered as paused.
fn find_sale(services: &Services, caller: &Caller, cell: &Cell) -> Result<Sale, ApiError> {
    let book = &services.catalog.load_full().book;
    let sale = book.sale(&cell.model, caller.group()).ok();
    let is_paused = services.social_catalog.load_full().is_paused(cell);
    sale.filter(|_| !is_paused).ok_or_else(|| paused(cell))
}

/// An account that never topped up is refused. Memory may be a second behind, so the tables are read
/// before a caller that has just topped up is refused.
async fn check_topped_up(services: &Services, caller: &Caller) -> Result<(), ApiError> {
    if caller.account.topped_up_at.is_some() {
        return Ok(());
    }
    match accounts::balance(&services.data, caller.account.id).await {
        Ok(Some(balance)) if balance.topped_up => Ok(()),
        Ok(_) => Err(never_topped_up()),
        Err(_) => Err(ApiError::unavailable()),
    }
}

/// What a quote is for, as JSON: the pair and what was given.
pub(super) fn quoted_body(checked: &CheckedQuery) -> String {
    let given = checked.given();
    let given = given.map(|(param, value)| (param.name.clone(), Value::from(value)));
    let given: Map<String, Value> = given.collect();
    json!({ "model": checked.cell.model, "params": given }).to_string()
}

impl SocialExecution {
    /// The price with its lines.
    pub(super) fn quote(&self) -> Result<Quote<'_>, ApiError> {
        let quote = self.call.quote(&self.price.units);
        quote.map_err(|_| ApiError::unavailable())
    }

    /// The caller's own limit for this call.
    pub(super) fn check_limit(&self, most: Money, name: &str) -> Result<(), ApiError> {
        let price = self.price.amount;
        if price <= most {
            return Ok(());
        }
        let text = format!("this call costs {price} USD, and `{name}` allows {most}");
        Err(ApiError::new(ErrorCode::MaxCostExceeded, text).with_money("required_usd", price))
    }
}

fn check_platform(caller: &Caller, platform: &str) -> Result<(), ApiError> {
    match &caller.key.policy.fields().platforms {
        Some(allowed) if !allowed.iter().any(|word| word == platform) => Err(ApiError::new(
            ErrorCode::EndpointNotAllowed,
            format!("this API key may call {}", allowed.join(", ")),
        )),
        Some(_) | None => Ok(()),
    }
}

/// What a caller has written, as far as it is repeated to it.
fn truncated(text: &str) -> String {
    text.chars().take(64).collect()
}

pub(super) fn never_topped_up() -> ApiError {
    let text = "social data is for accounts with a completed top-up, and trial credit does not pay \
                for it; top up and try again; nothing was charged";
    ApiError::new(ErrorCode::NeverToppedUp, text)
}

fn paused(cell: &Cell) -> ApiError {
    let text = format!(
        "{} is paused, as the catalog says; nothing was charged",
        cell.route()
    );
    ApiError::new(ErrorCode::SocialPaused, text)
}

fn refused(refusal: RequestError) -> ApiError {
    let mut error = ApiError::new(ErrorCode::Invalid(refusal.code), refusal.message);
    error.param = refusal.param;
    error
}
