//! The command line: words, help texts and examples.

mod account;
mod budget;
mod catalog;
mod channel;
mod code;
mod gateway_check;
mod import;
mod init;
mod key;
mod limit;
mod losses;
mod mcp;
mod payment;
mod people;
mod provider;
mod receipts;
mod run;
mod serve;
mod social;
mod values;
mod workflow;

use std::path::PathBuf;

use clap::{Parser, Subcommand};

pub(crate) use account::{
    AccountCommand, AccountRoutesArguments, AliasCommand, CloseAccount, CreateAccount, Kind,
    SearchAccounts, TopUpArguments,
};
pub(crate) use budget::{BudgetCommand, PeriodWord, SetBudget};
pub(crate) use catalog::{
    CatalogCommand, CatalogDbCommand, CatalogFiles, ImportCatalog, SetPrice, Source, SyncPrices,
};
pub(crate) use channel::{
    AddChannel, ChannelChanges, ChannelCommand, ChannelKeyCommand, KeySources,
};
pub(crate) use code::{CodeCommand, CreateCodes, RevokeCodes, WalletWord};
pub(crate) use gateway_check::GatewayCheckArguments;
pub(crate) use import::{ImportCommand, ImportLitellm, ImportNewApi};
pub(crate) use init::{DatabaseChoice, ETC_FOLDER, InitArguments, database as read_database};
pub(crate) use key::{CreateKey, KeyCommand, KeyRoutes};
pub(crate) use limit::{AccountLimits, LimitCommand, LimitOf, RateArguments, ScopeWord, SetLimit};
pub(crate) use losses::LossArguments;
pub(crate) use mcp::McpArguments;
pub(crate) use payment::{PaymentCommand, RefundPayment};
pub(crate) use people::{Invite, OperatorCommand};
pub(crate) use provider::{PassField, ProviderCommand};
pub(crate) use receipts::{ReceiptCommand, StatementArguments, VerifyArguments};
pub(crate) use run::RunArguments;
pub(crate) use serve::ServeArguments;
pub(crate) use social::{PauseCell, PriceCells, ResumeCell, SocialCommand};
pub(crate) use values::{Expiry, Labelled, Limit, OrNone, Pair};
pub(crate) use workflow::WorkflowCommand;

/// One gateway to every model, with prices known before a call and charges made exactly once.
#[derive(Debug, Parser)]
#[command(name = "trunkline", version = VERSION, about, after_help = EXAMPLES)]
pub(crate) struct Cli {
    /// Configuration file. Left out: trunkline.toml in the current directory, else
    /// /etc/trunkline/trunkline.toml unless TRUNKLINE__DATABASE__URL is set, else none.
    #[arg(long, global = true, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,

    /// Print one JSON object instead of text.
    #[arg(long, global = true)]
    pub(crate) json: bool,

    #[command(subcommand)]
    pub(crate) command: Command,
}

/// The version and what it was built of.
const VERSION: &str = concat!(
    env!("CARGO_PKG_VERSION"),
    " (",
    env!("TRUNKLINE_BUILD"),
    ")"
);

const EXAMPLES: &str = "Examples:
  trunkline init                         from an installed package to a first call
  trunkline config check                 validate trunkline.toml
  trunkline keyring generate             create the root keys of a new installation
  TRUNKLINE__DATABASE__URL=postgres://trunkline@127.0.0.1/trunkline trunkline migrate
  trunkline account create --name Ada    a customer; then topup and key create
  trunkline audit                        check the consistency of the ledger";

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Set up an installation, from an empty machine to a first call.
    #[command(
        after_help = "Asks for a database, the public address, the operator's email address and a first vendor's API key,
or takes them as options. Writes the configuration and the keyring, creates the schema, puts the
vendor's models on sale, opens a channel to the vendor and creates an account with a key and credit.
Says what it does at each step. A second run finds what is there and changes nothing: no file and no
row is ever overwritten. Run it as root, so that files belong to the service's user.

