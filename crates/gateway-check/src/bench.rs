//! Runs the checks: those of one upstream one after another, the four upstreams beside each other.

use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep};
use trunkline_types::Secret;

use crate::charge::{self, Picos};
use crate::check::{Check, CheckError, checks};
use crate::exchange::{Answer, Server};
use crate::format::Format;
use crate::profile::Profile;
use crate::reading::{self, Reading};
use crate::report::{CheckResult, Report, Seen};
use crate::request::{Request, request};
use crate::upstream_log::UpstreamLog;
use crate::verdict::{Observed, judge};

/// A gateway and the simulator behind it.
pub struct Bench {
    shared: Arc<Shared>,
}

struct Shared {
    profile: Profile,
    gateway: Server,
    simulator: Server,
    log: UpstreamLog,
    /// Told apart from those of an earlier run at the same simulator.
    run: u64,
}

/// Why no check can be run.
#[derive(Debug, thiserror::Error)]
pub enum BenchError {
    #[error(transparent)]
    Client(#[from] trunkline_upstream::ClientError),
    #[error(transparent)]
    Checks(#[from] CheckError),
    #[error("the simulator does not answer at {0}")]
    Simulator(String),
    #[error("a task of the bench failed: {0}")]
    Task(#[from] tokio::task::JoinError),
}

const WRONG_MODEL: &str = "no-such-model-gateway-check";
/// The simulator takes any key.
const SIMULATOR_KEY: &str = "gateway-check";
/// How long a gateway may shun an upstream that failed on purpose.
const RECOVERS_WITHIN: Duration = Duration::from_secs(6);
const RECOVERY_LOOK: Duration = Duration::from_millis(100);

// === impl Bench ===

impl Bench {
    /// `simulator` is its address without a path.
    pub async fn new(
        profile: Profile,
        target: &str,
        key: Secret,
        simulator: &str,
    ) -> Result<Self, BenchError> {
        let target = target.trim_end_matches('/').trim_end_matches("/v1");
        let gateway = Server::new(target, key)?;
        let of_simulator = simulator.trim_end_matches('/').trim_end_matches("/v1");
        let simulator = Server::new(of_simulator, Secret::new(SIMULATOR_KEY.to_owned()))?;
        let log = UpstreamLog::new(simulator.clone());
        if !log.skip_all().await {
            return Err(BenchError::Simulator(of_simulator.to_owned()));
        }
        let shared = Shared {
            run: log.position(),
            profile,
            gateway,
            simulator,
            log,
        };
        Ok(Self {
            shared: Arc::new(shared),
        })
    }

    /// Runs the checks whose names contain `only`.
    pub async fn run(
        &self,
        only: &str,
        configuration: Option<String>,
    ) -> Result<Report, BenchError> {
        let mut report = Report::new(&self.shared.profile, configuration);
        let mut lanes: JoinSet<Vec<(usize, CheckResult)>> = JoinSet::new();
        let checks: Vec<(usize, Check)> = checks()?
            .into_iter()
            .filter(|check| check.id.contains(only))
            .enumerate()
            .collect();
        for upstream in Format::ALL {
            let own: Vec<(usize, Check)> = checks
                .iter()
                .filter(|(_, check)| check.upstream == upstream)
                .cloned()
                .collect();
            let shared = Arc::clone(&self.shared);
            lanes.spawn(async move {
                let mut results = Vec::new();
                for (number, check) in own {
                    let result = Box::pin(shared.run_check(number, &check)).await;
                    results.push((number, result));
                }
                results
            });
        }
        let mut results = Vec::new();
        while let Some(lane) = lanes.join_next().await {
            results.extend(lane?);
        }
        results.sort_by_key(|(number, _)| *number);
        report.results = results.into_iter().map(|(_, result)| result).collect();
        Ok(report)
    }
}

// === impl Shared ===

impl Shared {
    async fn run_check(&self, number: usize, check: &Check) -> CheckResult {
        let Some(path) = self.profile.path(check.client) else {
            return CheckResult::not_run(check, "the gateway does not offer this format");
        };
        let Some(model) = self.profile.models.get(&check.upstream) else {
            return CheckResult::not_run(check, "no model of the gateway has such an upstream");
        };
        if check.scenario.wrong_key && !self.profile.checks_keys {
            return CheckResult::not_run(check, "the gateway was set up without keys");
        }
        let model = if check.scenario.wrong_model {
            WRONG_MODEL
        } else {
            model
        };
        let marker = format!("gc{}-{number}", self.run);
        let since = self.log.position();
        let outgoing = request(check, path, model, &marker);
        let answer = self.ask_gateway(check, &outgoing).await;
        let reading = reading::read(check.client, check.streamed, &answer);
        let charged = self.charged(check, &answer, &reading).await;
        let record = self.log.find(&marker, since).await;
        let reference = self.reference(check, &marker).await;
        let observed = Observed {
            reference: reference.as_ref().map_or_else(Reading::default, |answer| {
                reading::read(check.client, check.streamed, answer)
            }),
            reading,
            answer,
            record,
            charged,
        };
        let verdict = judge(check, &observed, self.profile.prices.as_ref());
        let seen = Seen {
            request: &outgoing,
            answer: &observed.answer,
            reference: reference.as_ref(),
        };
        let result = CheckResult::new(check, verdict, &self.profile, &seen);
        if check.has_fault() && check.scenario.recovers {
            self.recover(check, path, model).await;
        }
        result
    }

    async fn ask_gateway(&self, check: &Check, outgoing: &Request) -> Answer {
        if check.scenario.wrong_key {
            let stranger = self.gateway.with_wrong_key();
            stranger.ask(check.client, outgoing).await
        } else {
            self.gateway.ask(check.client, outgoing).await
        }
    }

    /// The simulator's own answer. It knows no wrong key.
    async fn reference(&self, check: &Check, marker: &str) -> Option<Answer> {
        if check.scenario.wrong_key {
            return None;
        }
        let model = match check.scenario.wrong_model {
            true => WRONG_MODEL,
            false => &self.profile.upstream_model,
        };
        let marker = format!("{marker}-reference");
        let outgoing = request(check, check.client.usual_path(), model, &marker);
        Some(self.simulator.ask(check.client, &outgoing).await)
    }

    async fn charged(&self, check: &Check, answer: &Answer, reading: &Reading) -> Option<Picos> {
        let source = &self.profile.cost;
        if let Some(lookup) = &source.lookup
            && let Some(id) = answer.header(&lookup.id_header)
        {
            let reported = self.gateway.get(&lookup.path.replace("{id}", id)).await;
            if reported.status == 404 {
                return Some(0);
            }
            let reported: Value = serde_json::from_slice(&reported.body).ok()?;
            return charge::amount(reported.pointer(&lookup.field)?);
        }
        charge::reported(source, check.streamed, answer, &reading.values)
    }

    /// Asks for a good answer until one comes, so that the next check does not meet the last one's fault.
    async fn recover(&self, check: &Check, path: &str, model: &str) {
        let mut good = check.clone();
        good.streamed = false;
        good.scenario = good.scenario.plain();
        let outgoing = request(&good, path, model, "recovery");
        let began = Instant::now();
        while began.elapsed() < RECOVERS_WITHIN {
            if self.gateway.ask(check.client, &outgoing).await.is_success() {
                return;
            }
            sleep(RECOVERY_LOOK).await;
        }
    }
}
