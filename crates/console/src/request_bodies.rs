//! The JSON that requests bring. Types alone: what a value means is checked where it is used. Fields that are not
//! known are refused. The fuzzer reads this file without the crate.

use serde::{Deserialize, Deserializer, Serialize};
use trunkline_types::Secret;
use utoipa::ToSchema;

/// Role of a member.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
#[schema(as = Role)]
pub(crate) enum RoleName {
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

/// Period of a budget.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum BudgetPeriod {
    /// For ever.
    Total,
    /// A calendar day.
    Daily,
    /// Monday to Sunday.
    Weekly,
    /// A calendar month.
    Monthly,
}

/// What becomes of a stream whose client leaves.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
#[schema(as = OnDisconnect)]
pub(crate) enum OnDisconnectName {
    /// The upstream is cancelled, and what it made is charged.
    Cancel,
    /// The stream is read to its end and charged as if the client had stayed.
    Finish,
}

/// In which order routes are tried.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
#[schema(as = RoutePolicy)]
pub(crate) enum RoutePolicyName {
    /// By the operator's priorities.
    Priority,
    /// The lowest price first.
    Cheapest,
    /// The shortest time to an answer first.
    Fastest,
}

/// The highest price that a key pays.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = MaxPrice)]
pub(crate) struct MaxPriceBody {
    /// USD for a million input tokens; null for any.
    #[schema(example = "3")]
    pub(crate) input: Option<String>,
    /// USD for a million output tokens; null for any.
    #[schema(example = "15")]
    pub(crate) output: Option<String>,
    /// USD for a call, an image, a second or a character; null for any.
    #[schema(example = "0.04")]
    pub(crate) unit: Option<String>,
}

/// Which routes all keys of an organisation are served by.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = AccountRoutes)]
pub(crate) struct AccountRoutesBody {
    /// In which order routes are tried; null for `priority`. A key's own order wins.
    #[serde(default)]
    #[schema(inline = false)]
    pub(crate) policy: Option<RoutePolicyName>,
    /// Calls of dearer models are refused; null for any price.
    #[serde(default)]
    #[schema(inline = false)]
    pub(crate) max_price: Option<MaxPriceBody>,
    /// Where upstreams may keep data; null for anywhere.
    #[serde(default)]
    pub(crate) residencies: Option<Vec<String>>,
    /// Only upstreams that keep nothing.
    #[serde(default)]
    pub(crate) upstream_zero_retention: bool,
}

/// Creation of the operator account.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct SetupBody {
    /// The part after the `#` of the link.
    #[schema(value_type = String, max_length = 200)]
    pub(crate) token: Secret,
    /// The operator's email address.
    #[schema(max_length = 254)]
    pub(crate) email: String,
    /// Name.
    #[schema(min_length = 1, max_length = 100)]
    pub(crate) name: String,
    /// Password.
    #[schema(value_type = String, format = Password, min_length = 10, max_length = 200)]
    pub(crate) password: Secret,
    /// Name of the organisation.
    #[schema(min_length = 1, max_length = 100)]
    pub(crate) organisation: String,
}

/// Email address and password.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct SignInBody {
    /// Email address.
    #[schema(max_length = 254)]
    pub(crate) email: String,
    /// The password.
    #[schema(value_type = String, format = Password, max_length = 200)]
    pub(crate) password: Secret,
}

/// Organisation to select.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct SwitchBody {
    /// Id.
    pub(crate) account_id: i64,
}

/// Password confirmation.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct StepUpBody {
    /// The password.
    #[schema(value_type = Option<String>, format = Password, max_length = 200, nullable = false)]
    pub(crate) password: Option<Secret>,
    /// A code of the second factor, for users without a password.
    #[schema(value_type = Option<String>, max_length = 40, nullable = false)]
    pub(crate) code: Option<Secret>,
}

/// A code of the second factor.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct SecondFactorCode {
    /// Six digits of the authenticator app, or a recovery code.
    #[schema(value_type = String, max_length = 40, example = "123456")]
    pub(crate) code: Secret,
}

/// Sign-in with the link of `trunkline dev`.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct DevSessionBody {
    /// The part after the `#` of the link.
    #[schema(value_type = String, max_length = 200)]
    pub(crate) token: Secret,
}

