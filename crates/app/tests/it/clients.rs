//! Programs that people use, unmodified, through `trunkline dev`: agents that call tools and go on with
//! what they got, and the vendors' SDKs in long conversations. Each against upstreams of every format.

mod capped;
mod claude;
mod codex;
mod counted_line;
mod gemini;
mod ledger_rows;
mod mcp;
mod opencode;
mod sandbox;
mod sdks;
mod small_balances;
mod upstreams;
