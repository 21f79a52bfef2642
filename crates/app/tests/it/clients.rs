//! Programs that people use, unmodified, through `trunkline dev`: agents that call tools and go on with
//! what they got, and the vendors' SDKs in long conversations. Each against upstreams of every format.

mod ledger_rows;
mod claude;
mod codex;
mod gemini;
mod opencode;
mod sandbox;
mod sdks;
mod upstreams;
mod small_balances;
