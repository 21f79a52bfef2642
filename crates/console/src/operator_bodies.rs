//! The JSON that requests of operators bring. Types alone: what a value means is checked where it is used. Fields
//! that are not known are refused.

use std::collections::BTreeMap;

use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;
use trunkline_store::people::OperatorRole;
use trunkline_types::Secret;
use utoipa::ToSchema;

use crate::request_bodies::RoleName;

/// Role of an operator.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
#[schema(as = OperatorRole)]
pub(crate) enum OperatorRoleName {
    /// Everything.
    Owner,
    /// Money and prices.
    Finance,
    /// Customers.
    Support,
    /// Reads.
    ReadOnly,
}

/// A wallet.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
#[schema(as = WalletChoice)]
pub(crate) enum WalletChoice {
    /// Paid credit.
    Paid,
    /// Trial credit.
    Trial,
}

/// Live or test account.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
#[schema(as = CustomerKind)]
pub(crate) enum CustomerKindName {
    /// Calls reach upstreams.
    Live,
    /// Calls never reach a live upstream.
    Test,
}

/// A reason for the log of actions.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ReasonBody {
    /// Why.
    #[schema(min_length = 1, max_length = 500)]
    pub(crate) reason: String,
}

/// A customer to create.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct NewCustomer {
    /// Display name.
    #[schema(min_length = 1, max_length = 100)]
    pub(crate) name: String,
    /// Pricing group; `default` by default.
    #[schema(nullable = false)]
    pub(crate) group: Option<String>,
    /// Live by default.
    #[schema(nullable = false, inline = false)]
    pub(crate) kind: Option<CustomerKindName>,
}

/// Rate limits of a customer; null for none.
#[derive(Debug, Clone, Copy, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = CustomerLimits)]
pub(crate) struct CustomerLimitsBody {
    /// Requests per minute.
    #[schema(required)]
    pub(crate) requests_per_minute: Option<i64>,
    /// Tokens per minute.
    #[schema(required)]
    pub(crate) tokens_per_minute: Option<i64>,
    /// Concurrent calls.
    #[schema(required)]
    pub(crate) concurrent_calls: Option<i64>,
}

/// Changes to a customer. What is left out stays.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct CustomerChange {
    /// Display name.
    #[schema(nullable = false, max_length = 100)]
    pub(crate) name: Option<String>,
    /// Pricing group.
    #[schema(nullable = false)]
    pub(crate) group: Option<String>,
    /// Other groups that its keys may name.
    #[schema(nullable = false)]
    pub(crate) allowed_groups: Option<Vec<String>>,
    /// Rate limits, all of them.
    #[schema(nullable = false, inline = false)]
    pub(crate) limits: Option<CustomerLimitsBody>,
    /// Low-balance threshold; null for none.
    #[serde(default, deserialize_with = "there")]
    #[schema(value_type = Option<String>, example = "5")]
    pub(crate) low_balance_usd: Option<Option<String>>,
}

/// A note about a customer.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct NewNote {
    /// The note.
    #[schema(min_length = 1, max_length = 4_000)]
    pub(crate) text: String,
}

/// A person to invite.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = CustomerInvitation)]
pub(crate) struct InviteToCustomer {
    /// Email address.
    #[schema(max_length = 254)]
    pub(crate) email: String,
    /// Role.
    #[schema(inline = false)]
    pub(crate) role: RoleName,
}

/// A correction of a balance.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct AdjustBody {
    /// The wallet.
    #[schema(inline = false)]
    pub(crate) wallet: WalletChoice,
    /// Amount in USD; negative takes.
    #[schema(example = "-2475")]
    pub(crate) amount_usd: String,
    /// Why.
    #[schema(min_length = 1, max_length = 500)]
    pub(crate) reason: String,
    /// A UUID of the caller's choice: the same is booked once.
    #[schema(nullable = false)]
    pub(crate) id: Option<String>,
}

/// Credit by hand, such as a bank transfer.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct TopUpBody {
    /// The wallet.
    #[schema(inline = false)]
    pub(crate) wallet: WalletChoice,
    /// Amount in USD.
    #[schema(example = "25")]
    pub(crate) amount_usd: String,
    /// Name of the payment, such as a transfer's reference: the same is booked once.
    #[schema(min_length = 1, max_length = 200, example = "invoice-2026-117")]
    pub(crate) event: String,
    /// Why.
    #[schema(min_length = 1, max_length = 500)]
    pub(crate) reason: String,
}

/// The end of a customer.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct CloseBody {
    /// Why.
    #[schema(min_length = 1, max_length = 500)]
    pub(crate) reason: String,
    /// Whether personal data is erased; the ledger is kept.
    pub(crate) erase: bool,
}

