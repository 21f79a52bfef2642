//! What must be true after a bad day: calls, money, the log, and what is back.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use serde_json::Value;
use trunkline_ledger::{accounts, usage};
use trunkline_store::channels;
use trunkline_types::{AccountId, RequestId};

use super::customers::{Called, PAID};
use super::script::{Incident, Scope, Script};
use super::upstreams::{
    CHANNELS, CREDENTIALS, MODELS, Upstreams, channel_name, label, mark, theirs,
};
use crate::faults::client_view::ClientView;
use crate::faults::process_harness::{INPUT, OUTPUT, ProcessHarness};

/// What came of calls that had a route.
pub(super) struct Judged {
    pub(super) healthy: usize,
    pub(super) failed: Vec<Called>,
}

/// Credentials that were seen paused, by channel and label.
#[derive(Default)]
pub(super) struct Pauses(Mutex<BTreeSet<(String, String)>>);

impl Pauses {
    pub(super) async fn look(&self, harness: &ProcessHarness) {
        let mut session = harness.console.session().await.unwrap();
        let rows = channels::list(&mut session).await.unwrap();
        let mut seen = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        for row in rows {
            let paused = row
                .credentials
                .iter()
                .filter(|one| one.paused_reason.is_some());
            seen.extend(paused.map(|one| (row.name.clone(), one.label.clone())));
        }
    }
}

/// Calls that had a route that was healthy by the script from their arrival to their end, and those of them that
/// failed.
pub(super) fn judge(calls: &[Called], incidents: &[Incident]) -> Judged {
    let mut judged = Judged {
        healthy: 0,
        failed: Vec::new(),
    };
    for call in calls.iter().filter(|call| !call.hostile) {
        let time = (call.began, call.ended);
        let met: Vec<&Incident> = incidents
            .iter()
            .filter(|one| one.from <= call.ended)
            .filter(|one| one.until.is_none_or(|healed| healed >= call.began))
            .collect();
        let is_healthy = |route| !met.iter().any(|one| one.meets(route, time));
        let mut routes = (0..CHANNELS).flat_map(|channel| {
            (0..CREDENTIALS).map(move |credential| (channel, credential, call.model))
        });
        if !routes.any(is_healthy) {
            continue;
        }
        judged.healthy += 1;
        if call.reported != ClientView::Complete {
            judged.failed.push(call.clone());
        }
    }
    judged
}

/// Waits until every credential serves again, and every channel every model.
pub(super) async fn back_within(
    most: Duration,
    healed: Instant,
    upstreams: &Upstreams,
    harness: &ProcessHarness,
) {
    let counts: Vec<usize> = upstreams
        .simulators
        .iter()
        .map(|one| one.requests().len())
        .collect();
    loop {
        let missing = missing(upstreams, &counts);
        let mut session = harness.console.session().await.unwrap();
        let rows = channels::list(&mut session).await.unwrap();
        drop(session);
        let mut credentials = rows.iter().flat_map(|row| &row.credentials);
        let is_paused = credentials.any(|one| one.paused_reason.is_some());
        if missing.is_empty() && !is_paused {
            println!("all is back after {:?}", healed.elapsed());
            return;
        }
        assert!(
            healed.elapsed() < most,
            "not back: {missing:?}, paused {is_paused}"
        );
        tokio::time::sleep(Duration::from_millis(250)).await;
    }
}

/// What was healed on the way and left alone afterwards served a call in time.
pub(super) fn back_each_time(most: Duration, upstreams: &Upstreams, incidents: &[Incident]) {
    let last_heal = incidents.iter().filter_map(|one| one.until).max();
    let mut checked = 0;
    for one in incidents {
        let (Some(until), Some(healed), Some(last_heal)) =
            (one.until, one.healed_micros, last_heal)
        else {
            continue;
        };
        let credential = match one.scope {
            Scope::Revoked(credential) | Scope::Limited(credential) => credential,
            Scope::Broken | Scope::Slow | Scope::Removed(_) => continue,
        };
        let ends = until + most;
        let is_hit = |other: &Incident| {
            let concerns = match other.scope {
                Scope::Broken | Scope::Slow => true,
                Scope::Revoked(other) | Scope::Limited(other) => other == credential,
                Scope::Removed(_) => false,
            };
            concerns
                && other.channel == one.channel
                && other.from < ends
                && other.until > Some(until)
        };
        if ends > last_heal || incidents.iter().any(is_hit) {
            continue;
        }
        let (healed, own) = (
            u64::try_from(healed).unwrap(),
            mark(one.channel, credential),
        );
        let window = healed..healed + u64::try_from(most.as_micros()).unwrap();
        let requests = upstreams.simulators[one.channel].requests();
        let mut served = requests
            .iter()
            .filter(|request| request.status == 200 && request.key == own);
        let is_back = served.any(|request| window.contains(&request.received_at_micros));
        assert!(is_back, "{own} did not serve within {most:?}: {one:?}");
        checked += 1;
    }
    println!("{checked} credentials were back in time on the way");
}

