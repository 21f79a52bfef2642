//! The server that both transports share: it lists the tools, and calls the gateway with the caller's key.

use std::sync::Arc;

use http::request::Parts;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, Implementation, ListToolsResult,
    PaginatedRequestParams, ServerCapabilities, ServerConfig, Tool,
};
use rmcp::service::RequestContext;
use rmcp::{ErrorData, RoleServer, ServerHandler};
use serde_json::json;
use tokio::sync::Semaphore;
use trunkline_types::Secret;

use super::tools::{ToolError, ToolKind};
use crate::commands::gateway_client::{GatewayAddress, GatewayClient};

/// Calls to the gateway at once, of all callers.
const MAX_CALLS: usize = 64;

const INSTRUCTIONS: &str = "Prices, balance and usage of the Trunkline gateway that this agent pays its model calls with. \
Ask for a quote before an expensive call. Before you start a sub-agent, create a sub-key with a cap and an expiry, and \
give the sub-agent that key instead of your own: it cannot spend more. Amounts are exact decimal strings in USD.";

/// One for all callers; a clone for each request shares everything.
#[derive(Clone)]
pub(super) struct McpServer {
    gateway: GatewayAddress,
    /// That of the process. Over HTTP there is none: a caller brings its own.
    key: Option<Secret>,
    calls: Arc<Semaphore>,
}

/// The key that a request over HTTP came with.
#[derive(Clone)]
pub(super) struct CallerKey(pub(super) Secret);

// === impl McpServer ===

impl McpServer {
    pub(super) fn with_key(gateway: GatewayAddress, key: Secret) -> Self {
        Self {
            key: Some(key),
            ..Self::for_callers(gateway)
        }
    }

    pub(super) fn for_callers(gateway: GatewayAddress) -> Self {
        Self {
            gateway,
            key: None,
            calls: Arc::new(Semaphore::new(MAX_CALLS)),
        }
    }

    fn client(&self, context: &RequestContext<RoleServer>) -> Result<GatewayClient, ToolError> {
        let own = || {
            let parts = context.extensions.get::<Parts>()?;
            let CallerKey(key) = parts.extensions.get::<CallerKey>()?;
            Some(key.clone())
        };
        let key = self.key.clone().or_else(own);
        let key = key.ok_or_else(|| {
            ToolError::new("missing_api_key", "the request came without a bearer key")
        })?;
        Ok(self.gateway.with_key(key))
    }

    async fn answer(
        &self,
        tool: ToolKind,
        request: CallToolRequestParams,
        context: &RequestContext<RoleServer>,
    ) -> Result<CallToolResult, ToolError> {
        let Ok(_permit) = self.calls.try_acquire() else {
            return Err(ToolError::new("busy", "too many calls at once; retry"));
        };
        let client = self.client(context)?;
        let answer = tool.call(&client, request.arguments).await?;
        Ok(CallToolResult::structured(answer))
    }
}

impl ServerHandler for McpServer {
    fn get_info(&self) -> ServerConfig {
        let own = Implementation::new("trunkline", env!("CARGO_PKG_VERSION"));
        ServerConfig::new(ServerCapabilities::builder().enable_tools().build())
            .with_server_info(own.with_title("Trunkline"))
            .with_instructions(INSTRUCTIONS)
    }

    async fn list_tools(
        &self,
        _request: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        let tools = ToolKind::ALL
            .iter()
            .map(|tool| tool.description())
            .collect();
        Ok(ListToolsResult::with_all_items(tools))
    }

    fn get_tool(&self, name: &str) -> Option<Tool> {
        ToolKind::named(name).map(ToolKind::description)
    }

    /// What the gateway refuses is the result of a tool, so that the agent reads why. Only a tool that there is
    /// not is an error of the protocol.
    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let Some(tool) = ToolKind::named(&request.name) else {
            let text = format!("there is no tool {:?}", request.name);
            return Err(ErrorData::invalid_params(text, None));
        };
        let answered = self.answer(tool, request, &context).await;
        let result = answered.unwrap_or_else(|error| {
            let ToolError {
                code,
                message,
                status,
            } = error;
            CallToolResult::structured_error(json!({
                "error": { "code": code, "message": message, "status": status },
            }))
        });
        Ok(result.into())
    }
}
