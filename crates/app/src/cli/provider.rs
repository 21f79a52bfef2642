//! `trunkline provider`: what a channel can be opened to, and what providers get of a request.

use clap::{Args, Subcommand};

#[derive(Debug, Subcommand)]
pub(crate) enum ProviderCommand {
    /// List the providers that a channel can be opened to, what they speak and how that was proved.
    #[command(
        after_help = "Those built in and those of providers.folder. Needs no database. The proof is live (calls to the vendor),
sdk (the vendor's SDK against the simulator) or documented (the vendor's documents only).

Examples:
  trunkline provider list
  trunkline provider list --json | jq -r '.providers[] | select(.proof == \"documented\") | .name'"
    )]
    List,

    /// Show one provider: address, authentication, formats, quirks, proof, passed fields and times.
    #[command(after_help = "Example:
  trunkline provider show deepinfra")]
    Show {
        /// The provider's name.
        name: String,
    },

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
