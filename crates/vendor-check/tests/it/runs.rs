//! The output and the exit code of a run.

use std::process::{Command, Output};

use trunkline_simulator::{Settings, Simulator};

use crate::modified_vendor::{self, Changes};

const KEY: &str = "sk-the-key-of-this-test";
const CASES: [&str; 8] = [
    "models_list",
    "whole_chat",
    "streamed_chat",
    "tool_call",
    "structured_output",
    "wrong_key",
    "unknown_model",
    "bad_parameter",
];

async fn simulator() -> Simulator {
    let settings = Settings {
        keys: vec![KEY.to_owned()],
        ..Settings::default()
    };
    Simulator::start(settings).await.unwrap()
}

/// Runs the program with these variables and no others of its own.
async fn vendor_check(provider: &str, variables: &[(&str, &str)]) -> (Option<i32>, String) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_trunkline-vendor-check"));
    command.arg(provider).env_clear();
    command.envs(variables.iter().copied());
    let ran = tokio::task::spawn_blocking(move || command.output());
    let Output {
        status,
        stdout,
        stderr,
    } = ran.await.unwrap().unwrap();
    let output = String::from_utf8(stdout).unwrap();
    assert!(stderr.is_empty(), "{}", String::from_utf8_lossy(&stderr));
    assert!(!output.contains(KEY), "{output}");
    (status.code(), output)
}

#[tokio::test]
async fn the_simulator_in_the_vendors_place_is_the_same() {
    let vendor = simulator().await;
    let base_url = vendor.base_url();
    let variables = [
        ("SIMULATOR_API_KEY", KEY),
        ("VENDOR_CHECK_BASE_URL", base_url.as_str()),
    ];
    let (code, output) = vendor_check("simulator", &variables).await;
    assert_eq!(code, Some(0), "{output}");
    for (case, status) in CASES.iter().zip([200, 200, 200, 200, 200, 401, 404, 400]) {
        assert!(
            output.contains(&format!("  {case}: same ({status})")),
            "{output}"
        );
    }
    assert!(output.contains("8 cases sent, at most 0.0"), "{output}");
    assert!(output.contains("; 0 differences"), "{output}");
    assert_eq!(vendor.requests().len(), CASES.len());
}

#[tokio::test]
async fn a_vendor_that_renames_a_field_is_told_path_by_path() {
    let vendor = simulator().await;
    let changes = Changes {
        texts: &[("\"finish_reason\"", "\"stop_reason\"")],
        statuses: &[],
    };
    let (base_url, _tasks) = modified_vendor::start(vendor.address(), changes).await;
    let variables = [
        ("SIMULATOR_API_KEY", KEY),
        ("VENDOR_CHECK_BASE_URL", base_url.as_str()),
    ];
    let (code, output) = vendor_check("simulator", &variables).await;
    assert_eq!(code, Some(1), "{output}");
    for line in [
        "  whole_chat: 2 different",
        "    body choices[].stop_reason: vendor has text, simulator has nothing",
        "    body choices[].finish_reason: vendor has nothing, simulator has \"stop\"",
        "choices[].finish_reason: vendor has nothing, simulator has null",
        "  models_list: same (200)",
        "  wrong_key: same (401)",
    ] {
        assert!(output.contains(line), "{line} is not in {output}");
    }
}

#[tokio::test]
async fn a_vendor_that_changed_shape_price_and_behaviour_is_told_in_all_three() {
    let vendor = simulator().await;
    let changes = Changes {
        texts: &[
            ("\"finish_reason\"", "\"stop_reason\""),
            (
                "\"id\":\"sim-small\"",
                "\"id\":\"sim-small\",\"pricing\":{\"prompt\":\"0.000001\",\"completion\":\"0.000005\"}",
            ),
        ],
        statuses: &[(401, 403)],
    };
    let (base_url, _tasks) = modified_vendor::start(vendor.address(), changes).await;
    let variables = [
        ("SIMULATOR_API_KEY", KEY),
        ("VENDOR_CHECK_BASE_URL", base_url.as_str()),
    ];
    let (code, output) = vendor_check("simulator", &variables).await;
    assert_eq!(code, Some(1), "{output}");
    for line in [
        // Shape.
        "    body choices[].stop_reason: vendor has text, simulator has nothing",
        // Price; that of input is as before.
        "    price of output: vendor has 5000000 pico-USD a token, our table has 4000000",
        // Behaviour.
        "    status: vendor has 403, simulator has 401",
    ] {
        assert!(output.contains(line), "{line} is not in {output}");
    }
    assert!(!output.contains("price of input"), "{output}");
}

