//! The names in spans, in one place. Those of `gen_ai` follow the OpenTelemetry conventions for
//! generative AI, which are still in development; a change there is a change here and nowhere else.

pub(super) const SCOPE: &str = "trunkline-gateway";
pub(super) const SERVICE: &str = "trunkline";

// === of the conventions ===

pub(super) const SERVICE_NAME: &str = "service.name";
pub(super) const SERVICE_VERSION: &str = "service.version";
pub(super) const SERVICE_INSTANCE_ID: &str = "service.instance.id";
pub(super) const ERROR_TYPE: &str = "error.type";
pub(super) const HTTP_STATUS: &str = "http.response.status_code";
pub(super) const OPERATION_NAME: &str = "gen_ai.operation.name";
pub(super) const PROVIDER_NAME: &str = "gen_ai.provider.name";
pub(super) const REQUEST_MODEL: &str = "gen_ai.request.model";
pub(super) const RESPONSE_MODEL: &str = "gen_ai.response.model";
pub(super) const FINISH_REASONS: &str = "gen_ai.response.finish_reasons";
pub(super) const INPUT_TOKENS: &str = "gen_ai.usage.input_tokens";
pub(super) const OUTPUT_TOKENS: &str = "gen_ai.usage.output_tokens";
/// The value of [`OPERATION_NAME`] for chat completions.
pub(super) const CHAT: &str = "chat";

// === our own ===

pub(super) const REQUEST_ID: &str = "trunkline.request.id";
pub(super) const COST_NANOS: &str = "trunkline.cost.nanos";
pub(super) const OUTCOME: &str = "trunkline.outcome";
pub(super) const TTFT_MS: &str = "trunkline.ttft_ms";
pub(super) const STREAM: &str = "trunkline.stream";
pub(super) const ATTEMPTS_COUNT: &str = "trunkline.attempts_count";
pub(super) const CHANNEL_NAME: &str = "trunkline.channel.name";
pub(super) const ATTEMPT_NUMBER: &str = "trunkline.attempt.number";