/// A credential of a channel.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = NewCredential)]
pub(crate) struct NewCredentialBody {
    /// Name within the channel.
    #[schema(min_length = 1, max_length = 100)]
    pub(crate) label: String,
    /// The secret; it is never shown again.
    #[schema(value_type = String, format = Password, max_length = 4_096)]
    pub(crate) secret: Secret,
}

/// Another secret of a credential.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ReplaceCredential {
    /// The secret; it is never shown again.
    #[schema(value_type = String, format = Password, max_length = 4_096)]
    pub(crate) secret: Secret,
}

/// A credential to remove.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct RemoveCredential {
    /// Whether tasks that run with it are given up.
    #[serde(default)]
    pub(crate) give_up_tasks: bool,
}

/// A channel to add.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = NewChannel)]
pub(crate) struct NewChannelBody {
    /// Name; it never changes.
    #[schema(min_length = 1, max_length = 100)]
    pub(crate) name: String,
    /// Provider, by its name.
    pub(crate) provider: String,
    /// The fields that can change later.
    #[serde(default)]
    #[schema(inline = false)]
    pub(crate) fields: ChannelFields,
    /// Credentials, at least one.
    pub(crate) credentials: Vec<NewCredentialBody>,
}

/// A copy of a channel.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct CloneChannel {
    /// Name of the copy.
    #[schema(min_length = 1, max_length = 100)]
    pub(crate) name: String,
    /// Fields that differ.
    #[serde(default)]
    #[schema(inline = false)]
    pub(crate) fields: ChannelFields,
}

/// Fields of a channel. What is left out stays; null removes.
#[derive(Debug, Default, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ChannelFields {
    /// Base URL, if not the provider's.
    #[serde(default, deserialize_with = "there")]
    #[schema(value_type = Option<String>)]
    pub(crate) base_url: Option<Option<String>>,
    /// Lower is tried first.
    #[schema(nullable = false)]
    pub(crate) priority: Option<i32>,
    /// How often it is chosen among equals.
    #[schema(nullable = false)]
    pub(crate) weight: Option<u32>,
    /// Region of the upstream.
    #[serde(default, deserialize_with = "there")]
    #[schema(value_type = Option<String>)]
    pub(crate) region: Option<Option<String>>,
    /// Where the upstream keeps data.
    #[serde(default, deserialize_with = "there")]
    #[schema(value_type = Option<String>)]
    pub(crate) residency: Option<Option<String>>,
    /// Whether the upstream keeps nothing.
    #[schema(nullable = false)]
    pub(crate) zero_retention: Option<bool>,
    /// Our name of a model to the upstream's; the whole list.
    #[schema(nullable = false)]
    pub(crate) models: Option<BTreeMap<String, String>>,
    /// Groups it serves; empty for all.
    #[schema(nullable = false)]
    pub(crate) groups: Option<Vec<String>>,
    /// Headers to send along; the whole list.
    #[schema(nullable = false)]
    pub(crate) extra_headers: Option<BTreeMap<String, String>>,
    /// Address of a proxy.
    #[serde(default, deserialize_with = "there")]
    #[schema(value_type = Option<String>, format = Password)]
    pub(crate) proxy: Option<Option<Secret>>,
    /// Calls a minute over all nodes.
    #[serde(default, deserialize_with = "there")]
    #[schema(value_type = Option<i64>)]
    pub(crate) requests_per_minute: Option<Option<i64>>,
    /// Concurrent calls over all nodes.
    #[serde(default, deserialize_with = "there")]
    #[schema(value_type = Option<i64>)]
    pub(crate) concurrent_calls: Option<Option<i64>>,
    /// What the upstream bills.
    #[serde(default, deserialize_with = "there")]
    #[schema(value_type = Option<Object>)]
    pub(crate) cost: Option<Option<Value>>,
}

/// Prices of one model to set.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct PriceEdit {
    /// Public name of the model.
    pub(crate) model: String,
    /// Tier; the default tier if left out.
    #[schema(nullable = false)]
    pub(crate) tier: Option<String>,
    /// Whether the prices of accounts that topped up are set.
    #[serde(default)]
    pub(crate) paid: bool,
    /// Pico-USD for one unit, by face.
    #[schema(value_type = BTreeMap<String, i64>)]
    pub(crate) faces: BTreeMap<String, i64>,
}

/// A group to set.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct GroupEdit {
    /// What every price is multiplied by.
    #[schema(example = "1.2")]
    pub(crate) rate: String,
}