Examples:
  sudo trunkline init
  sudo --preserve-env=OPENAI_API_KEY trunkline init --database here --public-url http://127.0.0.1:8080 \\
      --operator ada@example.com --provider openai --key-env OPENAI_API_KEY --start
  trunkline init --database postgres://trunkline@127.0.0.1/trunkline --public-url https://api.example.com \\
      --operator ada@example.com --provider anthropic --key-file key.txt --folder etc --data data --json"
    )]
    Init(Box<InitArguments>),

    /// Bring the database to the schema of this version.
    #[command(
        after_help = "Safe to repeat and to run from several places at once. The login needs the right to create
roles and schemas; the other commands run under the roles made here.

Examples:
  trunkline migrate
  trunkline migrate --json | jq .applied"
    )]
    Migrate,

    /// Check and print the configuration.
    #[command(subcommand)]
    Config(ConfigCommand),

    /// Generate, rotate and show the root keys, and seal data anew.
    #[command(subcommand)]
    Keyring(KeyringCommand),

    /// Create, list, show, change and suspend customer accounts.
    #[command(subcommand)]
    Account(AccountCommand),

    /// Create, list and change console operators.
    #[command(subcommand)]
    Operator(OperatorCommand),

    /// Credit an account's wallet.
    #[command(
        after_help = "A payment is booked once: repeating the command with the same --event does nothing, and with
the same --event and other values it is rejected. Without --event one is generated and printed.
The database login needs the role trunkline_console.

Examples:
  trunkline topup 1000 25
  trunkline topup 1000 12.50 --event invoice-2026-117
  trunkline topup 1000 0.20 --trial"
    )]
    Topup(TopUpArguments),

    /// List, refund and reconcile payments.
    #[command(subcommand)]
    Payment(PaymentCommand),

    /// Create, list and revoke redemption codes.
    #[command(subcommand)]
    Code(CodeCommand),

    /// List emails that were not sent, with their links.
    #[command(
        after_help = "A link is as good as a password. Without mail.smtp every email is listed until its link expires;
with it, those that the mail server rejected. The database login needs the role trunkline_console.

Examples:
  trunkline emails
  trunkline emails --json | jq -r '.emails[] | [.to, .link] | @tsv'"
    )]
    Emails,

    /// Create, revoke and list API keys.
    #[command(subcommand)]
    Key(KeyCommand),

    /// Limit what accounts and keys may spend.
    #[command(subcommand)]
    Budget(BudgetCommand),

    /// Limit an account's requests per minute and concurrency by model or platform.
    #[command(subcommand)]
    Limit(LimitCommand),

    /// Add, list, change, test, drain and resume channels to upstreams.
    #[command(subcommand)]
    Channel(ChannelCommand),

    /// Let providers have fields that are on no list.
    #[command(subcommand)]
    Provider(ProviderCommand),

    /// Change, compare, check and export the catalog of models and prices.
    #[command(subcommand)]
    Catalog(CatalogCommand),

    /// List, pause, resume and price cells of social data.
    #[command(subcommand)]
    Social(SocialCommand),

    /// Check, store and list workflow records.
    #[command(subcommand)]
    Workflow(WorkflowCommand),

    /// Take over channels, models, prices, users and balances of another gateway.
    #[command(subcommand)]
    Import(ImportCommand),

    /// Serve API calls until stopped.
    #[command(
        after_help = "Needs a migrated database and a keyring; models and prices are in the database (trunkline catalog import).
The database login needs the role trunkline_data, and one that serves the console trunkline_console
too (console.database_url). While no operator account exists, each start prints a link that creates
the first one. SIGTERM lets running calls finish
within edge.drain_seconds. SIGHUP starts the executable anew, hands over the listening sockets, and lets
running calls finish here.

Examples:
  trunkline serve
  trunkline serve --roles edge           one of several that answer calls
  trunkline serve --roles worker         one that does the jobs"
    )]
    Serve(ServeArguments),

    /// Start everything on this machine and show each call with its cost. No vendor key is needed.
    #[command(
        after_help = "With no database.url it starts a PostgreSQL of its own (the system's package must be installed).
