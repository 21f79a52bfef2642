//! What is learnt of a credential, and forgotten.

use trunkline_types::Secret;
use trunkline_upstream::Auth;

use super::*;

const MODEL: &str = "m";
const PROBES: ProbeSettings = ProbeSettings {
    every: Duration::from_secs(30),
    idle: Duration::from_secs(3_600),
    calls_a_day: 100,
};

fn credential() -> ChannelCredential {
    let secret = Secret::new("a-credential-0123456789".to_owned());
    ChannelCredential {
        id: CredentialId::new(1),
        opened: Arc::new(UpstreamCredential::new(&Auth::Bearer, &secret).unwrap()),
        label: "main".to_owned(),
        connects_within: Duration::from_secs(1),
        secret: Secret::new(String::new()),
        state: Arc::default(),
    }
}

fn query(account: i64, seconds: i64) -> ChannelQuery<'static> {
    ChannelQuery {
        model: MODEL,
        account: AccountId::new(account),
        now: Timestamp::from_micros(seconds * 1_000_000),
    }
}

fn after(credential: &ChannelCredential, found: &Probed, seconds: i64) -> AfterProbe {
    let now = Timestamp::from_micros(seconds * 1_000_000);
    credential.probed(found, now, str::to_owned)
}

#[test]
fn a_refused_probe_pauses_only_a_credential_that_calls_were_refused_with() {
    let credential = credential();
    let refused = Probed::Refused(401);
    assert!(!credential.lacks(query(1, 100)));
    assert!(credential.is_probe_due(query(1, 100).now, &PROBES));
    assert_eq!(after(&credential, &refused, 100), AfterProbe::Nothing);
    assert!(!credential.refused(query(1, 200)));
    credential.served(MODEL, query(1, 0).now);
    assert_eq!(after(&credential, &refused, 200), AfterProbe::Nothing);
    assert!(!credential.refused(query(1, 300)));
    assert_eq!(after(&credential, &refused, 300), AfterProbe::Pause(401));
}

#[test]
fn a_paused_credential_is_probed_every_half_minute_and_resumes_when_it_works() {
    let credential = credential();
    assert!(!credential.is_probe_due(query(1, 100).now, &PROBES));
    assert!(credential.pause(query(1, 100).now) && !credential.pause(query(1, 101).now));
    assert!(!credential.is_usable(query(1, 100)));
    let refused = Probed::Refused(401);
    assert_eq!(after(&credential, &refused, 100), AfterProbe::Nothing);
    assert!(!credential.is_probe_due(query(1, 129).now, &PROBES));
    assert!(credential.is_probe_due(query(1, 130).now, &PROBES));
    assert_eq!(after(&credential, &refused, 9_000), AfterProbe::Nothing);
    let works = Probed::Works(None);
    assert_eq!(after(&credential, &works, 9_030), AfterProbe::Resume);
    assert!(credential.is_usable(query(1, 9_030)));
    assert_eq!(after(&credential, &works, 9_060), AfterProbe::Nothing);
}

#[test]
fn a_paused_credential_is_probed_with_so_many_calls_in_a_day() {
    let credential = credential();
    let takes = |seconds: i64| credential.takes_probe_call(query(1, seconds).now, &PROBES);
    assert!(!takes(100), "it is in use");
    credential.pause(query(1, 100).now);
    assert_eq!((0..200).filter(|second| takes(*second)).count(), 100);
    assert!(!takes(86_399) && takes(86_400));
}

#[test]
fn a_pause_that_no_probe_can_judge_ends_after_ten_minutes() {
    let credential = credential();
    credential.pause(query(1, 100).now);
    let unclear = Probed::Unclear;
    assert_eq!(after(&credential, &unclear, 130), AfterProbe::Nothing);
    assert_eq!(after(&credential, &unclear, 699), AfterProbe::Nothing);
    assert_eq!(after(&credential, &unclear, 700), AfterProbe::Resume);
    // One that another node wrote is as old as this node's first look at it.
    credential.state.paused.store(true, Ordering::Relaxed);
    assert_eq!(after(&credential, &unclear, 9_000), AfterProbe::Nothing);
    assert_eq!(after(&credential, &unclear, 9_600), AfterProbe::Resume);
}

