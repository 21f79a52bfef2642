//! The words of `trunkline account` and `trunkline topup`.

use clap::{Args, Subcommand, ValueEnum};
use trunkline_ledger::statement::MAX_ENTRIES;
use trunkline_store::{MaxPrice, RoutePolicy};
use trunkline_types::Money;

use super::key::{max_price, route_policy};
use super::limit::AccountLimits;
use super::people::Invite;
use super::values::{Limit, account_number, more_than_nothing};

#[derive(Debug, Subcommand)]
pub(crate) enum AccountCommand {
    /// Make an account without money and without keys.
    #[command(
        after_help = "Prints the number by which the other commands know it. The database login needs the role
trunkline_console.

Examples:
  trunkline account create --name 'Ada Lovelace'
  trunkline account create --name CI --kind test --json | jq .account.id
  trunkline account create --name Acme --group wholesale --allowed-groups default,night"
    )]
    Create(CreateAccount),

    /// Show an account with its wallets and budgets.
    #[command(after_help = "Examples:
  trunkline account show 1000
  trunkline account show 1000 --json | jq -r .balance.paid_usd")]
    Show {
        /// The account's number.
        #[arg(value_name = "ID", value_parser = account_number)]
        id: i64,
    },

    /// List accounts, or those whose name or a member's email address contains a text.
    #[command(after_help = "Examples:
  trunkline account list
  trunkline account list --search ada@example.com
  trunkline account list --after 1100 --limit 500 --json | jq '.accounts[] | select(.suspended_at)'")]
    List(SearchAccounts),

    /// Put an account into another price group.
    #[command(
        after_help = "Calls that begin after nodes took it over, within seconds, have the prices and channels of the new
group; quotes that were given before keep theirs. A key with a group of its own keeps it.

Examples:
  trunkline account group 1000 wholesale
  trunkline account group 1000 default --allowed-groups night,batch"
    )]
    Group {
        /// The account's number.
        #[arg(value_name = "ID", value_parser = account_number)]
        id: i64,
        /// The group.
        group: String,
        /// Other groups that its keys may name, instead of those of before.
        #[arg(long, value_name = "GROUP,...", value_delimiter = ',')]
        allowed_groups: Option<Vec<String>>,
    },

    /// Refuse an account's keys until it is resumed.
    #[command(
        after_help = "Calls are refused with 403 account_suspended within seconds; running ones end, and tasks too. Money,
keys, people and data stay, and people can still sign in.

Example:
  trunkline account suspend 1000"
    )]
    Suspend {
        /// The account's number.
        #[arg(value_name = "ID", value_parser = account_number)]
        id: i64,
    },

    /// Accept a suspended account's keys again.
    #[command(after_help = "Example:
  trunkline account resume 1000")]
    Resume {
        /// The account's number.
        #[arg(value_name = "ID", value_parser = account_number)]
        id: i64,
    },

    /// Invite a person to the organisation; prints the link.
    #[command(
        after_help = "The link is good once, for a week, for that address; an open invitation to it is replaced. The
database login needs the role trunkline_console.

Examples:
  trunkline account invite 1000 ada@example.com
  trunkline account invite 1000 ada@example.com --role developer --json | jq -r .link"
    )]
    Invite(Invite),

    /// Limit what an account may ask in a minute and at once, over all its keys.
    #[command(
        after_help = "What is not named has no limit any more. Keys have limits of their own beside this (trunkline key
create), models and platforms too (trunkline limit set). Nodes take it over within seconds.

Examples:
  trunkline account limits 1000 --rpm 5000 --concurrent 200
  trunkline account limits 1000                    no limits"
    )]
    Limits(AccountLimits),

    /// Set which routes all keys of an account are served by.
    #[command(
        after_help = "What is not named is removed. A key's own order wins; its highest price, its residencies and its zero
retention narrow those of the account. Nodes take it over within seconds.

Examples:
  trunkline account routes 1000 --policy cheapest --max-price input=3,output=15
  trunkline account routes 1000 --residency de,fr --upstream-zero-retention
  trunkline account routes 1000                    no demands"
    )]
    Routes {
        /// The account's number.
        #[arg(value_name = "ID", value_parser = account_number)]
        id: i64,
        #[command(flatten)]
        routes: AccountRoutesArguments,
    },

    /// Close an account for good: its keys end, its data is exported and erased.
    #[command(
        after_help = "Writes all that is stored of the account into a new file, ends its keys, webhooks and sign-ins, and erases
names, prompts, files and answers. What books need stays: its number, its transfers and the usage that they charge for,
without a name. Refused while money is held or videos run, and while money is left unless --forfeit says that it stays
with you. --yes is required: nothing brings the account back.

Examples:
  trunkline account close 1000 --export acme.json --yes
  trunkline account close 1000 --export acme.json --forfeit --yes"
    )]
    Close(CloseAccount),

    /// The account's own names for models.
    #[command(subcommand)]
    Alias(AliasCommand),

    /// Show what happened to an account's money, newest first.
    #[command(
        after_help = "Calls, also those that cost nothing, refunds, top-ups and corrections, each with the balance
after it. Entries are in the order in which calls and payments began; a refund stands above its call.

