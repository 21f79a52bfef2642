//! This installation: alarms, settings and the rules of trial credit. Read-only.

use axum::Json;
use axum::extract::State;
use serde::Serialize;
use trunkline_store::alarms::{self as store, Change};
use trunkline_store::attention;
use utoipa::ToSchema;

use crate::error::ApiError;
use crate::operator_session::Operator;
use crate::shared::Shared;
use crate::times::rfc3339;

const MAX_ALARMS: i64 = 500;

/// Alarms.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Alarms {
    /// Those that fire first, then the newest; resolved ones for thirty days.
    data: Vec<AlarmView>,
}

/// An alarm.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Alarm)]
pub(crate) struct AlarmView {
    /// Name.
    name: String,
    /// A channel or a kind of loss; empty for the whole.
    subject: String,
    /// The node that sees it; empty for all.
    node: String,
    /// What is wrong.
    summary: String,
    /// Whether it fires.
    is_firing: bool,
    /// Time of the last change.
    #[schema(format = DateTime)]
    changed_at: String,
}

/// Settings.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Settings {
    /// By name.
    data: Vec<Setting>,
}

/// A setting.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Setting {
    /// Name in the configuration.
    #[schema(example = "console.sign_up")]
    name: String,
    /// Value; secrets are hidden.
    #[schema(example = "closed")]
    value: String,
}

/// Trial credit.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct TrialReport {
    /// The rules; null if no trial credit is granted.
    #[schema(required)]
    trial: Option<TrialRules>,
    /// Grants of today, UTC.
    granted_today: i64,
    /// Grants of the last 30 days.
    granted_30_days: i64,
    /// Their amount.
    #[schema(example = "12.5")]
    granted_30_days_usd: String,
}

/// The rules of trial credit.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct TrialRules {
    /// Amount of each grant.
    #[schema(example = "0.2")]
    amount_usd: String,
    /// Validity in days.
    days: u32,
    /// Grants of a day, at most.
    per_day: u32,
}

/// Lists alarms.
#[utoipa::path(get, path = "/api/operator/alarms", operation_id = "list_alarms", tag = "instance",
    responses((status = 200, description = "The alarms", body = Alarms)))]
pub(super) async fn alarms(
    State(shared): State<Shared>,
    _operator: Operator,
) -> Result<Json<Alarms>, ApiError> {
    let mut session = shared.people.session().await?;
    let found = store::list(&mut session, MAX_ALARMS).await?;
    Ok(Json(Alarms {
        data: found.into_iter().map(AlarmView::of).collect(),
    }))
}

/// Lists the settings of this node.
#[utoipa::path(get, path = "/api/operator/settings", operation_id = "show_settings", tag = "instance",
    responses((status = 200, description = "The settings", body = Settings)))]
pub(super) async fn settings(State(shared): State<Shared>, _operator: Operator) -> Json<Settings> {
    let pairs = shared.settings.configuration.iter();
    let data = pairs.map(|(name, value)| Setting {
        name: name.clone(),
        value: value.clone(),
    });
    Json(Settings {
        data: data.collect(),
    })
}

/// Returns the rules of trial credit and what was granted.
#[utoipa::path(get, path = "/api/operator/trial", operation_id = "show_trial", tag = "instance",
    responses((status = 200, description = "Trial credit", body = TrialReport)))]
pub(super) async fn trial(
    State(shared): State<Shared>,
    _operator: Operator,
) -> Result<Json<TrialReport>, ApiError> {
    let mut session = shared.people.session().await?;
    let granted = attention::trial_grants(&mut session).await?;
    let rules = shared.settings.trial.map(|trial| TrialRules {
        amount_usd: trial.amount.to_string(),
        days: trial.days,
        per_day: trial.per_day,
    });
    Ok(Json(TrialReport {
        trial: rules,
        granted_today: granted.today,
        granted_30_days: granted.days_30,
        granted_30_days_usd: granted.days_30_amount.to_string(),
    }))
}

// === impl AlarmView ===

impl AlarmView {
    fn of(alarm: Change) -> Self {
        Self {
            name: alarm.name,
            subject: alarm.subject,
            node: alarm.node,
            summary: alarm.summary,
            is_firing: alarm.is_firing,
            changed_at: rfc3339(alarm.changed_at),
        }
    }
}