/// Credentials and models that served no call since.
fn missing(upstreams: &Upstreams, counts: &[usize]) -> Vec<String> {
    let mut missing = Vec::new();
    for (channel, simulator) in upstreams.simulators.iter().enumerate() {
        let requests = simulator.requests();
        let since = requests.iter().skip(counts[channel]);
        let served: Vec<_> = since
            .filter(|one| one.status == 200 && one.path.ends_with("/chat/completions"))
            .collect();
        for credential in 0..CREDENTIALS {
            let own = mark(channel, credential);
            if !served.iter().any(|one| one.key == own) {
                missing.push(own);
            }
        }
        for model in 0..MODELS {
            let name = theirs(model);
            if !served.iter().any(|one| one.model == name) {
                missing.push(format!("{name} at {channel}"));
            }
        }
    }
    missing
}

/// Every pause has a cause in the log, with its channel, the label of a credential and evidence.
pub(super) fn check_log(harness: &ProcessHarness, pauses: &Pauses, script: &Script) {
    let path = harness.log.as_ref().expect("it writes a log");
    let text = String::from_utf8(std::fs::read(path).unwrap()).unwrap();
    let mut reported = BTreeSet::new();
    let mut kinds: BTreeMap<String, usize> = BTreeMap::new();
    for line in text.lines().filter(|line| line.contains("paused: ")) {
        let line: Value = serde_json::from_str(line).unwrap();
        let field = |name: &str| {
            let found = line[name]
                .as_str()
                .or_else(|| line["fields"][name].as_str());
            let found = found.unwrap_or_else(|| panic!("{name} is not in {line}"));
            assert!(!found.is_empty(), "{name} in {line}");
            found.to_owned()
        };
        field("evidence");
        let (channel, label) = (field("channel.name"), field("credential.label"));
        let text = line.to_string();
        let kind = if text.contains("credential paused") {
            reported.insert((channel, label));
            "credential"
        } else {
            "channel"
        };
        *kinds.entry(kind.to_owned()).or_default() += 1;
    }
    println!("pauses in the log: {kinds:?}");
    let seen = pauses.0.lock().unwrap_or_else(PoisonError::into_inner);
    for pause in seen.iter() {
        assert!(
            reported.contains(pause),
            "{pause:?} has no cause in the log"
        );
    }
    // No credential was paused that the script left alone.
    for (channel, name) in seen.iter() {
        let is_revoked = |one: &Incident| match one.scope {
            Scope::Revoked(credential) => {
                channel_name(one.channel) == *channel && label(credential) == *name
            }
            Scope::Broken | Scope::Slow | Scope::Limited(_) | Scope::Removed(_) => false,
        };
        assert!(
            script.incidents().iter().any(is_revoked),
            "{channel} {name} was paused without a reason"
        );
    }
}

/// Nothing is charged that was not delivered, and nothing twice: every account's money is what its whole answers
/// cost.
pub(super) async fn check_money(harness: &ProcessHarness, calls: &[Called]) {
    let mut spent: BTreeMap<AccountId, i64> = BTreeMap::new();
    for call in calls {
        let Some(id) = &call.id else {
            panic!("the gateway was always there: {call:?}");
        };
        let request: RequestId = id.parse().unwrap();
        let row = usage::find(&harness.data, call.account, request)
            .await
            .unwrap();
        let charged = row.as_ref().map_or(0, |row| {
            row.paid.nanos() + row.trial.nanos() - row.refunded.nanos()
        });
        if call.reported == ClientView::Complete {
            let row = row.unwrap_or_else(|| panic!("a whole answer without a row: {call:?}"));
            assert_eq!(row.outcome, "complete", "{call:?}");
            assert!(charged >= INPUT + 4 * OUTPUT, "{call:?} {row:?}");
        } else {
            assert_eq!(charged, 0, "failed and charged: {call:?}");
        }
        *spent.entry(call.account).or_default() += charged;
    }
    for (account, spent) in spent {
        let balance = accounts::balance(&harness.data, account)
            .await
            .unwrap()
            .unwrap();
        assert_eq!(balance.paid.nanos(), PAID - spent, "{account:?}");
        assert_eq!(balance.paid_held.nanos(), 0, "{account:?}");
    }
    harness.audit().await;
}
