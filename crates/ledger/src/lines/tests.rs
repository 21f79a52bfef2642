//! Two sources laid together.

use super::*;

fn line(number: u8, kind: LineKind, wallet: Wallet) -> Line {
    let at = Timestamp::from_micros(1_700_000_000_000_000).plus_seconds(i64::from(number));
    Line {
        id: LineId {
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
    line(number, LineKind::Charge, Wallet::Paid)
        .id
        .request
        .uuid()
}

#[test]
fn lines_of_two_sources_are_newest_first_and_what_came_back_stands_above_the_charge() {
    let charges = Part {
        lines: vec![
            line(9, LineKind::Charge, Wallet::Paid),
            line(5, LineKind::Charge, Wallet::Paid),
            line(5, LineKind::Charge, Wallet::Trial),
        ],
        ended_before: None,
    };
    let moves = Part {
        lines: vec![
            line(7, LineKind::TopUp, Wallet::Paid),
            line(5, LineKind::Refund, Wallet::Trial),
        ],
        ended_before: None,
    };
    let both = charges.laid_with(moves);
    let order: Vec<(LineKind, Wallet)> = both
        .lines
        .iter()
        .map(|line| (line.id.kind, line.id.wallet))
        .collect();
    assert_eq!(
        order,
        [
            (LineKind::Charge, Wallet::Paid),
            (LineKind::TopUp, Wallet::Paid),
            (LineKind::Refund, Wallet::Trial),
            (LineKind::Charge, Wallet::Paid),
            (LineKind::Charge, Wallet::Trial),
        ]
    );
    assert_eq!(both.ended_before, None);
}

#[test]
fn what_one_source_did_not_reach_is_not_told_by_the_other() {
    let charges = Part {
        lines: vec![
            line(9, LineKind::Charge, Wallet::Paid),
            line(8, LineKind::Charge, Wallet::Paid),
        ],
        ended_before: Some(end(8)),
    };
    let moves = Part {
        lines: vec![
            line(8, LineKind::Refund, Wallet::Paid),
            line(3, LineKind::TopUp, Wallet::Paid),
        ],
        ended_before: Some(end(2)),
    };
    let both = charges.laid_with(moves);
    assert_eq!(both.lines.len(), 3, "the payment comes with the next page");
    assert_eq!(both.ended_before, Some(end(8)));
}

#[test]
fn a_word_names_one_kind() {
    for kind in LineKind::ALL {
        assert_eq!(LineKind::of(kind.word()), Some(kind));
    }
    assert_eq!(LineKind::of("gift"), None);
}
