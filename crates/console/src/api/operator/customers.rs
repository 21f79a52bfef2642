//! Customers: listed, searched, shown, created.
#![expect(
    unused_qualifications,
    reason = "the OpenAPI attribute writes the whole path of the query"
)]

use std::collections::BTreeMap;

use axum::Json;
use axum::extract::rejection::{PathRejection, QueryRejection};
use axum::extract::{Path, Query, State};
use http::StatusCode;
use serde::{Deserialize, Serialize};
use serde_json::json;
use trunkline_ledger::accounts::{self as ledger_accounts, AccountKind};
use trunkline_ledger::installation::{self, ListedBalance, Sums};
use trunkline_ledger::usage_report::{self, Grouping, UsageFilter};
use trunkline_store::account_notes::{self, Note};
use trunkline_store::accounts::{self, Account, AccountState, DEFAULT_GROUP, NewAccount};
use trunkline_store::action_log::{self, NewAction};
use trunkline_store::payments;
use trunkline_store::people::{self, Member};
use trunkline_types::{AccountId, Money};
use utoipa::{IntoParams, ToSchema};

use super::views::{SumsView, customer, customer_id};
use crate::api::customer::amounts::{self, BalanceView};
use crate::api::customer::query;
use crate::api::people::RoleName;
use crate::error::ApiError;
use crate::json_body::JsonBody;
use crate::operator_bodies::{CustomerKindName, CustomerLimitsBody, NewCustomer};
use crate::operator_session::{CustomersWrite, May, Operator};
use crate::organisations::{any_shard, wrong_name};
use crate::shared::Shared;
use crate::times::rfc3339;

const USUAL_PAGE: u32 = 50;
const MOST_PER_PAGE: u32 = 200;
/// Days that a profile sums up.
const DAYS: i64 = 30;
/// Actions that explain why a customer is suspended.
const SUSPENDING: [&str; 1] = ["suspend_customer"];

/// Which customers.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct CustomersQuery {
    /// A part of the name, the id, a member's email address, a key's hint or a payment's id.
    #[param(nullable = false, max_length = 200)]
    search: Option<String>,
    /// Only in this state.
    #[param(nullable = false, inline)]
    state: Option<CustomerStateName>,
    /// `next_after` of the previous page.
    #[param(nullable = false)]
    after: Option<i64>,
    /// Page size; 50 by default.
    #[param(nullable = false, minimum = 1, maximum = 200)]
    limit: Option<u32>,
}

/// State of a customer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
#[schema(as = CustomerState)]
pub(crate) enum CustomerStateName {
    /// Its keys work.
    Active,
    /// Its keys are refused.
    Suspended,
    /// For good.
    Closed,
}

/// A page of customers.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Customers {
    /// By id.
    data: Vec<CustomerRow>,
    /// `after` of the next page; null at the end.
    #[schema(required)]
    next_after: Option<i64>,
}

/// A customer.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Customer)]
pub(crate) struct CustomerRow {
    /// Account id.
    id: i64,
    /// Display name.
    name: String,
    /// Live or test.
    #[schema(inline = false)]
    kind: CustomerKindName,
    /// State.
    #[schema(inline = false)]
    state: CustomerStateName,
    /// Pricing group.
    group: String,
    /// Time of creation.
    #[schema(format = DateTime)]
    created_at: String,
    /// First top-up; null if there was none.
    #[schema(required, format = DateTime)]
    topped_up_at: Option<String>,
    /// Paid credit, including holds.
    #[schema(example = "12.5")]
    paid_usd: String,
    /// Trial credit, including holds.
    #[schema(example = "0")]
    trial_usd: String,
    /// Email address of the first owner; null without members.
    #[schema(required)]
    owner_email: Option<String>,
}

/// A customer with everything that operators see.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct CustomerDetail {
    #[serde(flatten)]
    row: CustomerRow,
    /// Other groups that its keys may name.
    allowed_groups: Vec<String>,
    /// Since when its keys are refused; null if they are not.
    #[schema(required, format = DateTime)]
    suspended_at: Option<String>,
    /// When it was closed; null if it is open.
    #[schema(required, format = DateTime)]
    closed_at: Option<String>,
    /// Why it is suspended; null if it is not.
    #[schema(required)]
    suspension_reason: Option<String>,
    /// Balances.
    balance: BalanceView,
    /// Low-balance threshold; null for none.
    #[schema(required, example = "5")]
    low_balance_usd: Option<String>,
    /// Rate limits.
    #[schema(inline = false)]
    limits: CustomerLimitsBody,
    /// Members, owners first.
    members: Vec<CustomerMember>,
    /// The last 30 days.
    last_30_days: SumsView,
    /// What it owes of reversed payments.
    #[schema(example = "0")]
    owed_usd: String,
    /// Notes of operators, newest first.
    notes: Vec<NoteView>,
}