/// A change of the catalog.
#[derive(Debug, Clone, Default, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = CatalogChange)]
pub(crate) struct CatalogChangeBody {
    /// Prices to set.
    #[serde(default)]
    pub(crate) prices: Vec<PriceEdit>,
    /// Records to add or replace; null takes a model off.
    #[serde(default)]
    #[schema(value_type = BTreeMap<String, Object>)]
    pub(crate) models: BTreeMap<String, Option<Value>>,
    /// Groups to add or change.
    #[serde(default)]
    pub(crate) groups: BTreeMap<String, GroupEdit>,
}

/// What to preview: a change, or a return to a revision.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct PreviewBody {
    /// The change.
    #[schema(nullable = false, inline = false)]
    pub(crate) change: Option<CatalogChangeBody>,
    /// The revision to return to.
    #[schema(nullable = false)]
    pub(crate) revision: Option<i64>,
}

/// A change to publish.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct PublishBody {
    /// The change.
    #[schema(inline = false)]
    pub(crate) change: CatalogChangeBody,
    /// Why.
    #[schema(min_length = 1, max_length = 500)]
    pub(crate) note: String,
    /// The revision that was looked at; a newer one is a conflict.
    #[schema(nullable = false)]
    pub(crate) base_revision: Option<i64>,
    /// Whether something may be sold below its cost, or for nothing.
    #[serde(default)]
    pub(crate) allow_below_cost: bool,
}

/// A change to publish later.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ScheduleBody {
    /// The change.
    #[schema(inline = false)]
    pub(crate) change: CatalogChangeBody,
    /// Why.
    #[schema(min_length = 1, max_length = 500)]
    pub(crate) note: String,
    /// When.
    #[schema(format = DateTime)]
    pub(crate) at: String,
    /// Whether something may be sold below its cost, or for nothing.
    #[serde(default)]
    pub(crate) allow_below_cost: bool,
}

/// A revision to return to.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct RollbackBody {
    /// The revision.
    pub(crate) revision: i64,
    /// Why.
    #[schema(min_length = 1, max_length = 500)]
    pub(crate) note: String,
    /// Whether something may be sold below its cost, or for nothing.
    #[serde(default)]
    pub(crate) allow_below_cost: bool,
}

/// A refund.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct RefundBody {
    /// Amount in USD, in whole cents; all that is left if left out.
    #[schema(nullable = false, example = "25")]
    pub(crate) amount_usd: Option<String>,
    /// Why.
    #[schema(min_length = 1, max_length = 500)]
    pub(crate) reason: String,
}

/// Codes to create.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct NewCodes {
    /// Worth of each in USD.
    #[schema(example = "10")]
    pub(crate) amount_usd: String,
    /// The wallet that a code fills.
    #[schema(inline = false)]
    pub(crate) wallet: WalletChoice,
    /// How many.
    #[schema(minimum = 1, maximum = 1_000)]
    pub(crate) count: u32,
    /// Name of the batch; made up if left out.
    #[schema(nullable = false, max_length = 60)]
    pub(crate) batch: Option<String>,
    /// Expiry; never if left out.
    #[schema(nullable = false, format = DateTime)]
    pub(crate) expires_at: Option<String>,
}

/// Codes to revoke: one, or a batch.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = RevokeCodes)]
pub(crate) struct RevokeCodesBody {
    /// A code.
    #[schema(nullable = false)]
    pub(crate) id: Option<String>,
    /// A batch.
    #[schema(nullable = false)]
    pub(crate) batch: Option<String>,
}

/// A person to make an operator.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct NewOperator {
    /// Email address of a console user.
    #[schema(max_length = 254)]
    pub(crate) email: String,
    /// Role.
    #[schema(inline = false)]
    pub(crate) role: OperatorRoleName,
}

/// Another role of an operator.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct OperatorRoleBody {
    /// Role.
    #[schema(inline = false)]
    pub(crate) role: OperatorRoleName,
}

/// Null is "none", and not the same as nothing.
fn there<'de, T: Deserialize<'de>, D: Deserializer<'de>>(
    reader: D,
) -> Result<Option<Option<T>>, D::Error> {
    Option::deserialize(reader).map(Some)
}

// === impl OperatorRoleName ===

impl From<OperatorRole> for OperatorRoleName {
    fn from(role: OperatorRole) -> Self {
        match role {
            OperatorRole::Owner => Self::Owner,
            OperatorRole::Finance => Self::Finance,
            OperatorRole::Support => Self::Support,
            OperatorRole::ReadOnly => Self::ReadOnly,
        }
    }
}

impl From<OperatorRoleName> for OperatorRole {
    fn from(word: OperatorRoleName) -> Self {
        match word {
            OperatorRoleName::Owner => Self::Owner,
            OperatorRoleName::Finance => Self::Finance,
            OperatorRoleName::Support => Self::Support,
            OperatorRoleName::ReadOnly => Self::ReadOnly,
        }
    }
}