Prints addresses, a customer's key with credit, and commands to copy. With --json one line is printed
when all is ready. A simulator stands in for the vendors. A vendor whose key is in the environment
(OPENAI_API_KEY, ANTHROPIC_API_KEY, GEMINI_API_KEY, ...) serves its own models, and bills you for them.
Ctrl-C or SIGTERM stops everything.

Examples:
  trunkline dev
  OPENAI_API_KEY=sk-... trunkline dev
  trunkline dev --ephemeral --json"
    )]
    Dev {
        /// Free ports and a temporary directory; nothing is left behind.
        #[arg(long)]
        ephemeral: bool,

        /// Call no vendor: ignore keys that are in the environment.
        #[arg(long)]
        simulated: bool,

        /// Stop when the standard input ends, for programs that start it.
        #[arg(long)]
        exit_on_eof: bool,
    },

    /// Check the ledger tables for inconsistencies.
    #[command(
        after_help = "Queries every view named audit_... in one snapshot, prints the violating rows, and
exits 1 if there are any. It reads whole tables, so choose a quiet hour. The database login needs the
role trunkline_audit and nothing else.

Examples:
  trunkline audit
  trunkline audit --json | jq .violations"
    )]
    Audit,

    /// Check a restored database.
    #[command(subcommand)]
    Restore(RestoreCommand),

    /// Run a command with an API key of its own that cannot spend more than a budget.
    #[command(
        after_help = "Creates a sub-key of TRUNKLINE_KEY with a cap and an expiry, starts the command with the variables
that Claude Code, Codex, Gemini CLI, opencode and the vendors' SDKs read, and shows the spend in the
terminal's title. When the command ends, the key is deleted and a receipt is printed. Should this
process be killed, the key expires. Exits with the command's exit code.

Examples:
  export TRUNKLINE_BASE_URL=https://gateway.example TRUNKLINE_KEY=sk-tl-...
  trunkline run --budget 2 --for 1h -- claude
  trunkline run --budget 0.50 --model gpt-5.5 -- codex exec 'Fix the failing test'
  trunkline run --budget 1 --json -- python agent.py"
    )]
    Run(RunArguments),

    /// Serve quotes, balance, usage, models and capped sub-keys to agents, as an MCP server.
    #[command(
        after_help = "Speaks the Model Context Protocol over standard input and output, with the key in TRUNKLINE_KEY. With
--listen over HTTP at /mcp: each caller sends its own key as a bearer, and none is read from the
environment. Behind a reverse proxy with a name of its own, give that name with --host.

Examples:
  claude mcp add trunkline --env TRUNKLINE_KEY=sk-tl-... --env TRUNKLINE_BASE_URL=https://gateway.example -- trunkline mcp
  trunkline mcp --url https://gateway.example --listen 127.0.0.1:8090
  claude mcp add --transport http trunkline http://127.0.0.1:8090/mcp --header 'Authorization: Bearer sk-tl-...'"
    )]
    Mcp(McpArguments),

    /// Check any gateway with a simulator as its upstream, and score what it loses and charges.
    #[command(
        after_help = "Sends each request to the gateway and to the simulator itself, and compares what a client reads: words,
thoughts, calls, tokens, fields, errors and charges, with and without faults of the upstream. The
gateway's models must have the simulator as their upstream (--listen). Exits 1 if a check failed that
the profile does not explain. docs/dev/gateway-check.md has the rules and profiles of other gateways.

Examples:
  trunkline gateway-check --target http://127.0.0.1:8080 --key sk-tl-... --simulator http://127.0.0.1:8081 --page page.html
  trunkline gateway-check --target http://127.0.0.1:4000 --key sk-1234 --profile litellm.toml --save litellm.json"
    )]
    GatewayCheck(Box<GatewayCheckArguments>),

    #[command(flatten)]
    Receipts(ReceiptCommand),

    /// List calls that upstreams may bill and customers do not pay, by account and kind.
    #[command(
        after_help = "Kinds: overrun (used more than wallets, budgets, the caller's limit or the quote allowed),