/// A sign-up.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct SignUpBody {
    /// Email address.
    #[schema(max_length = 254)]
    pub(crate) email: String,
    /// Name.
    #[schema(max_length = 100)]
    pub(crate) name: String,
    /// The password.
    #[schema(value_type = String, format = Password, min_length = 10, max_length = 200)]
    pub(crate) password: Secret,
    /// Name of the organisation.
    #[schema(max_length = 100)]
    pub(crate) organisation: String,
    /// Invitation token, where required.
    #[serde(default)]
    #[schema(value_type = Option<String>)]
    pub(crate) invitation: Option<Secret>,
}

/// A link's token.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct VerifyBody {
    /// The part after the `#` of the link.
    #[schema(value_type = String)]
    pub(crate) token: Secret,
}

/// An empty object.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct EmptyBody {}

/// An email address.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ForgotBody {
    /// Email address.
    #[schema(max_length = 254)]
    pub(crate) email: String,
}

/// A link's token and a new password.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ResetBody {
    /// The part after the `#` of the link.
    #[schema(value_type = String)]
    pub(crate) token: Secret,
    /// The new password.
    #[schema(value_type = String, format = Password, min_length = 10, max_length = 200)]
    pub(crate) password: Secret,
}

/// A name.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct NameBody {
    /// One line.
    #[schema(min_length = 1, max_length = 100)]
    pub(crate) name: String,
}

/// The current and the new password.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ChangePasswordBody {
    /// Current password.
    #[schema(value_type = String, format = Password, max_length = 200)]
    pub(crate) current: Secret,
    /// New password.
    #[schema(value_type = String, format = Password, min_length = 10, max_length = 200)]
    pub(crate) password: Secret,
}

/// A new role.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct RoleBody {
    /// New role.
    #[schema(inline = false)]
    pub(crate) role: RoleName,
}

/// Email address to invite.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct InviteBody {
    /// Email address.
    #[schema(max_length = 254)]
    pub(crate) email: String,
    /// Role.
    #[schema(inline = false)]
    pub(crate) role: RoleName,
}

/// The token of a link.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct InvitationToken {
    /// The part after the `#` of the link.
    #[schema(value_type = String, max_length = 200)]
    pub(crate) token: Secret,
}

/// Acceptance of an invitation.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct AcceptBody {
    /// The part after the `#` of the link.
    #[schema(value_type = String, max_length = 200)]
    pub(crate) token: Secret,
    /// Name of a new user.
    #[schema(min_length = 1, max_length = 100, nullable = false)]
    pub(crate) name: Option<String>,
    /// Password of the existing account, or the new password of a new user. Not needed if that user is
    /// signed in.
    #[schema(value_type = Option<String>, format = Password, max_length = 200, nullable = false)]
    pub(crate) password: Option<Secret>,
}

/// A budget to set.
#[derive(Debug, Clone, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct NewBudget {
    /// The period; each at most once.
    #[schema(inline = false)]
    pub(crate) period: BudgetPeriod,
    /// IANA time zone of the period; UTC by default. Not for a total.
    #[schema(nullable = false)]
    pub(crate) timezone: Option<String>,
    /// The limit.
    #[schema(example = "5")]
    pub(crate) limit_usd: String,
}

