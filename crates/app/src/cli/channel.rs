//! The words of `trunkline channel`. A credential is never one of them: it comes from a file, from a
//! variable of the environment or from standard input, because arguments are seen by every user of the
//! machine and kept in the shell's history.

use std::path::PathBuf;

use clap::{Args, Subcommand};
use trunkline_store::channels::{PRIORITY_MAX, WEIGHT_MAX};

use super::values::{Labelled, OrNone, Pair, labelled, model, number_or_none, pair, text_or_none};

#[derive(Debug, Subcommand)]
pub(crate) enum ChannelCommand {
    /// Add a channel with its credentials, which are kept sealed.
    #[command(
        after_help = "A credential is read from a file, a variable or standard input and is never printed; lists show
its last four characters. Give several by repeating the options with labels. The name and the labels
are part of the seals and can never be changed. The proxy's file holds one line such as
socks5://user:password@10.0.0.1:1080 and is sealed too. The cost file is JSON; docs/operate/channels.md shows
one. The database login needs the role trunkline_console.

Examples:
  trunkline channel add --name openai-1 --provider openai --key-env OPENAI_API_KEY --model gpt-5
  trunkline channel add --name eu --provider openai_compatible --base-url https://llm.example.com/v1 \\
      --key-file a=keys/a --key-file b=keys/b --model fast=qwen3-32b --region eu --group vip
  pass show upstream/deepseek | trunkline channel add --name ds --provider deepseek --key-stdin \\
      --model deepseek-v4-pro --priority 1 --cost-file deepseek.json --json"
    )]
    Add(Box<AddChannel>),

    /// List the channels in the order in which they are tried.
    #[command(after_help = "Examples:
  trunkline channel list
  trunkline channel list --json | jq '.channels[] | select(.state == \"active\") | .name'")]
    List,

    /// Change a channel while it serves.
    #[command(
        after_help = "What is not named stays. --model and --group replace the whole list; --add-model and --remove-model
change it. none removes a base URL of its own, a region, a proxy, a cost book or a limit. Nodes take a
change over within seconds; running calls end as they began. A name and a provider never change: clone
the channel instead.

Examples:
  trunkline channel set openai-1 --priority 1 --weight 3 --rpm 500
  trunkline channel set openai-1 --add-model gpt-5-mini --remove-model gpt-4
  trunkline channel set eu --base-url https://llm2.example.com/v1 --region none --all-groups"
    )]
    Set {
        /// The channel's name.
        name: String,
        #[command(flatten)]
        changes: Box<ChannelChanges>,
    },

    /// Add, replace and remove the credentials of a channel while it serves.
    #[command(subcommand)]
    Key(ChannelKeyCommand),

    /// Add a channel like another one, with the same credentials.
    #[command(
        after_help = "Takes the options of `channel set` for what is to differ. The credentials are sealed anew for the
new name.

Examples:
  trunkline channel clone openai-1 openai-2
  trunkline channel clone openai-1 openai-eu --base-url https://eu.api.openai.com/v1 --region eu"
    )]
    Clone {
        /// The channel's name.
        name: String,
        /// The name of the new one.
        new: String,
        #[command(flatten)]
        changes: Box<ChannelChanges>,
    },

    /// Ask the upstream for its models with each credential of a channel.
    #[command(
        after_help = "Calls GET {base_url}/models once for each credential, through the channel's proxy, and says what
came back and which of the channel's models are not among those listed. Exits 1 if a credential is
refused, nothing answers, or a model of the channel is not listed. Changes nothing.

Examples:
  trunkline channel test openai-1
  trunkline channel test --all           every channel that takes calls
  trunkline channel test openai-1 --json | jq .credentials"
    )]
    Test {
        /// The channel's name.
        #[arg(required_unless_present = "all", conflicts_with = "all")]
        name: Option<String>,
        /// Every active channel.
        #[arg(long)]
        all: bool,
    },

    /// Show how channels did: availability, median first byte and tokens a second, by model and endpoint.
    #[command(
        after_help = "Nodes add what they saw every half minute, in spans of five minutes that are kept for 90 days. A call
that failed over counts at each channel that it was sent to. The median is right within a fifth.