/// A member of a customer's organisation.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct CustomerMember {
    /// User id.
    id: i64,
    /// Email address.
    email: String,
    /// Name.
    name: String,
    /// Role.
    #[schema(inline = false)]
    role: RoleName,
    /// Time of joining.
    #[schema(format = DateTime)]
    joined_at: String,
    /// Last activity; null for never or long ago.
    #[schema(required, format = DateTime)]
    last_seen_at: Option<String>,
}

/// A note of an operator.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Note)]
pub(crate) struct NoteView {
    /// Id.
    id: i64,
    /// The note.
    text: String,
    /// Email address of the author.
    author: String,
    /// Time.
    #[schema(format = DateTime)]
    created_at: String,
}

/// Lists customers, searched by any visible part of an id, a name or an email address.
#[utoipa::path(get, path = "/api/operator/customers", operation_id = "list_customers", tag = "customers",
    params(CustomersQuery),
    responses((status = 200, description = "A page of customers", body = Customers)))]
pub(super) async fn list(
    State(shared): State<Shared>,
    _operator: Operator,
    params: Result<Query<CustomersQuery>, QueryRejection>,
) -> Result<Json<Customers>, ApiError> {
    let params = query::query(params)?;
    let search = params.search.filter(|text| !text.trim().is_empty());
    let search = query::text("search", search)?.unwrap_or_default();
    let limit = query::limit(params.limit, USUAL_PAGE, MOST_PER_PAGE)?;
    let after = AccountId::new(params.after.unwrap_or(0));
    let state = params.state.map(AccountState::from);
    let mut session = shared.people.session().await?;
    let found = accounts::search(&mut session, search.trim(), state, after, limit).await?;
    drop(session);
    let full = u32::try_from(found.len()).is_ok_and(|count| count == limit);
    let next_after = found.last().filter(|_| full).map(|one| one.id.number());
    let data = rows(&shared, &found).await?;
    Ok(Json(Customers { data, next_after }))
}

/// Creates a customer. Invite its owner next.
#[utoipa::path(post, path = "/api/operator/customers", operation_id = "create_customer", tag = "customers",
    request_body = NewCustomer,
    responses((status = 201, description = "The customer", body = CustomerDetail)))]
pub(super) async fn create(
    State(shared): State<Shared>,
    operator: May<CustomersWrite>,
    JsonBody(body): JsonBody<NewCustomer>,
) -> Result<(StatusCode, Json<CustomerDetail>), ApiError> {
    let kind = match body.kind.unwrap_or(CustomerKindName::Live) {
        CustomerKindName::Live => AccountKind::Live,
        CustomerKindName::Test => AccountKind::Test,
    };
    let group = body.group.as_deref().unwrap_or(DEFAULT_GROUP);
    let shard = any_shard(shared.random.as_ref())?;
    let mut tx = shared.people.begin().await.map_err(query::unwritten)?;
    let made = async {
        let id = ledger_accounts::create_account(&mut tx, kind).await?;
        let new = NewAccount {
            id,
            name: body.name.trim(),
            group,
            allowed_groups: &[],
            shard,
        };
        accounts::create(&mut tx, &new).await.map_err(wrong_name)?;
        let action = NewAction {
            action: "create_customer",
            account: Some(id),
            subject: &format!("customer {id} {}", new.name),
            after: Some(json!({ "name": new.name, "group": group, "kind": kind.as_str() })),
            ..NewAction::default()
        };
        operator.log(&mut tx, &action).await?;
        Ok::<_, ApiError>(id)
    };
    let made = made.await;
    let id = tx.finish(made).await?;
    Ok((StatusCode::CREATED, Json(detail(&shared, id).await?)))
}

/// Returns a customer.
#[utoipa::path(get, path = "/api/operator/customers/{id}", operation_id = "show_customer", tag = "customers",
    params(("id" = i64, Path, description = "The customer")),
    responses((status = 200, description = "The customer", body = CustomerDetail)))]
pub(super) async fn show(
    State(shared): State<Shared>,
    _operator: Operator,
    id: Result<Path<i64>, PathRejection>,
) -> Result<Json<CustomerDetail>, ApiError> {
    Ok(Json(detail(&shared, customer_id(id)?).await?))
}

