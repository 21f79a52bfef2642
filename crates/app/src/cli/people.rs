//! The words of `trunkline operator` and `trunkline account invite`.

use clap::{Args, Subcommand, ValueEnum};
use trunkline_store::people::{OperatorRole, Role};

use super::values::account_number;

#[derive(Debug, Subcommand)]
pub(crate) enum OperatorCommand {
    /// Print a link that creates an operator or resets an operator's password.
    #[command(
        after_help = "The link is good once, for a day, and voids set-up links that were printed before. The person who opens
it becomes an operator, so hand it over with care. The database login needs the role trunkline_console.

Examples:
  trunkline operator link
  trunkline operator link --json | jq -r .operator_link"
    )]
    Link,

    /// List operators, their roles, and whether they have a second factor.
    List,

    /// Make a console user an operator.
    #[command(
        after_help = "The person must have an account at the console: `trunkline account invite` or `trunkline operator link`
makes one. Every operator needs a second factor; the console asks for it at the next sign-in.

Examples:
  trunkline operator add grace@example.com --role support
  trunkline operator add audit@example.com --role read-only"
    )]
    Add {
        /// Whom.
        #[arg(value_name = "EMAIL")]
        email: String,
        /// What they may do.
        #[arg(long, value_enum)]
        role: OperatorRoleWord,
    },

    /// Change the role of an operator.
    SetRole {
        /// Whose.
        #[arg(value_name = "EMAIL")]
        email: String,
        /// What they may do.
        #[arg(value_name = "ROLE", value_enum)]
        role: OperatorRoleWord,
    },

    /// Make an operator an ordinary console user.
    Remove {
        /// Whom.
        #[arg(value_name = "EMAIL")]
        email: String,
    },

    /// Remove the second factor of a person who lost it, and sign out their devices.
    ResetSecondFactor {
        /// Whose.
        #[arg(value_name = "EMAIL")]
        email: String,
    },
}

/// What an operator may do.
#[derive(Debug, Clone, Copy, ValueEnum)]
pub(crate) enum OperatorRoleWord {
    /// Everything.
    Owner,
    /// Money and prices.
    Finance,
    /// Customers.
    Support,
    /// Reads.
    ReadOnly,
}

#[derive(Debug, Args)]
pub(crate) struct Invite {
    /// The account's number.
    #[arg(value_name = "ID", value_parser = account_number)]
    pub(crate) id: i64,
    /// Whom.
    #[arg(value_name = "EMAIL")]
    pub(crate) email: String,
    /// What they may do.
    #[arg(long, value_enum, default_value_t = RoleWord::Owner)]
    pub(crate) role: RoleWord,
}

/// What a member may do.
#[derive(Debug, Clone, Copy, ValueEnum)]
pub(crate) enum RoleWord {
    /// Everything.
    Owner,
    /// Everything but the roles of owners.
    Admin,
    /// Keys, playground and tasks.
    Developer,
    /// The wallet.
    Billing,
    /// Reads.
    Viewer,
}

impl From<RoleWord> for Role {
    fn from(word: RoleWord) -> Self {
        match word {
            RoleWord::Owner => Self::Owner,
            RoleWord::Admin => Self::Admin,
            RoleWord::Developer => Self::Developer,
            RoleWord::Billing => Self::Billing,
            RoleWord::Viewer => Self::Viewer,
        }
    }
}

impl From<OperatorRoleWord> for OperatorRole {
    fn from(word: OperatorRoleWord) -> Self {
        match word {
            OperatorRoleWord::Owner => Self::Owner,
            OperatorRoleWord::Finance => Self::Finance,
            OperatorRoleWord::Support => Self::Support,
            OperatorRoleWord::ReadOnly => Self::ReadOnly,
        }
    }
}
