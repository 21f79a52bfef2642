//! Conditions that an operator is told of without Prometheus: what this node sees, and what all nodes read from
//! the database. The rules of `packaging/prometheus` ask the same of the metrics.

use std::sync::atomic::Ordering;

use trunkline_db::bus::Health;
use trunkline_edge::obstacles::Obstacle;
use trunkline_ledger::losses::LossKind;
use trunkline_ledger::margins::BelowCost;
use trunkline_limits::Mode;
use trunkline_store::alarms::Condition;
use trunkline_types::Money;

use crate::losses::MoneyAtRisk;
use crate::services::Services;

/// Copies of events may wait so long.
const MAX_OUTBOX_SECONDS: i64 = 120;
/// Calls of a day that may lose their outcome.
const MAX_UNBILLED_CALLS: i64 = 50;
/// Characters of an alarm's subject.
const MAX_SUBJECT: usize = 200;

/// What one account may lose in a day before the operator hears of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AlarmLimits {
    /// Overruns, and calls whose outcome was lost.
    pub account_usd: Money,
    /// Calls that were left by their client.
    pub account_calls: i64,
}

/// All conditions that hold now. Money is known where it could be read.
#[must_use]
pub fn conditions(
    services: &Services,
    node: &str,
    at_risk: Option<&MoneyAtRisk>,
    limits: AlarmLimits,
) -> Vec<Condition> {
    let mut found = of_node(services, node);
    found.extend(of_channels(services, node));
    if let Some(at_risk) = at_risk {
        found.extend(of_money(at_risk, limits));
        let registry = services.channels.load_full();
        let name = |id: i64| {
            let mut channels = registry.channels();
            let channel = channels.find(|one| one.row.id.number() == id);
            channel.map_or_else(|| format!("channel {id}"), |one| one.row.name.clone())
        };
        found.extend(at_risk.below_cost.iter().map(|of| below_cost(of, &name)));
    }
    let waiting = &services.account_api.event_hub.counts.waiting_seconds;
    if waiting.load(Ordering::Relaxed) > MAX_OUTBOX_SECONDS {
        found.push(of_all(
            "events_late",
            "",
            "Copies of events wait for over two minutes.".to_owned(),
        ));
    }
    found
}

fn of_node(services: &Services, node: &str) -> Vec<Condition> {
    let obstacles = &services.edge.obstacles;
    let rejected = services.rejected_catalog.load(Ordering::Relaxed);
    let facts = [
        (
            "database_away",
            obstacles.has(Obstacle::DatabaseAway),
            "The database does not answer this node; it accepts no calls.".to_owned(),
        ),
        (
            "keyring_lags",
            obstacles.has(Obstacle::KeyringLags),
            "The keyring of this node is older than the one in use; it accepts no calls. Give it the rotated file."
                .to_owned(),
        ),
        (
            "redis_away",
            services.edge.limits.mode() == Mode::Fallback,
            "Redis is away; this node counts limits by its share.".to_owned(),
        ),
        (
            "nats_away",
            services.account_api.bus.health() == Health::Down,
            "NATS is away; events arrive by their table, some seconds later.".to_owned(),
        ),
        (
            "catalog_rejected",
            rejected > 0,
            format!("Revision {rejected} of the catalog fails its checks and is not used: trunkline catalog lint."),
        ),
    ];
    let found = facts.into_iter().filter(|(_, holds, _)| *holds);
    found
        .map(|(name, _, summary)| of_one(name, "", node, summary))
        .collect()
}

fn of_channels(services: &Services, node: &str) -> Vec<Condition> {
    let (now, registry) = (services.now(), services.channels.load_full());
    let mut found = Vec::new();
    for (channel, count) in &registry.unopened {
        let summary = format!(
            "{count} credentials or proxies of the channel cannot be opened with the keyring."
        );
        found.push(of_one("credentials_unopened", channel, node, summary));
    }
    for channel in registry.channels() {
        let name = &channel.row.name;
        if channel.health.is_left_alone(now) {
            let summary =
                "The circuit breaker of the channel is open: trunkline channel test.".to_owned();
            found.push(of_one("channel_left_alone", name, node, summary));
        }
        let states = channel.credential_states(now);
        // A channel whose credentials cannot be opened has none, and an alarm of its own.
        if states.usable == 0 && states.cooling_down.saturating_add(states.paused) > 0 {
            let summary =
                "No credential of the channel is usable: trunkline channel key add.".to_owned();
            found.push(of_one("no_usable_credential", name, node, summary));
        }
    }
    found
}