#[test]
fn a_model_is_absent_for_the_account_that_missed_it_and_for_all_once_the_list_lacks_it() {
    let credential = credential();
    assert!(!credential.lacks(query(1, 100)));
    assert!(!credential.is_usable(query(1, 101)) && credential.is_usable(query(2, 101)));
    let there = Probed::Works(Some(BTreeSet::from([MODEL.to_owned()])));
    after(&credential, &there, 110);
    assert!(credential.is_usable(query(1, 110)));
    assert!(!credential.lacks(query(1, 120)));
    let lacking = Probed::Works(Some(BTreeSet::from(["another".to_owned()])));
    after(&credential, &lacking, 140);
    assert!(!credential.is_usable(query(2, 141)));
    assert_eq!(credential.absent_models(query(2, 141).now), [MODEL]);
    let other = ChannelQuery {
        model: "another",
        ..query(1, 141)
    };
    assert!(credential.is_usable(other), "other models are served");
    assert!(credential.is_usable(query(2, 440)), "for five minutes");
}

#[test]
fn a_list_without_a_served_model_removes_it_only_when_several_accounts_miss_it() {
    let credential = credential();
    credential.served(MODEL, query(1, 0).now);
    let lacking = Probed::Works(Some(BTreeSet::from(["another".to_owned()])));
    assert!(!credential.lacks(query(1, 100)));
    after(&credential, &lacking, 110);
    assert!(!credential.is_usable(query(1, 111)) && credential.is_usable(query(2, 111)));
    for account in 2..=4 {
        assert!(!credential.lacks(query(account, 120)));
    }
    assert!(credential.is_usable(query(9, 121)) && credential.lacks(query(5, 120)));
    assert!(!credential.is_usable(query(9, 121)));
    after(&credential, &lacking, 140);
    assert!(!credential.is_usable(query(9, 439)), "the list counts now");
    assert!(credential.is_usable(query(9, 440)));
}

#[test]
fn a_credential_without_calls_is_probed_once_an_hour_and_pauses_when_a_call_of_ours_is_refused() {
    let credential = credential();
    let is_due = |seconds: i64| credential.is_probe_due(query(1, seconds).now, &PROBES);
    assert!(!is_due(100), "its hour begins");
    assert!(!is_due(3_699) && is_due(3_700));
    credential.served(MODEL, query(1, 3_700).now);
    assert!(!is_due(7_299) && is_due(7_300));
    assert!(credential.takes_probe_call(query(1, 7_300).now, &PROBES));
    // A key that may not list models is a good key; one that may not call is none.
    assert_eq!(
        after(&credential, &Probed::Refused(403), 7_300),
        AfterProbe::Nothing
    );
    assert!(!is_due(10_899) && is_due(10_900));
    let refused = Probed::CallRefused(401);
    assert_eq!(after(&credential, &refused, 10_900), AfterProbe::Pause(401));
    let never = ProbeSettings {
        idle: Duration::ZERO,
        ..PROBES
    };
    assert!(!credential.is_probe_due(query(1, 99_999).now, &never));
}

#[test]
fn a_credential_that_lacks_a_model_is_probed_until_the_model_is_listed_again() {
    let credential = credential();
    assert!(!credential.lacks(query(1, 100)));
    let lacking = Probed::Works(Some(BTreeSet::from(["another".to_owned()])));
    after(&credential, &lacking, 110);
    assert!(!credential.is_usable(query(2, 111)));
    assert!(!credential.is_probe_due(query(1, 139).now, &PROBES));
    assert!(credential.is_probe_due(query(1, 140).now, &PROBES));
    let there = Probed::Works(Some(BTreeSet::from([MODEL.to_owned()])));
    after(&credential, &there, 140);
    assert!(credential.is_usable(query(2, 141)));
    assert!(!credential.is_probe_due(query(1, 170).now, &PROBES));
}
