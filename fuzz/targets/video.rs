//! Video families and their vendors: a planned request bills what its body bills, and no answer of a vendor
//! breaks its reader.
#![no_main]

use std::sync::LazyLock;

use libfuzzer_sys::fuzz_target;
use trunkline_catalog::{Specs, starter};
use trunkline_fuzz::chosen;
use trunkline_generation::VendorRequest;
use trunkline_generation::video::upstreams::{ALL, JobContext, JobRef, Protocol, VendorResponse};
use trunkline_generation::video::{KnownMedia, Outbound, PlanContext, VideoRequest, family_of};

/// The specs of every video model that is sold.
static SPECS: LazyLock<Vec<Specs>> = LazyLock::new(|| {
    let models = starter().expect("the starter catalog is valid").models;
    let specs = models.into_values().map(|model| model.specs);
    specs.filter(|specs| specs.video_family.is_some()).collect()
});

fuzz_target!(|data: &[u8]| {
    let Some(([choice, status], body)) = chosen(data) else {
        return;
    };
    if choice % 2 == 0 {
        plan(usize::from(choice / 2), body);
    } else {
        let protocol = ALL[usize::from(choice / 2) % ALL.len()];
        read(protocol, 100 + u16::from(status) * 2, body);
    }
});

fn plan(choice: usize, body: &[u8]) {
    let specs = &SPECS[choice % SPECS.len()];
    let word = specs.video_family.as_deref().unwrap_or_default();
    let (family, variant) = family_of(word).expect("a record names a family");
    let Ok(request) = VideoRequest::read(body) else {
        return;
    };
    let facts = KnownMedia::default();
    let context = PlanContext {
        variant,
        request: &request,
        specs,
        facts: &facts,
    };
    let Ok(plan) = (family.plan)(&context) else {
        return;
    };
    let billed =
        (family.bill)(variant, &plan.outbound, specs, &facts).expect("a planned body is billed");
    assert_eq!(plan.bill, billed, "what is sent is not what is priced");
    let protocol = ALL
        .iter()
        .find(|known| known.format == plan.outbound.protocol);
    let job = JobContext {
        model: "upstream",
        reference: "reference",
    };
    let _: VendorRequest =
        (protocol.expect("a plan names a protocol").submit)(&plan.outbound, &job);
}

fn read(protocol: &Protocol, status: u16, body: &[u8]) {
    let response = VendorResponse {
        status,
        retry_after: None,
        body,
    };
    let job = JobRef {
        id: "job".to_owned(),
        endpoint: String::new(),
    };
    let outbound = Outbound {
        protocol: protocol.format.to_owned(),
        endpoint: String::new(),
        body: serde_json::Map::new(),
    };
    let _ = (protocol.read_submit)(&outbound, &response);
    let _ = (protocol.read_poll)(&job, &response);
    let _ = (protocol.read_file)(&response);
    let _ = (protocol.read_cancel)(&job, &response);
    let _ = (protocol.read_lookup)(&response);
}