Examples:
  trunkline account statement 1000
  trunkline account statement 1000 --limit 500 --json | jq '.entries[] | select(.what == \"refund\")'"
    )]
    Statement {
        /// The account's number.
        #[arg(value_name = "ID", value_parser = account_number)]
        id: i64,
        /// Entries at most.
        #[arg(long, value_name = "N", default_value_t = 50,
            value_parser = clap::value_parser!(u32).range(1..=i64::from(MAX_ENTRIES)))]
        limit: u32,
    },

    /// Set the balance below which an account is told so.
    #[command(
        after_help = "What is in both wallets counts; what running calls hold is not spent yet. The event is
balance.low, once when the balance falls below the mark and again only after it was above. An account that
is below a new mark already is told at once. The database login needs the role trunkline_console.

Examples:
  trunkline account low-balance 1000 5
  trunkline account low-balance 1000 none"
    )]
    LowBalance {
        /// The account's number.
        #[arg(value_name = "ID", value_parser = account_number)]
        id: i64,
        /// The mark in USD, more than nothing; none to be told no more.
        #[arg(value_name = "USD|none")]
        mark: Limit,
    },
}

#[derive(Debug, Subcommand)]
pub(crate) enum AliasCommand {
    /// Give a model a name of the account's own. A model that is sold under that name would win.
    #[command(after_help = "Examples:
  trunkline account alias set 1000 default gpt-5")]
    Set {
        /// The account's number.
        #[arg(value_name = "ID", value_parser = account_number)]
        id: i64,
        /// The name.
        name: String,
        /// The model.
        model: String,
    },
    /// Take a name away.
    #[command(after_help = "Examples:
  trunkline account alias remove 1000 default")]
    Remove {
        /// The account's number.
        #[arg(value_name = "ID", value_parser = account_number)]
        id: i64,
        /// The name.
        name: String,
    },
    /// List the names.
    #[command(after_help = "Examples:
  trunkline account alias list 1000 --json | jq .aliases")]
    List {
        /// The account's number.
        #[arg(value_name = "ID", value_parser = account_number)]
        id: i64,
    },
}

#[derive(Debug, Args)]
pub(crate) struct CreateAccount {
    /// What people call it.
    #[arg(long)]
    pub(crate) name: String,
    /// A customer, or an account whose money is play money.
    #[arg(long, value_enum, default_value_t = Kind::Live)]
    pub(crate) kind: Kind,
    /// The price group it belongs to.
    #[arg(long, value_name = "GROUP", default_value = trunkline_store::accounts::DEFAULT_GROUP)]
    pub(crate) group: String,
    /// Other groups that its keys may name.
    #[arg(long, value_name = "GROUP,...", value_delimiter = ',')]
    pub(crate) allowed_groups: Vec<String>,
}

#[derive(Debug, Args)]
pub(crate) struct AccountRoutesArguments {
    /// In which order routes are tried.
    #[arg(long, value_name = "priority|cheapest|fastest", value_parser = route_policy)]
    pub(crate) policy: Option<RoutePolicy>,
    /// The highest prices, such as input=3,output=15 or unit=0.04; USD for a million tokens, or for one unit.
    #[arg(long, value_name = "PRICES", value_parser = max_price)]
    pub(crate) max_price: Option<MaxPrice>,
    /// Only upstreams that keep data there.
    #[arg(long = "residency", value_name = "WORD,...", value_delimiter = ',')]
    pub(crate) residencies: Option<Vec<String>>,
    /// Only upstreams that keep nothing of requests and responses.
    #[arg(long)]
    pub(crate) upstream_zero_retention: bool,
}

#[derive(Debug, Args)]
pub(crate) struct CloseAccount {
    /// The account's number.
    #[arg(value_name = "ID", value_parser = account_number)]
    pub(crate) id: i64,
    /// A new file for the export.
    #[arg(long, value_name = "FILE")]
    pub(crate) export: std::path::PathBuf,
    /// What is left in its wallets stays with you.
    #[arg(long)]
    pub(crate) forfeit: bool,
    /// It is meant.
    #[arg(long)]
    pub(crate) yes: bool,
}

#[derive(Debug, Args)]
pub(crate) struct SearchAccounts {
    /// A part of the name, or of a member's email address.
    #[arg(long, value_name = "TEXT", default_value = "")]
    pub(crate) search: String,
    /// Only accounts with a greater number.
    #[arg(long, value_name = "ID", default_value_t = 0)]
    pub(crate) after: i64,
    /// Accounts at most.
    #[arg(long, value_name = "N", default_value_t = 100, value_parser = clap::value_parser!(u32).range(1..=1_000))]
    pub(crate) limit: u32,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
pub(crate) enum Kind {
    /// A customer.
    Live,
    /// For trying things out.
    Test,
}

#[derive(Debug, Args)]
pub(crate) struct TopUpArguments {
    /// The account's number.
    #[arg(value_name = "ID", value_parser = account_number)]
    pub(crate) id: i64,
    /// How much, in USD, with up to nine decimal places.
    #[arg(value_name = "AMOUNT_USD", value_parser = more_than_nothing)]
    pub(crate) amount: Money,
    /// Into the trial wallet: trial credit, not a payment. Does not count as a top-up for paid prices.
    #[arg(long)]
    pub(crate) trial: bool,
    /// The payment's own name, so that it is booked once however often it is told.
    #[arg(long, value_name = "EVENT_ID")]
    pub(crate) event: Option<String>,
}