#[tokio::test]
async fn a_vendor_with_another_status_or_none_at_all_is_told() {
    let vendor = simulator().await;
    let base_url = vendor.base_url();
    let other_key = [
        ("SIMULATOR_API_KEY", "sk-other"),
        ("VENDOR_CHECK_BASE_URL", base_url.as_str()),
    ];
    let (code, output) = vendor_check("simulator", &other_key).await;
    assert_eq!(code, Some(1), "{output}");
    assert!(
        output.contains("    status: vendor has 401, simulator has 200"),
        "{output}"
    );
    assert!(!output.contains("sk-other"), "{output}");
    vendor.stop().await;
    let gone = [
        ("SIMULATOR_API_KEY", KEY),
        ("VENDOR_CHECK_BASE_URL", base_url.as_str()),
    ];
    let (code, output) = vendor_check("simulator", &gone).await;
    assert_eq!(code, Some(1), "{output}");
    assert!(
        output.contains("the vendor gave no answer: the upstream is unreachable"),
        "{output}"
    );
}

#[tokio::test]
async fn nothing_is_sent_beyond_the_money() {
    let vendor = simulator().await;
    let base_url = vendor.base_url();
    let run = |most: &'static str| {
        let base_url = base_url.clone();
        async move {
            let variables = [
                ("SIMULATOR_API_KEY", KEY),
                ("VENDOR_CHECK_BASE_URL", base_url.as_str()),
                ("VENDOR_CHECK_MAX_USD", most),
            ];
            vendor_check("simulator", &variables).await
        }
    };
    let (code, output) = run("0").await;
    assert_eq!(code, Some(0), "{output}");
    for case in CASES {
        assert!(
            output.contains(&format!("  {case}: not sent, it may cost 0.0")),
            "{output}"
        );
    }
    assert!(
        output.contains("nothing was sent; 0 differences"),
        "{output}"
    );
    assert!(vendor.requests().is_empty(), "the vendor saw no request");

    // Enough for the list and one chat, not for the rest.
    let (code, output) = run("0.003").await;
    assert_eq!(code, Some(0), "{output}");
    assert!(output.contains("  whole_chat: same (200)"), "{output}");
    assert!(output.contains("  streamed_chat: not sent"), "{output}");
    assert!(output.contains("  wrong_key: not sent"), "{output}");
    assert_eq!(vendor.requests().len(), 2);

    let (code, output) = run("a lot").await;
    assert_eq!(code, Some(2), "{output}");
    assert!(
        output.contains("VENDOR_CHECK_MAX_USD must be an amount such as 0.05"),
        "{output}"
    );
}

#[tokio::test]
async fn without_a_key_it_says_what_was_skipped_and_ends_well() {
    for provider in ["openai", "deepseek", "moonshot", "simulator"] {
        let (code, output) = vendor_check(provider, &[]).await;
        assert_eq!(code, Some(0), "{output}");
        let name = format!(
            "{}_API_KEY is not set; nothing was sent",
            provider.to_uppercase()
        );
        assert!(output.contains(&name), "{output}");
        for case in CASES {
            assert!(
                output.contains(&format!("  {case}: skipped, no key")),
                "{output}"
            );
        }
    }
}

#[tokio::test]
async fn a_provider_without_a_table_or_an_address_is_said() {
    let (code, output) = vendor_check("unknown-vendor", &[]).await;
    assert_eq!(code, Some(2), "{output}");
    assert!(
        output.contains("there are deepseek, moonshot, openai, simulator"),
        "{output}"
    );
    let (code, output) = vendor_check("simulator", &[("SIMULATOR_API_KEY", KEY)]).await;
    assert_eq!(code, Some(2), "{output}");
    assert!(output.contains("set VENDOR_CHECK_BASE_URL"), "{output}");
}
