//! Social data.

use std::path::Path;
use std::time::Duration;

use super::{from_text, problem};

#[test]
fn social_data_has_a_daily_capacity_and_bounds_that_can_be_set() {
    let social = from_text("", &[]).unwrap().social;
    assert_eq!(
        (social.daily_capacity, social.at_once_per_platform),
        (1_000_000, 64)
    );
    assert_eq!((social.cells, social.wait.as_secs()), (None, 60));
    let set = from_text(
        "[social]\ndaily_capacity = 0\nat_once_per_platform = 1\ncells = \"mine\"\nwait_seconds = 600",
        &[],
    );
    let set = set.unwrap().social;
    assert_eq!((set.daily_capacity, set.at_once_per_platform), (0, 1));
    assert_eq!(set.cells.as_deref(), Some(Path::new("mine")));
    assert_eq!(set.wait, Duration::from_secs(600));
    for (key, last, first) in [
        ("daily_capacity", 1_000_000_000_000_i64, 1_000_000_000_001),
        ("daily_capacity", 0, -1),
        ("at_once_per_platform", 10_000, 10_001),
        ("at_once_per_platform", 1, 0),
        ("wait_seconds", 600, 601),
        ("wait_seconds", 1, 0),
    ] {
        let with = |value: i64| from_text(&format!("[social]\n{key} = {value}"), &[]);
        assert!(with(last).is_ok(), "{key} {last}");
        let message = problem(with(first), &format!("social.{key}"));
        assert!(message.contains("must be from"), "{message}");
    }
}
