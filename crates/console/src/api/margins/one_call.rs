//! `GET /api/operator/margins/calls/{request_id}`: the cost of one call, line by line, by the price list that its
//! channel had at that time.

use axum::Json;
use axum::extract::rejection::PathRejection;
use axum::extract::{Path, State};
use serde::Serialize;
use trunkline_ledger::margins::{self, CallMargin};
use trunkline_store::channels::{self, Channel, ChannelId, CostBook, DatedCost};
use trunkline_types::{RequestId, Units};
use utoipa::ToSchema;

use super::Names;
use super::calls::MarginCall;
use crate::error::{ApiError, ConsoleErrorCode, ErrorBody};
use crate::operator_session::Operator;
use crate::shared::Shared;
use crate::times::rfc3339;

/// A call with its cost explained.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct MarginCallDetail {
    #[serde(flatten)]
    call: MarginCall,
    /// The tier it was charged under.
    #[schema(required)]
    tier: Option<String>,
    /// The version of the prices it was sold at.
    price_version: String,
    /// The channel's price list at that time; null if it had none.
    #[schema(required)]
    price_list: Option<PriceList>,
    /// How the cost was made up; empty if it is unknown or the price list does not explain it.
    cost_lines: Vec<CostLine>,
}

/// A dated price list of a channel.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct PriceList {
    /// Since when it applied.
    #[schema(format = DateTime)]
    since: String,
    /// ISO 4217.
    currency: String,
    /// USD for one unit of the currency, as a fraction.
    rate: String,
    /// The day of the rate.
    #[schema(format = DateTime)]
    rate_as_of: String,
    /// The upstream's name of the model.
    upstream_model: String,
}

/// One line of a cost.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct CostLine {
    /// What is billed.
    face: String,
    units: u64,
    /// Price of one unit in 10^-12 of the currency.
    price_pico: u64,
    /// Units times price in USD, rounded; the cost is rounded once over all lines.
    amount_usd: String,
}

/// Returns a call with its cost explained.
#[utoipa::path(get, path = "/api/operator/margins/calls/{request_id}", operation_id = "margin_call", tag = "operator",
    params(("request_id" = String, Path, description = "Request id")),
    responses(
        (status = 200, description = "The call", body = MarginCallDetail),
        (status = 404, description = "Unknown, still running, or not an operator", body = ErrorBody)
    ))]
pub(super) async fn show(
    State(shared): State<Shared>,
    _operator: Operator,
    path: Result<Path<String>, PathRejection>,
) -> Result<Json<MarginCallDetail>, ApiError> {
    let unknown = || ApiError::new(ConsoleErrorCode::NotFound, "no such completed call");
    let id: RequestId = path
        .map_err(|_| unknown())?
        .parse()
        .map_err(|_| unknown())?;
    let call = margins::one_call(&shared.data, id).await?;
    let call = call.ok_or_else(unknown)?;
    let names = Names::read(&shared, true, &[call.account]).await?;
    let (channel, dated) = cost_of(&shared, &call).await?;
    let explained = explain(&call, channel.as_ref(), dated.as_ref());
    let (price_list, cost_lines) =
        explained.map_or((None, Vec::new()), |(list, lines)| (Some(list), lines));
    Ok(Json(MarginCallDetail {
        tier: call.tier.clone(),
        price_version: call.price_version.clone(),
        call: MarginCall::of(&call, &names),
        price_list,
        cost_lines,
    }))
}

async fn cost_of(
    shared: &Shared,
    call: &CallMargin,
) -> Result<(Option<Channel>, Option<DatedCost>), ApiError> {
    let mut session = shared.data.session().await?;
    let all = channels::list(&mut session).await?;
    let channel = all.into_iter().find(|one| one.id.number() == call.channel);
    let id = ChannelId::new(call.channel);
    let dated = channels::cost_at(&mut session, id, call.settled_at).await?;
    Ok((channel, dated))
}

/// The price list and the lines of a cost; no lines if they do not come to what the ledger has.
fn explain(
    call: &CallMargin,
    channel: Option<&Channel>,
    dated: Option<&DatedCost>,
) -> Option<(PriceList, Vec<CostLine>)> {
    let dated = dated?;
    let book = CostBook::from_json(dated.cost.as_ref()?).ok()?;
    let upstream = channel?.models.get(&call.model)?;
    let list = PriceList {
        since: rfc3339(dated.since),
        currency: book.currency().to_owned(),
        rate: book.rate().to_string(),
        rate_as_of: rfc3339(book.as_of()),
        upstream_model: upstream.clone(),
    };
    let units: Units = serde_json::from_value(call.units.clone()).unwrap_or_default();
    let is_same = call.cost.is_some() && book.cost_usd(upstream, &units) == call.cost;
    let lines = if is_same {
        lines(&book, upstream, &units)
    } else {
        Vec::new()
    };
    Some((list, lines))
}

fn lines(book: &CostBook, upstream: &str, units: &Units) -> Vec<CostLine> {
    let line = |(face, quantity)| {
        let price = book.models().get(upstream)?.get(&face)?;
        let alone = Units::none().plus(face, quantity).ok()?;
        Some(CostLine {
            face: face.to_string(),
            units: quantity,
            price_pico: price.pico(),
            amount_usd: book.cost_usd(upstream, &alone)?.to_string(),
        })
    };
    units.iter().filter_map(line).collect()
}
