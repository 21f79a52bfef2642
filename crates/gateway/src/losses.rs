//! Today's losses on the metrics page: calls whose upstream may bill what the customer does not pay.

use std::sync::Arc;

use trunkline_db::DbError;
use trunkline_edge::prometheus::Page;
use trunkline_ledger::holds::{self, OpenHolds};
use trunkline_ledger::losses::{self, KindLosses, LossTotals};
use trunkline_ledger::margins::{self, BelowCost};
use trunkline_types::Money;

use crate::services::Services;

/// Money that is at risk: what was lost today, and what is held.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MoneyAtRisk {
    pub losses: Vec<KindLosses>,
    pub holds: OpenHolds,
    /// Calls of today that were sold below their cost, by channel and model.
    pub below_cost: Vec<BelowCost>,
}

/// Reads today's losses and the open holds of all accounts, for metrics and alarms.
pub async fn measure_losses(services: &Services) -> Result<Arc<MoneyAtRisk>, DbError> {
    let at_risk = Arc::new(MoneyAtRisk {
        losses: losses::today(&services.data).await?,
        holds: holds::open(&services.data).await?,
        below_cost: margins::below_cost_today(&services.data).await?,
    });
    services.losses.store(Some(Arc::clone(&at_risk)));
    Ok(at_risk)
}

/// What was measured last; none on a node that does not measure.
#[must_use]
pub fn money_at_risk(services: &Services) -> Option<Arc<MoneyAtRisk>> {
    services.losses.load_full()
}

/// A node that does not measure them shows none: zero would say that there are no losses.
pub(crate) fn page(page: &mut Page, services: &Services) {
    let Some(at_risk) = services.losses.load_full() else {
        return;
    };
    let (today, held) = (&at_risk.losses, at_risk.holds);
    let help = "Open holds of all nodes: calls and tasks under way.";
    page.gauge("holds_all_calls", help, held.count);
    page.gauge("holds_all_usd", "Their amount.", held.amount);
    let help = "Open holds past their deadline, which nothing has resolved.";
    page.gauge("holds_overdue_calls", help, held.overdue);
    page.gauge("holds_overdue_usd", "Their amount.", held.overdue_amount);
    let help = "Calls of today (UTC) that upstreams may bill and customers do not pay, by kind.";
    let calls = |totals: LossTotals| totals.calls.to_string();
    family(page, "losses_calls", help, today, |of| calls(of.total));
    let help = "What customers would have paid for them, where that is known.";
    family(page, "losses_usd", help, today, |of| usd(of.total));
    let help = "The most such calls of one account.";
    let name = "losses_account_max_calls";
    family(page, name, help, today, |of| calls(of.account_max));
    let help = "The largest such amount of one account.";
    let name = "losses_account_max_usd";
    family(page, name, help, today, |of| usd(of.account_max));
}

fn family(
    page: &mut Page,
    name: &'static str,
    help: &str,
    today: &[KindLosses],
    value: impl Fn(&KindLosses) -> String,
) {
    let mut family = page.gauges(name, help);
    for of in today {
        family.sample(&[("kind", of.kind.as_str())], value(of));
    }
}

/// A gauge has a number at all times: what is not known of any call counts as none.
fn usd(totals: LossTotals) -> String {
    totals.sale.unwrap_or(Money::ZERO).to_string()
}