Examples:
  trunkline channel health
  trunkline channel health openai-1 --hours 720
  trunkline channel health --json | jq '.health[] | select(.availability_ppm < 990000)'"
    )]
    Health {
        /// The channel's name; all without one.
        name: Option<String>,
        /// How far to look back.
        #[arg(long, default_value_t = 24, value_parser = clap::value_parser!(u32).range(1..=2160))]
        hours: u32,
    },

    /// Give a channel no new calls; those it has go on.
    #[command(after_help = "Examples:
  trunkline channel drain openai-1
  trunkline channel drain openai-1 --undo")]
    Drain {
        /// The channel's name.
        name: String,
        /// Let it take calls again.
        #[arg(long)]
        undo: bool,
    },

    /// Take a channel's paused credentials back into use.
    #[command(
        after_help = "A credential that an upstream refused (401, 402, 403) is paused on every node until it is
resumed. `channel list` shows why. Nodes use it again within seconds.

Example:
  trunkline channel test openai-1 && trunkline channel resume openai-1"
    )]
    Resume {
        /// The channel's name.
        name: String,
    },

    /// List the providers that a channel can be opened to, and what they speak.
    #[command(
        after_help = "The same list as `trunkline provider list`: those built in and those of providers.folder. Needs no database.

Examples:
  trunkline channel providers
  trunkline channel providers --json | jq '.providers[] | select(.endpoint_types | index(\"audio-speech\")) | .name'"
    )]
    Providers,
}

#[derive(Debug, Args)]
pub(crate) struct AddChannel {
    /// What people call it, for ever.
    #[arg(long)]
    pub(crate) name: String,
    /// A built-in provider, or one of a file in providers.folder.
    #[arg(long, value_name = "NAME")]
    pub(crate) provider: String,
    /// Where it is; the provider's address if left out.
    #[arg(long, value_name = "URL")]
    pub(crate) base_url: Option<String>,
    #[command(flatten)]
    pub(crate) keys: KeySources,
    /// A model it serves, under our name and the upstream's; repeat it for more.
    #[arg(long = "model", value_name = "PUBLIC[=UPSTREAM]", value_parser = model, required = true)]
    pub(crate) models: Vec<Pair>,
    /// A group it serves; repeat it for more. All groups if left out.
    #[arg(long = "group", value_name = "GROUP")]
    pub(crate) groups: Vec<String>,
    /// Where its calls are served.
    #[arg(long)]
    pub(crate) region: Option<String>,
    /// Where it keeps data.
    #[arg(long)]
    pub(crate) residency: Option<String>,
    /// It keeps nothing of requests and responses.
    #[arg(long)]
    pub(crate) zero_retention: bool,
    /// Lower is tried first.
    #[arg(long, value_name = "N", default_value_t = 0,
        value_parser = clap::value_parser!(i32).range(0..=i64::from(PRIORITY_MAX)))]
    pub(crate) priority: i32,
    /// How often it is chosen among channels of one priority.
    #[arg(long, value_name = "N", default_value_t = 1,
        value_parser = clap::value_parser!(u32).range(1..=i64::from(WEIGHT_MAX)))]
    pub(crate) weight: u32,
    /// A header to send along, not a secret; repeat it for more.
    #[arg(long = "header", value_name = "NAME=VALUE", value_parser = pair)]
    pub(crate) headers: Vec<Pair>,
    /// A file that holds the address of an egress proxy, http:// or socks5://.
    #[arg(long, value_name = "FILE")]
    pub(crate) proxy_file: Option<PathBuf>,
    /// A file that holds the cost book.
    #[arg(long, value_name = "FILE")]
    pub(crate) cost_file: Option<PathBuf>,
    /// Calls a minute over all nodes.
    #[arg(long, value_name = "N")]
    pub(crate) rpm: Option<i64>,
    /// Calls at once over all nodes.
    #[arg(long, value_name = "N")]
    pub(crate) concurrent: Option<i64>,
}

/// Where credentials come from.
#[derive(Debug, Args)]
pub(crate) struct KeySources {
    /// A file that holds a credential; repeat it for more.
    #[arg(long = "key-file", value_name = "[LABEL=]FILE", value_parser = labelled)]
    pub(crate) key_files: Vec<Labelled>,
    /// A variable of the environment that holds a credential; repeat it for more.
    #[arg(long = "key-env", value_name = "[LABEL=]VARIABLE", value_parser = labelled)]
    pub(crate) key_variables: Vec<Labelled>,
    /// Read a credential from standard input.
    #[arg(long, value_name = "LABEL", num_args = 0..=1, default_missing_value = "main")]
    pub(crate) key_stdin: Option<String>,
}