fn of_money(at_risk: &MoneyAtRisk, limits: AlarmLimits) -> Vec<Condition> {
    let mut found = Vec::new();
    for of in &at_risk.losses {
        let kind = of.kind.as_str();
        let most = of.account_max;
        let usd = most.sale.unwrap_or(Money::ZERO);
        match of.kind {
            LossKind::Overrun | LossKind::Unbilled if usd > limits.account_usd => {
                let summary = format!(
                    "One account used {usd} USD today that it did not pay: trunkline losses."
                );
                found.push(of_all("account_overruns", kind, summary));
            }
            LossKind::Undelivered | LossKind::Interrupted if most.calls > limits.account_calls => {
                let summary = format!(
                    "The client of one account left {} calls today: trunkline losses.",
                    most.calls
                );
                found.push(of_all("account_leaves", kind, summary));
            }
            LossKind::Overrun
            | LossKind::Unbilled
            | LossKind::Undelivered
            | LossKind::Interrupted => {}
        }
        if of.kind == LossKind::Unbilled && of.total.calls > MAX_UNBILLED_CALLS {
            let summary = format!("{} calls of today lost their outcome.", of.total.calls);
            found.push(of_all("unbilled", "", summary));
        }
    }
    let held = at_risk.holds;
    if held.overdue > 0 {
        let summary = format!(
            "{} holds of {} USD are past their deadline and nothing has resolved them: trunkline audit.",
            held.overdue, held.overdue_amount
        );
        found.push(of_all("holds_overdue", "", summary));
    }
    found
}

/// Its subject is a channel and a model, as far as the name of an alarm's subject may be long.
fn below_cost(of: &BelowCost, channel: &impl Fn(i64) -> String) -> Condition {
    let channel = channel(of.channel);
    let subject = format!("{} at {channel}", of.model);
    let subject: String = subject.chars().take(MAX_SUBJECT).collect();
    let summary = format!(
        "{} calls of today were sold {} USD below the price list of the channel: see Margins in the console.",
        of.calls, of.loss
    );
    of_all("sold_below_cost", &subject, summary)
}

fn of_one(name: &'static str, subject: &str, node: &str, summary: String) -> Condition {
    Condition {
        name,
        subject: subject.to_owned(),
        node: node.to_owned(),
        summary,
    }
}

fn of_all(name: &'static str, subject: &str, summary: String) -> Condition {
    of_one(name, subject, "", summary)
}

#[cfg(test)]
mod tests {
    use trunkline_ledger::holds::OpenHolds;
    use trunkline_ledger::losses::{KindLosses, LossTotals};

    use super::*;

    const LIMITS: AlarmLimits = AlarmLimits {
        account_usd: Money::from_nanos(5_000_000_000),
        account_calls: 500,
    };

    fn at_risk(kind: LossKind, calls: i64, nanos: i64, overdue: i64) -> MoneyAtRisk {
        let totals = LossTotals {
            calls,
            sale: Some(Money::from_nanos(nanos)),
        };
        MoneyAtRisk {
            losses: vec![KindLosses {
                kind,
                total: totals,
                account_max: totals,
            }],
            holds: OpenHolds {
                count: overdue,
                amount: Money::ZERO,
                overdue,
                overdue_amount: Money::from_nanos(overdue),
            },
            below_cost: Vec::new(),
        }
    }

    #[test]
    fn an_operator_hears_which_model_is_sold_below_the_cost_of_which_channel() {
        let of = BelowCost {
            channel: 7,
            model: "m".repeat(300),
            calls: 3,
            loss: Money::from_nanos(1_500_000_000),
        };
        let found = below_cost(&of, &|id| format!("number {id}"));
        assert_eq!((found.name, found.node.as_str()), ("sold_below_cost", ""));
        assert_eq!(found.subject.chars().count(), MAX_SUBJECT);
        let short = BelowCost {
            model: "gpt-5".to_owned(),
            ..of
        };
        let found = below_cost(&short, &|id| format!("number {id}"));
        assert_eq!(found.subject, "gpt-5 at number 7");
        assert!(
            found
                .summary
                .starts_with("3 calls of today were sold 1.5 USD below")
        );
    }

    #[test]
    fn an_operator_hears_of_money_above_a_limit_and_of_none_at_it() {
        let names = |at_risk: MoneyAtRisk| -> Vec<&str> {
            let found = of_money(&at_risk, LIMITS);
            found.iter().map(|one| one.name).collect()
        };
        let five = 5_000_000_000;
        assert_eq!(names(at_risk(LossKind::Overrun, 900, five, 0)), [""; 0]);
        assert_eq!(
            names(at_risk(LossKind::Overrun, 1, five + 1, 0)),
            ["account_overruns"]
        );
        assert_eq!(
            names(at_risk(LossKind::Interrupted, 500, five * 9, 0)),
            [""; 0]
        );
        assert_eq!(
            names(at_risk(LossKind::Interrupted, 501, 0, 0)),
            ["account_leaves"]
        );
        assert_eq!(
            names(at_risk(LossKind::Undelivered, 501, 0, 0)),
            ["account_leaves"]
        );
        assert_eq!(names(at_risk(LossKind::Unbilled, 50, 0, 0)), [""; 0]);
        assert_eq!(names(at_risk(LossKind::Unbilled, 51, 0, 0)), ["unbilled"]);
        assert_eq!(
            names(at_risk(LossKind::Overrun, 0, 0, 1)),
            ["holds_overdue"]
        );
    }
}
