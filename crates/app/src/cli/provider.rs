//! `trunkline provider`: what providers get of a request.

use clap::{Args, Subcommand};

#[derive(Debug, Subcommand)]
pub(crate) enum ProviderCommand {
    /// Let a provider have a field, or a tool that it runs, which is on no list.
    #[command(
        after_help = "What is on no list is not sent: a vendor may bill it. The metric fields_dropped_total says what callers
send. The field is written to fields/NAME.toml in providers.folder; nodes that read the same folder take it over
within seconds. A tool that the vendor runs is not charged to the caller.

Examples:
  trunkline provider pass-field openai prompt_cache_ttl
  trunkline provider pass-field xai 'tools[].type=x_search' --format openai_responses
  trunkline provider pass-field anthropic 'messages[].content[].foo' --format claude_messages --undo"
    )]
    PassField(PassField),
}

#[derive(Debug, Args)]
pub(crate) struct PassField {
    /// The provider's name.
    pub(crate) provider: String,
    /// The path of the field, with [] behind a list: `foo`, `messages[].foo`, `tools[].type=foo`.
    pub(crate) field: String,
    /// The format of the request, or the pass-through endpoint.
    #[arg(long, default_value = "openai_chat")]
    pub(crate) format: String,
    /// Do not send it any more.
    #[arg(long)]
    pub(crate) undo: bool,
}