#[derive(Debug, Subcommand)]
pub(crate) enum ChannelKeyCommand {
    /// Add credentials to a channel.
    #[command(after_help = "Examples:
  trunkline channel key add openai-1 --key-file second=keys/second
  pass show openai/third | trunkline channel key add openai-1 --key-stdin third")]
    Add {
        /// The channel's name.
        name: String,
        #[command(flatten)]
        keys: KeySources,
    },

    /// Replace the secret of a credential. A pause of the old one ends.
    #[command(
        after_help = "The label says which one. Calls that run with the old secret end with it; new ones use the new
secret within seconds.

Example:
  trunkline channel key replace openai-1 --key-file main=keys/new"
    )]
    Replace {
        /// The channel's name.
        name: String,
        #[command(flatten)]
        keys: KeySources,
    },

    /// Delete a credential of a channel.
    #[command(
        after_help = "The last one cannot be removed. One that tasks run with is kept unless --force gives them up: their
results cannot be asked for without it, and they end as failed.

Example:
  trunkline channel key remove openai-1 second"
    )]
    Remove {
        /// The channel's name.
        name: String,
        /// The credential's label.
        label: String,
        /// Give up tasks that run with it.
        #[arg(long)]
        force: bool,
    },
}

/// What may be changed of a channel.
#[derive(Debug, Args)]
pub(crate) struct ChannelChanges {
    /// Where it is; none for the provider's address.
    #[arg(long, value_name = "URL|none", value_parser = text_or_none)]
    pub(crate) base_url: Option<OrNone<String>>,
    /// Lower is tried first.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(i32).range(0..=i64::from(PRIORITY_MAX)))]
    pub(crate) priority: Option<i32>,
    /// How often it is chosen among channels of one priority.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=i64::from(WEIGHT_MAX)))]
    pub(crate) weight: Option<u32>,
    /// Where its calls are served.
    #[arg(long, value_name = "REGION|none", value_parser = text_or_none)]
    pub(crate) region: Option<OrNone<String>>,
    /// Where it keeps data.
    #[arg(long, value_name = "RESIDENCY|none", value_parser = text_or_none)]
    pub(crate) residency: Option<OrNone<String>>,
    /// Whether it keeps nothing of requests and responses.
    #[arg(long, value_name = "true|false")]
    pub(crate) zero_retention: Option<bool>,
    /// The models it serves, instead of those of before; repeat it for more.
    #[arg(long = "model", value_name = "PUBLIC[=UPSTREAM]", value_parser = model)]
    pub(crate) models: Vec<Pair>,
    /// A model more, or another name of one at the upstream; repeat it for more.
    #[arg(long = "add-model", value_name = "PUBLIC[=UPSTREAM]", value_parser = model)]
    pub(crate) add_models: Vec<Pair>,
    /// A model less, by our name; repeat it for more.
    #[arg(long = "remove-model", value_name = "PUBLIC")]
    pub(crate) remove_models: Vec<String>,
    /// The groups it serves, instead of those of before; repeat it for more.
    #[arg(long = "group", value_name = "GROUP", conflicts_with = "all_groups")]
    pub(crate) groups: Vec<String>,
    /// Serve all groups.
    #[arg(long)]
    pub(crate) all_groups: bool,
    /// A header to send along, not a secret; repeat it for more.
    #[arg(long = "header", value_name = "NAME=VALUE", value_parser = pair)]
    pub(crate) headers: Vec<Pair>,
    /// A header to send no more; repeat it for more.
    #[arg(long = "remove-header", value_name = "NAME")]
    pub(crate) remove_headers: Vec<String>,
    /// A file that holds the address of an egress proxy; none for no proxy.
    #[arg(long, value_name = "FILE|none", value_parser = text_or_none)]
    pub(crate) proxy_file: Option<OrNone<String>>,
    /// A file that holds the cost book; none for no book.
    #[arg(long, value_name = "FILE|none", value_parser = text_or_none)]
    pub(crate) cost_file: Option<OrNone<String>>,
    /// Calls a minute over all nodes.
    #[arg(long, value_name = "N|none", value_parser = number_or_none)]
    pub(crate) rpm: Option<OrNone<i64>>,
    /// Calls at once over all nodes.
    #[arg(long, value_name = "N|none", value_parser = number_or_none)]
    pub(crate) concurrent: Option<OrNone<i64>>,
}