unbilled (a crash, an expired hold, an unavailable database, a late result), undelivered (refunded,
because the client did not take the answer), interrupted (the client left; the amount is not known).
Exits 1 if an account is above a threshold today (UTC). The database login needs the role
trunkline_audit and nothing else.

Examples:
  trunkline losses
  trunkline losses --days 7 --json | jq .losses
  trunkline losses --alarm-usd 5 --alarm-calls 500"
    )]
    Losses(LossArguments),
}

#[derive(Debug, Subcommand)]
pub(crate) enum ConfigCommand {
    /// Validate the configuration and explain each problem and its fix.
    #[command(
        after_help = "Exits 1 when something is wrong; every problem is named with its key and where its value
came from. Secrets are never printed.

Examples:
  trunkline config check
  trunkline --config /etc/trunkline/trunkline.toml config check --json"
    )]
    Check,

    /// Print every key with its default and description.
    #[command(after_help = "Example:
  trunkline config default > trunkline.toml")]
    Default,

    /// Explain a key: its meaning, unit, default, and the value in force with its origin.
    #[command(
        after_help = "KEY is written section.key. A value comes from an environment variable, else from the configuration
file, else it is the default. Secrets are never printed, only whether they are set.

Examples:
  trunkline config explain edge.drain_seconds
  trunkline --config /etc/trunkline/trunkline.toml config explain database.url --json"
    )]
    Explain {
        /// The key, such as database.max_connections.
        key: String,
    },
}

#[derive(Debug, Subcommand)]
pub(crate) enum RestoreCommand {
    /// Check that the keyring opens everything, that the ledger is consistent, and what was lost.
    #[command(
        after_help = "Run it on a restored database before nodes are started. Says whether the keyring belongs to the database
and opens every sealed value, audits the ledger, and prints the time of the newest settlement (what came
after it is lost) and the holds that are pending. Exits 1 if something is wrong. Changes nothing. The
database login needs the role trunkline_audit and nothing else.

Examples:
  trunkline restore check
  trunkline restore check --json | jq .newest_settlement"
    )]
    Check,
}

#[derive(Debug, Subcommand)]
pub(crate) enum KeyringCommand {
    /// Create a keyring file with new keys. Never overwrites a file.
    #[command(
        after_help = "Keep a copy where the database's backups are not: without it, sealed rows are lost.

Example:
  trunkline keyring generate"
    )]
    Generate,

    /// Add a new generation of keys. What the last one sealed stays readable; the one before it
    /// is dropped.
    #[command(
        after_help = "Give all nodes the new file at once: they read it anew within seconds, and a node with an older one
is not ready. Then `trunkline keyring reseal`. Two generations are live at a time, so the next rotation
drops the older one; it is refused while the database has values that only it, or an older one, can open.
With keyring.text, the new text is printed instead of written, and nodes need a restart.

Examples:
  trunkline keyring rotate
  trunkline keyring rotate && trunkline keyring reseal"
    )]
    Rotate {
        /// Accept the loss of data that only the previous generation can decrypt.
        #[arg(long)]
        drop_previous: bool,
    },

    /// Seal anew what older generations have sealed, so that they can be dropped.
    #[command(
        after_help = "Runs beside serving nodes, in small transactions, and says how far it is. It may be stopped and
repeated at any time. Exits 1 if a value cannot be opened. The database login needs the roles
trunkline_data and trunkline_console (or console.database_url).

Examples:
  trunkline keyring reseal
  trunkline keyring reseal --json | jq .columns"
    )]
    Reseal,

    /// Show which generations are live. Prints no key material.
    #[command(after_help = "Example:
  trunkline keyring show --json")]
    Show,
}
