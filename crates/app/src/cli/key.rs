//! The words of `trunkline key`.

use clap::{Args, Subcommand};
use trunkline_store::keys::{OVERLAP_DEFAULT_SECONDS, OVERLAP_MAX_SECONDS, PAGE_MAX_ROWS};
use trunkline_store::{MaxPrice, OnDisconnect, RoutePolicy};

use super::values::{Expiry, account_number, key_number};

#[derive(Debug, Subcommand)]
pub(crate) enum KeyCommand {
    /// Make a key and print it, this once.
    #[command(
        after_help = "Only a hash of the key is stored, so it cannot be shown again. A list that is left out allows
everything. A key with a --parent takes over what it does not say itself, and can only be narrower;
it spends from its parent's budgets too. The database login needs the role trunkline_console.

Examples:
  trunkline key create 1000 --name laptop
  trunkline key create 1000 --name agent --parent 7 --models gpt-5,claude-opus-5 --expires 30
  trunkline key create 1000 --name ci --addresses 10.0.0.0/8,2001:db8::/32 --rpm 60 --strict
  trunkline key create 1000 --name night --group auto --json | jq -r .key"
    )]
    Create(Box<CreateKey>),

    /// Revoke a key and every key below it, for good.
    #[command(after_help = "Examples:
  trunkline key revoke 7
  trunkline key revoke 7 --json | jq .revoked")]
    Revoke {
        /// The key's number, as `key list` shows it.
        #[arg(value_name = "KEY_ID", value_parser = key_number)]
        key: i64,
    },

    /// Give a key another secret and print it, this once. Its number, budgets and usage stay.
    #[command(
        after_help = "The previous secret stays valid until the overlap ends; older ones end now.

Examples:
  trunkline key rotate 7
  trunkline key rotate 7 --overlap-seconds 0 --json | jq -r .key"
    )]
    Rotate {
        /// The key's number, as `key list` shows it.
        #[arg(value_name = "KEY_ID", value_parser = key_number)]
        key: i64,
        /// How long the secret it had is good.
        #[arg(long, value_name = "SECONDS", default_value_t = OVERLAP_DEFAULT_SECONDS,
            value_parser = clap::value_parser!(u32).range(0..=i64::from(OVERLAP_MAX_SECONDS)))]
        overlap_seconds: u32,
    },

    /// Switch a key off, and with it every key below it, until it is enabled.
    #[command(after_help = "Examples:
  trunkline key disable 7")]
    Disable {
        /// The key's number, as `key list` shows it.
        #[arg(value_name = "KEY_ID", value_parser = key_number)]
        key: i64,
    },

    /// Switch a key on again.
    #[command(after_help = "Examples:
  trunkline key enable 7")]
    Enable {
        /// The key's number, as `key list` shows it.
        #[arg(value_name = "KEY_ID", value_parser = key_number)]
        key: i64,
    },

    /// Change which routes a key is served by.
    #[command(
        after_help = "What is not named stays. --max-price replaces all limits; none removes them. Keys below it keep theirs.

Examples:
  trunkline key set 7 --policy cheapest
  trunkline key set 7 --max-price input=3,output=15
  trunkline key set 7 --policy priority --max-price none"
    )]
    Set {
        /// The key's number, as `key list` shows it.
        #[arg(value_name = "KEY_ID", value_parser = key_number)]
        key: i64,
        #[command(flatten)]
        changes: KeyRoutes,
    },

    /// Change when a key ends.
    #[command(after_help = "Examples:
  trunkline key expire 7 --at 30
  trunkline key expire 7 --at 2027-01-31T12:00:00Z
  trunkline key expire 7")]
    Expire {
        /// The key's number, as `key list` shows it.
        #[arg(value_name = "KEY_ID", value_parser = key_number)]
        key: i64,
        /// Good for so many days from now, or until a moment; without an end if left out.
        #[arg(long, value_name = "DAYS|RFC3339")]
        at: Option<Expiry>,
    },

    /// Revoke a key and every key below it, and hide them from lists. Usage still names them.
    #[command(after_help = "Examples:
  trunkline key delete 7")]
    Delete {
        /// The key's number, as `key list` shows it.
        #[arg(value_name = "KEY_ID", value_parser = key_number)]
        key: i64,
    },

    /// List an account's keys with their policies and budgets, by prefix and last four characters.
    #[command(after_help = "Examples:
  trunkline key list 1000
  trunkline key list 1000 --after 250 --json | jq '.keys[] | select(.state == \"live\")'")]
    List {
        /// The account's number.
        #[arg(value_name = "ACCOUNT", value_parser = account_number)]
        account: i64,
        /// Begin after this key.
        #[arg(long, value_name = "KEY_ID", value_parser = key_number)]
        after: Option<i64>,
        /// Keys at most.
        #[arg(long, value_name = "N", default_value_t = 100,
            value_parser = clap::value_parser!(u32).range(1..=i64::from(PAGE_MAX_ROWS)))]
        limit: u32,
    },
}

