//! The steps of a request, in the order of the pipeline. A request's context records each one.

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step {
    /// The key is known, and may use the endpoint.
    Authenticate,
    /// A place among the requests in flight is taken.
    Permit,
    Body,
    /// The request is no duplicate.
    Idempotency,
    Parse,
    /// The model that an alias stands for is known.
    Alias,
    /// The model has a price for the caller.
    Offer,
    /// The request has a price.
    Quote,
    /// The caller's own limit allows the price.
    MaxCost,
    /// A channel serves the model.
    Route,
    /// The rate limits allow the request.
    RateLimits,
    /// A task of its own has it.
    Detach,
    Reserve,
    Failover,
    /// The answer was passed on as far as that may happen before the charge.
    Relay,
    /// What the answer came to is known.
    Meter,
    Settle,
    /// The client has the answer.
    Deliver,
    Record,
}

impl Step {
    /// Whether the steps of requests are in the log.
    pub(crate) fn are_logged() -> bool {
        tracing::enabled!(target: "trunkline::steps", tracing::Level::TRACE)
    }

    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Authenticate => "authenticate",
            Self::Permit => "permit",
            Self::Body => "body",
            Self::Idempotency => "idempotency",
            Self::Parse => "parse",
            Self::Alias => "alias",
            Self::Offer => "offer",
            Self::Quote => "quote",
            Self::MaxCost => "max_cost",
            Self::Route => "route",
            Self::RateLimits => "rate_limits",
            Self::Detach => "detach",
            Self::Reserve => "reserve",
            Self::Failover => "failover",
            Self::Relay => "relay",
            Self::Meter => "meter",
            Self::Settle => "settle",
            Self::Deliver => "deliver",
            Self::Record => "record",
        }
    }

    /// Once a request.
    pub const ACCEPT: [Self; 5] = [
        Self::Authenticate,
        Self::Permit,
        Self::Body,
        Self::Idempotency,
        Self::Parse,
    ];

    /// Once for each thing that is charged.
    pub const EXECUTE: [Self; 14] = [
        Self::Alias,
        Self::Offer,
        Self::Quote,
        Self::MaxCost,
        Self::Route,
        Self::RateLimits,
        Self::Detach,
        Self::Reserve,
        Self::Failover,
        Self::Relay,
        Self::Meter,
        Self::Settle,
        Self::Deliver,
        Self::Record,
    ];
}
