//! Two hundred accounts that call, four of them hostile: those ask the upstreams to fail, as any customer could who
//! knows a prompt that a vendor refuses.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use tokio::task::JoinSet;
use trunkline_store::PolicyFields;
use trunkline_types::AccountId;
use trunkline_upstream::Client;

use super::upstreams::{MODELS, model};
use crate::faults::client_view::{ClientView, reported};
use crate::faults::draw;
use crate::faults::formats::{CallParams, Format};
use crate::faults::process_harness::{ProcessHarness, account, key_of};

const ACCOUNTS: usize = 200;
const HOSTILE: usize = 4;
const CLIENTS: usize = 20;
/// What an account has, nano-USD.
pub(super) const PAID: i64 = 100_000_000_000;
const PROVOKED: [&str; 5] = [
    "status:401",
    "rate_limited:600",
    "status:500",
    "close_before_headers",
    "status:404",
];

pub(super) struct Customers {
    accounts: Vec<(AccountId, String)>,
}

/// A call as its client saw it.
#[derive(Debug, Clone)]
pub(super) struct Called {
    pub(super) account: AccountId,
    pub(super) model: usize,
    pub(super) id: Option<String>,
    pub(super) hostile: bool,
    pub(super) reported: ClientView,
    pub(super) began: Instant,
    pub(super) ended: Instant,
}

pub(super) struct CustomerLoad {
    address: SocketAddr,
    accounts: Vec<(AccountId, String)>,
    pace: Duration,
    made: AtomicU64,
    goes_on: AtomicBool,
}

impl Customers {
    pub(super) async fn new(harness: &ProcessHarness) -> Self {
        let mut accounts = Vec::new();
        for _ in 0..ACCOUNTS {
            let id = account(&harness.console, PAID).await;
            let (_, key) = key_of(&harness.console, id, PolicyFields::default()).await;
            accounts.push((id, key));
        }
        Self { accounts }
    }

    pub(super) fn load(&self, address: SocketAddr, pace: Duration) -> Arc<CustomerLoad> {
        Arc::new(CustomerLoad {
            address,
            accounts: self.accounts.clone(),
            pace,
            made: AtomicU64::new(0),
            goes_on: AtomicBool::new(true),
        })
    }
}

impl CustomerLoad {
    /// Calls of those that are not hostile.
    pub(super) fn calls(&self) -> u64 {
        self.made.load(Ordering::Relaxed)
    }

    pub(super) fn end(&self) {
        self.goes_on.store(false, Ordering::Relaxed);
    }

    pub(super) async fn run(self: Arc<Self>) -> Vec<Called> {
        let mut running = JoinSet::new();
        for number in 0..CLIENTS + HOSTILE {
            let load = Arc::clone(&self);
            running.spawn(async move { load.client(number).await });
        }
        running.join_all().await.into_iter().flatten().collect()
    }

    /// The first are hostile, each with an account of its own; the others call for any account that is not.
    async fn client(&self, number: usize) -> Vec<Called> {
        let client = Client::new(Duration::from_secs(2)).unwrap();
        let mut dice = u64::try_from(number).unwrap();
        let mut calls = Vec::new();
        while self.goes_on.load(Ordering::Relaxed) {
            let hostile = number < HOSTILE;
            let account = match hostile {
                true => number,
                false => HOSTILE + draw(&mut dice, ACCOUNTS - HOSTILE),
            };
            calls.push(self.call(&client, &mut dice, account, hostile).await);
            // Hostile ones are no faster than all others together.
            let pause = if hostile {
                self.pace.max(Duration::from_millis(20))
            } else {
                self.made.fetch_add(1, Ordering::Relaxed);
                self.pace
            };
            tokio::time::sleep(pause).await;
        }
        calls
    }

    async fn call(&self, client: &Client, dice: &mut u64, who: usize, hostile: bool) -> Called {
        let (account, key) = &self.accounts[who];
        let chosen = draw(dice, MODELS);
        let number = draw(dice, 1_000_000_000);
        let fault = match hostile {
            true => format!("[[fault:{}]]", PROVOKED[draw(dice, PROVOKED.len())]),
            false => String::new(),
        };
        let prompt = format!("[[tokens:4]] talk {number} {fault}");
        let stream = draw(dice, 2) == 0;
        let params = CallParams {
            prompt: &prompt,
            stream,
            most: 16,
        };
        let mut called = Called {
            account: *account,
            model: chosen,
            id: None,
            hostile,
            reported: ClientView::Unknown,
            began: Instant::now(),
            ended: Instant::now(),
        };
        let to = (self.address, key.as_str());
        let sent = client
            .send(Format::Chat.call(to, &model(chosen), params))
            .await;
        if let Ok(mut answer) = sent {
            let id = answer.headers.get("x-request-id");
            called.id = id.and_then(|id| Some(id.to_str().ok()?.to_owned()));
            if let Ok(bytes) = answer.whole(1_000_000).await {
                let status = answer.status.as_u16();
                called.reported = reported(Format::Chat, status, stream, &bytes);
            }
        }
        called.ended = Instant::now();
        called
    }
}