/// Which routes a key is served by.
#[derive(Debug, Args)]
#[group(required = true, multiple = true)]
pub(crate) struct KeyRoutes {
    /// In which order routes are tried.
    #[arg(long, value_name = "priority|cheapest|fastest", value_parser = route_policy)]
    pub(crate) policy: Option<RoutePolicy>,
    /// The highest price: USD for a million input and output tokens, or for one unit.
    #[arg(long, value_name = "input=USD,output=USD,unit=USD|none", value_parser = max_price)]
    pub(crate) max_price: Option<MaxPrice>,
}

#[derive(Debug, Args)]
pub(crate) struct CreateKey {
    /// The account's number.
    #[arg(value_name = "ACCOUNT", value_parser = account_number)]
    pub(crate) account: i64,
    /// What people call it.
    #[arg(long)]
    pub(crate) name: String,
    /// A key of the same account that this one is below.
    #[arg(long, value_name = "KEY_ID", value_parser = key_number)]
    pub(crate) parent: Option<i64>,
    /// Price group, one that the account is allowed; auto tries several in order.
    #[arg(long, value_name = "GROUP|auto")]
    pub(crate) group: Option<String>,
    /// Models it may call.
    #[arg(long, value_name = "NAME,...", value_delimiter = ',')]
    pub(crate) models: Option<Vec<String>>,
    /// Interfaces it may call.
    #[arg(long, value_name = "NAME,...", value_delimiter = ',')]
    pub(crate) endpoints: Option<Vec<String>>,
    /// Social platforms it may ask.
    #[arg(long, value_name = "NAME,...", value_delimiter = ',')]
    pub(crate) platforms: Option<Vec<String>>,
    /// Networks it may be used from.
    #[arg(long, value_name = "CIDR,...", value_delimiter = ',')]
    pub(crate) addresses: Option<Vec<String>>,
    /// Regions its calls may be served in.
    #[arg(long, value_name = "NAME,...", value_delimiter = ',')]
    pub(crate) regions: Option<Vec<String>>,
    /// Where upstreams may keep data.
    #[arg(long, value_name = "NAME,...", value_delimiter = ',')]
    pub(crate) residencies: Option<Vec<String>>,
    /// Only upstreams that keep nothing of requests and responses.
    #[arg(long)]
    pub(crate) upstream_zero_retention: bool,
    /// In which order routes are tried; by priority if left out.
    #[arg(long, value_name = "priority|cheapest|fastest", value_parser = route_policy)]
    pub(crate) policy: Option<RoutePolicy>,
    /// The highest price: USD for a million input and output tokens, or for one unit.
    #[arg(long, value_name = "input=USD,output=USD,unit=USD", value_parser = max_price)]
    pub(crate) max_price: Option<MaxPrice>,
    /// Requests a minute; the operator's default if left out.
    #[arg(long, value_name = "N")]
    pub(crate) rpm: Option<i64>,
    /// Tokens a minute; the operator's default if left out.
    #[arg(long, value_name = "N")]
    pub(crate) tpm: Option<i64>,
    /// Calls at once; the operator's default if left out.
    #[arg(long, value_name = "N")]
    pub(crate) concurrent: Option<i64>,
    /// Refuse requests with fields that would be ignored or rewritten.
    #[arg(long)]
    pub(crate) strict: bool,
    /// Lower a call's maximum to what the balance covers; while trial money pays, if left out.
    #[arg(long, value_name = "true|false")]
    pub(crate) fit_to_balance: Option<bool>,
    /// Store nothing of what passes.
    #[arg(long)]
    pub(crate) zero_retention: bool,
    /// What becomes of a stream whose client leaves: cancelled, or finished and charged whole.
    #[arg(long, value_name = "cancel|finish", value_parser = on_disconnect)]
    pub(crate) on_disconnect: Option<OnDisconnect>,
    /// Good for so many days, or until a moment such as 2027-01-31T12:00:00Z.
    #[arg(long, value_name = "DAYS|RFC3339")]
    pub(crate) expires: Option<Expiry>,
}

pub(super) fn route_policy(word: &str) -> Result<RoutePolicy, String> {
    let wrong = || "must be priority, cheapest or fastest".to_owned();
    RoutePolicy::of_word(word).ok_or_else(wrong)
}

/// `input=3,output=15`, or `none` for no limit.
pub(super) fn max_price(text: &str) -> Result<MaxPrice, String> {
    let (mut input, mut output, mut unit) = (None, None, None);
    for part in text.split(',').filter(|_| text != "none") {
        let (name, amount) = part.split_once('=').unwrap_or((part, ""));
        match name {
            "input" => input = Some(amount),
            "output" => output = Some(amount),
            "unit" => unit = Some(amount),
            _ => return Err("must be such as input=3,output=15 or unit=0.04, or none".to_owned()),
        }
    }
    MaxPrice::read(input, output, unit).map_err(|error| error.to_string())
}

fn on_disconnect(word: &str) -> Result<OnDisconnect, String> {
    OnDisconnect::of_word(word).ok_or_else(|| "must be cancel or finish".to_owned())
}