/// A key to create. An omitted list allows everything.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct NewKey {
    /// Display name.
    #[schema(max_length = 100)]
    pub(crate) name: String,
    /// Pricing group allowed for the organisation, or `auto`.
    #[schema(nullable = false)]
    pub(crate) group: Option<String>,
    /// Allowed models.
    #[schema(nullable = false)]
    pub(crate) models: Option<Vec<String>>,
    /// Allowed endpoints.
    #[schema(nullable = false)]
    pub(crate) endpoints: Option<Vec<String>>,
    /// Allowed social platforms.
    #[schema(nullable = false)]
    pub(crate) platforms: Option<Vec<String>>,
    /// Allowed client networks.
    #[schema(nullable = false)]
    pub(crate) addresses: Option<Vec<String>>,
    /// Allowed upstream regions.
    #[schema(nullable = false)]
    pub(crate) regions: Option<Vec<String>>,
    /// Where upstreams may keep data.
    #[schema(nullable = false)]
    pub(crate) residencies: Option<Vec<String>>,
    /// Only upstreams that keep nothing.
    #[serde(default)]
    pub(crate) upstream_zero_retention: bool,
    /// In which order routes are tried; `priority` by default.
    #[schema(nullable = false, inline = false)]
    pub(crate) policy: Option<RoutePolicyName>,
    /// Calls of dearer models are refused.
    #[schema(nullable = false, inline = false)]
    pub(crate) max_price: Option<MaxPriceBody>,
    /// Requests per minute.
    #[schema(nullable = false)]
    pub(crate) requests_per_minute: Option<i64>,
    /// Tokens per minute.
    #[schema(nullable = false)]
    pub(crate) tokens_per_minute: Option<i64>,
    /// Concurrent calls.
    #[schema(nullable = false)]
    pub(crate) concurrent_calls: Option<i64>,
    /// Reject calls with ignored or rewritten fields.
    #[serde(default)]
    pub(crate) strict: bool,
    /// Lower a call's maximum to what the balance covers.
    #[schema(nullable = false)]
    pub(crate) fit_to_balance: Option<bool>,
    /// Do not store prompts and results.
    #[serde(default)]
    pub(crate) zero_retention: bool,
    /// What becomes of a stream whose client leaves; `cancel` by default.
    #[schema(nullable = false, inline = false)]
    pub(crate) on_disconnect: Option<OnDisconnectName>,
    /// Expiry.
    #[schema(nullable = false, format = DateTime)]
    pub(crate) expires_at: Option<String>,
    /// Budgets.
    #[serde(default)]
    pub(crate) budgets: Vec<NewBudget>,
}

/// Changes to a key.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct KeyChange {
    /// New name.
    #[schema(nullable = false, max_length = 100)]
    pub(crate) name: Option<String>,
    /// Expiry; null for never.
    #[serde(default, deserialize_with = "there")]
    #[schema(value_type = Option<String>, format = DateTime)]
    pub(crate) expires_at: Option<Option<String>>,
    /// In which order routes are tried.
    #[schema(nullable = false, inline = false)]
    pub(crate) policy: Option<RoutePolicyName>,
    /// The new limits; one that is not named is removed.
    #[schema(nullable = false, inline = false)]
    pub(crate) max_price: Option<MaxPriceBody>,
}

/// Rotation options.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct RotateBody {
    /// How long the previous secret stays valid: 0 to 30 days.
    #[schema(maximum = 2_592_000)]
    pub(crate) overlap_seconds: u32,
}

/// All budgets of a key.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct BudgetsBody {
    /// The new list of budgets; budgets that are not listed are removed.
    #[schema(max_items = 4)]
    pub(crate) budgets: Vec<NewBudget>,
}

/// A low-balance threshold.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct LowBalanceThreshold {
    /// Below this balance one event is sent; null for none.
    #[schema(required, example = "5")]
    #[serde(deserialize_with = "Option::deserialize")]
    pub(crate) threshold_usd: Option<String>,
    /// Language of the email that owners, admins and billing members get with the event; null for no email.
    #[serde(default)]
    pub(crate) email_language: Option<EmailLanguage>,
}

/// Language of an email.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Serialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum EmailLanguage {
    En,
    Zh,
}

/// A code.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct RedeemBody {
    /// The code; case, spaces and dashes are ignored.
    #[schema(value_type = String, max_length = 64, example = "TL-0000-0000-0000-0000")]
    pub(crate) code: Secret,
}

/// A payment to start.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct CheckoutBody {
    /// Amount in USD, in whole cents.
    #[schema(example = "25")]
    pub(crate) amount_usd: String,
    /// Whether the payment method is saved for automatic top-up.
    #[serde(default)]
    pub(crate) save_method: bool,
}

/// Automatic top-up.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct AutomaticTopUpBody {
    /// The saved payment method is charged when the available balance is below this amount.
    #[schema(example = "5")]
    pub(crate) below_usd: String,
    /// Amount of each payment, in whole cents.
    #[schema(example = "25")]
    pub(crate) amount_usd: String,
    /// Most that is charged automatically in a calendar month (UTC).
    #[schema(example = "100")]
    pub(crate) month_max_usd: String,
}

/// Null is "never", and not the same as nothing.
fn there<'de, D: Deserializer<'de>>(reader: D) -> Result<Option<Option<String>>, D::Error> {
    Option::deserialize(reader).map(Some)
}
