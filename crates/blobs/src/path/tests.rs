//! Names: one spelling each, and days as days are.

use super::*;

fn sample() -> ObjectPath {
    ObjectPath::mint(
        Timestamp::from_micros(1_700_000_000_000_000),
        Shard::new(3_843).unwrap(),
        AccountId::new(1_000),
        [0xab; PATH_RANDOM_BYTES],
        &ContentType::parse("video/mp4").unwrap(),
    )
}

#[test]
fn a_minted_name_has_its_day_first_and_is_read_again() {
    let text = sample().to_string();
    assert_eq!(
        text,
        "2023-11-14/3843/1000/abababababababababababababababab.mp4"
    );
    assert_eq!(ObjectPath::parse(&text), Ok(sample()));
}

#[test]
fn a_name_has_exactly_one_spelling() {
    let right = sample().to_string();
    for (from, to) in [
        ("2023-11-14", "2023-11-4"),
        ("2023-11-14", "2023-02-30"),
        ("2023-11-14", "+2023-11-14"),
        ("3843", "3844"),
        ("3843", "03843"),
        ("3843", "+3843"),
        ("/1000", "/01000"),
        ("/1000", "/+1000"),
        ("/1000", "/"),
        ("abab", "ABAB"),
        ("abab", "ab"),
        (".mp4", ""),
        (".mp4", "."),
        (".mp4", ".MP4"),
        (".mp4", ".mp4.metadata"),
        (".mp4", ".mp4#1"),
        (".mp4", ".mp4/"),
        (".mp4", ".ninechars"),
        ("2023", "/2023"),
        ("/1000/", "/1000/../"),
    ] {
        let wrong = right.replacen(from, to, 1);
        assert_ne!(wrong, right);
        assert_eq!(ObjectPath::parse(&wrong), Err(PathError::Shape), "{wrong}");
    }
}

#[test]
fn a_day_ends_where_the_next_begins() {
    let last = Timestamp::from_micros(1_700_006_399_999_999);
    let first = Timestamp::from_micros(1_700_006_400_000_000);
    assert_eq!(Day::of(last).to_string(), "2023-11-14");
    assert_eq!(Day::of(first).to_string(), "2023-11-15");
    assert_eq!(Day::of(last).end(), first);
    let leap = Day::parse("2024-02-29").unwrap();
    assert_eq!(Day::of(leap.end()).to_string(), "2024-03-01");
    assert_eq!(Day::parse("2023-02-29"), None);
}

#[test]
fn a_task_id_is_task_and_32_alphanumerics() {
    let right = format!("task_{}", "aZ09".repeat(8));
    assert_eq!(TaskName::parse(&right).unwrap().as_str(), right);
    for wrong in [
        format!("{right}a"),
        right.replacen('a', "", 1),
        right.replacen('Z', "_", 1),
        right.replace("task_", "Task_"),
        right.replace("task_", ""),
    ] {
        assert_eq!(TaskName::parse(&wrong), Err(PathError::Shape), "{wrong}");
    }
}