/// Everything that operators see of a customer.
pub(super) async fn detail(shared: &Shared, id: AccountId) -> Result<CustomerDetail, ApiError> {
    let account = customer(shared, id).await?;
    let (balance, trial_ends) = amounts::balance(shared, id).await?;
    let to = usage_report::today(&shared.data).await?;
    let filter = UsageFilter {
        account: id,
        below: None,
        key: None,
        model: None,
        from: to.earlier(DAYS.saturating_sub(1)),
        to,
    };
    let report = usage_report::read(&shared.data, &filter, Grouping::default(), None, 1).await?;
    let mut session = shared.people.session().await?;
    let members = people::members(&mut session, id).await?;
    let notes = account_notes::list(&mut session, id).await?;
    let owed = payments::owed(&mut session, id).await?;
    let suspended = match account.suspended_at {
        Some(_) => action_log::newest_of(&mut session, id, &SUSPENDING).await?,
        None => None,
    };
    drop(session);
    let listed = rows(shared, std::slice::from_ref(&account)).await?;
    let row = listed.into_iter().next();
    let sums = Sums {
        calls: report.totals.calls,
        failed: report.totals.failed,
        charged: report.totals.charged(),
        refunded: report.totals.refunded,
        cost: report.totals.cost,
    };
    Ok(CustomerDetail {
        row: row.ok_or_else(ApiError::unavailable)?,
        allowed_groups: account.allowed_groups.clone(),
        suspended_at: account.suspended_at.map(rfc3339),
        closed_at: account.closed_at.map(rfc3339),
        suspension_reason: suspended.and_then(|action| action.reason),
        low_balance_usd: balance.low_balance_threshold.map(|mark| mark.to_string()),
        balance: BalanceView::of(&balance, trial_ends),
        limits: CustomerLimitsBody::of(&account),
        members: members.into_iter().map(CustomerMember::of).collect(),
        last_30_days: SumsView::of(&sums),
        owed_usd: owed.to_string(),
        notes: notes.into_iter().map(NoteView::of).collect(),
    })
}

async fn rows(shared: &Shared, found: &[Account]) -> Result<Vec<CustomerRow>, ApiError> {
    let ids: Vec<AccountId> = found.iter().map(|account| account.id).collect();
    let balances = installation::balances(&shared.data, &ids).await?;
    let balances: BTreeMap<AccountId, ListedBalance> =
        balances.into_iter().map(|one| (one.account, one)).collect();
    let mut session = shared.people.session().await?;
    let owners = accounts::owners(&mut session, &ids).await?;
    let row = |account: &Account| {
        let balance = balances.get(&account.id);
        CustomerRow {
            id: account.id.number(),
            name: account.name.clone(),
            kind: match balance.map(|balance| balance.kind) {
                Some(AccountKind::Test) => CustomerKindName::Test,
                Some(AccountKind::Live) | None => CustomerKindName::Live,
            },
            state: account.state().into(),
            group: account.group.clone(),
            created_at: rfc3339(account.created_at),
            topped_up_at: account.topped_up_at.map(rfc3339),
            paid_usd: balance.map_or(Money::ZERO, |one| one.paid).to_string(),
            trial_usd: balance.map_or(Money::ZERO, |one| one.trial).to_string(),
            owner_email: owners.get(&account.id).cloned(),
        }
    };
    Ok(found.iter().map(row).collect())
}

// === impl CustomerStateName, CustomerLimitsBody, CustomerMember, NoteView ===

impl From<AccountState> for CustomerStateName {
    fn from(state: AccountState) -> Self {
        match state {
            AccountState::Active => Self::Active,
            AccountState::Suspended => Self::Suspended,
            AccountState::Closed => Self::Closed,
        }
    }
}

impl From<CustomerStateName> for AccountState {
    fn from(state: CustomerStateName) -> Self {
        match state {
            CustomerStateName::Active => Self::Active,
            CustomerStateName::Suspended => Self::Suspended,
            CustomerStateName::Closed => Self::Closed,
        }
    }
}

impl CustomerLimitsBody {
    pub(super) const fn of(account: &Account) -> Self {
        Self {
            requests_per_minute: account.rates.requests_per_minute,
            tokens_per_minute: account.rates.tokens_per_minute,
            concurrent_calls: account.rates.concurrent_calls,
        }
    }
}

impl CustomerMember {
    fn of(member: Member) -> Self {
        Self {
            id: member.person.number(),
            email: member.email,
            name: member.name,
            role: member.role.into(),
            joined_at: rfc3339(member.joined_at),
            last_seen_at: member.last_seen_at.map(rfc3339),
        }
    }
}

impl NoteView {
    pub(super) fn of(note: Note) -> Self {
        Self {
            id: note.id,
            text: note.text,
            author: note.author,
            created_at: rfc3339(note.created_at),
        }
    }
}
