//! Programs that people use, unmodified, through `trunkline dev`: agents that call tools and go on with
//! what they got, and the vendors' SDKs in long conversations. Each against upstreams of every format.

#[cfg(test)]
mod books;
#[cfg(test)]
mod claude;
#[cfg(test)]
mod codex;
#[cfg(test)]
#[path = "../sdk/dev.rs"]
mod dev;
#[cfg(test)]
mod gemini;
#[cfg(test)]
mod opencode;
#[cfg(test)]
mod scratch;
#[cfg(test)]
mod sdks;
#[cfg(test)]
mod upstreams;
#[cfg(test)]
mod wallets;
