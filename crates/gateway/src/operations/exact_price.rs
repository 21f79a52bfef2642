//! A call whose price is known before anything is made, and what such calls have in common at a channel.

use http::HeaderMap;
use trunkline_catalog::{Attributes, FieldReport, RequestError, Sale};
use trunkline_generation::{Encoded, VendorFailure};
use trunkline_types::{EndpointType, Money, Usage};

use crate::channels::{Channel, ChannelQuery, seed_of_id};
use crate::error::{ApiError, ErrorCode, refused};
use crate::failover::{
    AfterSent, Built, Candidates, Classified, DEFAULT_COOL_SECONDS, RetryPolicy, To, refused_by,
};
use crate::headers::MAX_COST_HEADER;
use crate::priced_call::{Price, PricedCall, Pricing, Terms};
use crate::services::Services;
use crate::vendors;

/// What is to be priced: the endpoint, the model, what it is billed by at most and what of its fields.
pub(super) struct Planned {
    pub(super) name: &'static str,
    pub(super) endpoint: EndpointType,
    pub(super) model: String,
    pub(super) usage: Usage,
    pub(super) attributes: Attributes,
    pub(super) report: FieldReport,
}

/// A call with its price.
pub(super) struct Priced {
    pub(super) call: PricedCall,
    pub(super) endpoint: EndpointType,
    /// What it comes to if all is made that was asked for.
    pub(super) price: Price,
}

impl Priced {
    pub(super) fn new(pricing: Pricing<'_>, planned: Planned) -> Result<Self, ApiError> {
        let terms = Terms {
            endpoint: planned.name,
            model: planned.model,
            attributes: planned.attributes,
            report: planned.report,
        };
        let call = PricedCall::new(pricing, terms)?;
        let price = call.price(&planned.usage)?;
        Ok(Self {
            call,
            endpoint: planned.endpoint,
            price,
        })
    }

    pub(super) fn check_max_cost(&self, most: Money) -> Result<(), ApiError> {
        let amount = self.price.amount;
        if amount <= most {
            return Ok(());
        }
        let text =
            format!("this call may cost {amount} USD, and `{MAX_COST_HEADER}` allows {most}");
        Err(ApiError::new(ErrorCode::MaxCostExceeded, text).with_money("required_usd", amount))
    }

    pub(super) fn query(&self, services: &Services) -> ChannelQuery<'_> {
        ChannelQuery {
            model: &self.call.model,
            account: self.call.caller.account.id,
            now: services.now(),
        }
    }

    /// An answer of a channel that had begun did not end as one.
    pub(super) fn failed_at(&self, services: &Services, channel: &Channel) {
        let account = self.call.caller.account.id;
        channel.health.failed(account, services.now());
    }

    /// The channels whose provider has the endpoint.
    pub(super) fn candidates(&self, services: &Services, after_sent: AfterSent) -> Candidates {
        let call = &self.call;
        let seed = seed_of_id(call.id);
        let registry = services.channels.load_full();
        let mut channels = registry.order(self.query(services), call.route_rules(), seed);
        channels.retain(|channel| channel.provider.serves(self.endpoint));
        Candidates {
            channels,
            model: call.model.clone(),
            account: call.caller.account.id,
            seed,
            credential: None,
            policy: RetryPolicy {
                attempts: services.settings.max_attempts,
                after_sent,
            },
        }
    }

    /// What a channel is sent, unless it cannot be told what was asked, or in strict mode not all of it.
    pub(super) fn built(&self, written: Result<Encoded, RequestError>) -> Built<Encoded> {
        match written {
            Ok(written) => match self.call.strict_violation(&written.notes) {
                None => Built::Ready(written),
                Some(error) => Built::Unsendable(error),
            },
            Err(refusal) => Built::Unsendable(refused(refusal)),
        }
    }
}

/// Classifies a vendor's failure. What a refusal is about is said by the rows of its provider.
pub(super) fn classified<T>(
    services: &Services,
    to: To<'_>,
    failure: VendorFailure,
) -> Classified<T> {
    match failure {
        VendorFailure::Refused(error) | VendorFailure::Credential(error) => {
            let (headers, codes) = (HeaderMap::new(), [Some(error.code.as_str()), None]);
            refused_by(to, &headers, error.status, codes, None).unwrap_or_else(|| {
                Classified::RequestRejected(vendors::vendor_error(services, &error))
            })
        }
        VendorFailure::Limited { retry_after } => {
            Classified::RateLimited(retry_after.unwrap_or(DEFAULT_COOL_SECONDS))
        }
        VendorFailure::Busy(_) => Classified::Unavailable,
        VendorFailure::Failed(_) => Classified::Failed,
    }
}

/// Whether a model is sold at an endpoint at all.
pub(super) fn check_endpoint(
    sale: &Sale,
    model: &str,
    endpoint: EndpointType,
) -> Result<(), ApiError> {
    let entry = sale.model.entry();
    if entry.serves(endpoint) {
        return Ok(());
    }
    let others: Vec<&str> = entry.endpoints.iter().map(|other| other.name()).collect();
    let text = format!(
        "{model:?} does not take {}; it takes {}",
        endpoint.name(),
        others.join(", ")
    );
    Err(ApiError::new(ErrorCode::EndpointNotSupported, text).at("model"))
}
