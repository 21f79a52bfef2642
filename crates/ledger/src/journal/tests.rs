//! Two sources laid together.

use super::*;

fn entry(number: u8, kind: EntryKind, wallet: Wallet) -> JournalEntry {
    let at = Timestamp::from_micros(1_700_000_000_000_000).plus_seconds(i64::from(number));
    JournalEntry {
        id: EntryId {
            request: RequestId::new(at, [number; 10]),
            kind,
            wallet,
        },
        at,
        amount: Money::NANO,
        model: None,
        text: None,
    }
}

fn end(number: u8) -> Uuid {
    entry(number, EntryKind::Charge, Wallet::Paid)
        .id
        .request
        .uuid()
}

#[test]
fn statement_lines_are_newest_first_with_a_refund_above_its_charge() {
    let charges = Part {
        entries: vec![
            entry(9, EntryKind::Charge, Wallet::Paid),
            entry(5, EntryKind::Charge, Wallet::Paid),
            entry(5, EntryKind::Charge, Wallet::Trial),
        ],
        ended_before: None,
    };
    let moves = Part {
        entries: vec![
            entry(7, EntryKind::TopUp, Wallet::Paid),
            entry(5, EntryKind::Refund, Wallet::Trial),
        ],
        ended_before: None,
    };
    let both = charges.laid_with(moves);
    let order: Vec<(EntryKind, Wallet)> = both
        .entries
        .iter()
        .map(|entry| (entry.id.kind, entry.id.wallet))
        .collect();
    assert_eq!(
        order,
        [
            (EntryKind::Charge, Wallet::Paid),
            (EntryKind::TopUp, Wallet::Paid),
            (EntryKind::Refund, Wallet::Trial),
            (EntryKind::Charge, Wallet::Paid),
            (EntryKind::Charge, Wallet::Trial),
        ]
    );
    assert_eq!(both.ended_before, None);
}

#[test]
fn what_one_source_did_not_reach_is_not_told_by_the_other() {
    let charges = Part {
        entries: vec![
            entry(9, EntryKind::Charge, Wallet::Paid),
            entry(8, EntryKind::Charge, Wallet::Paid),
        ],
        ended_before: Some(end(8)),
    };
    let moves = Part {
        entries: vec![
            entry(8, EntryKind::Refund, Wallet::Paid),
            entry(3, EntryKind::TopUp, Wallet::Paid),
        ],
        ended_before: Some(end(2)),
    };
    let both = charges.laid_with(moves);
    assert_eq!(
        both.entries.len(),
        3,
        "the payment comes with the next page"
    );
    assert_eq!(both.ended_before, Some(end(8)));
}

#[test]
fn a_word_names_one_kind() {
    for kind in EntryKind::ALL {
        assert_eq!(EntryKind::of(kind.as_str()), Some(kind));
    }
    assert_eq!(EntryKind::of("present"), None);
}
