//! The tree and its paths against the definition of RFC 6962, and a small statement.

use super::*;

/// The definition, by recursion.
fn defined_root(leaves: &[Hash]) -> Hash {
    if let [leaf] = leaves {
        return *leaf;
    }
    let mut half = 1;
    while half * 2 < leaves.len() {
        half *= 2;
    }
    Hash::of_node(
        &defined_root(&leaves[..half]),
        &defined_root(&leaves[half..]),
    )
}

#[test]
fn a_root_is_that_of_rfc_6962_and_every_path_leads_to_it() {
    for count in 1_u64..70 {
        let leaves: Vec<Hash> = (0..count)
            .map(|n| Hash::of_leaf(&n.to_be_bytes()))
            .collect();
        let mut tree = TreeHasher::new();
        leaves.iter().for_each(|leaf| tree.add(*leaf));
        let root = defined_root(&leaves);
        assert_eq!(tree.root(), Some(root));
        for (index, leaf) in (0..).zip(&leaves) {
            let mut builder = PathBuilder::new(index, count);
            leaves.iter().for_each(|leaf| builder.add(*leaf));
            let path = builder.finish().unwrap();
            assert_eq!(root_of_path(*leaf, index, count, &path), Some(root));
            let beside = (index + 1) % count;
            assert!(count == 1 || root_of_path(*leaf, beside, count, &path) != Some(root));
        }
    }
}

#[test]
fn a_hash_is_the_known_one_and_is_read_in_lower_case_only() {
    // RFC 6962's leaf of no bytes.
    let known = "6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d";
    assert_eq!(Hash::of_leaf(b"").to_string(), known);
    assert_eq!(Hash::parse(known.as_bytes()), Some(Hash::of_leaf(b"")));
    assert_eq!(Hash::parse(known.to_uppercase().as_bytes()), None);
    assert_eq!(Hash::parse(&known.as_bytes()[1..]), None);
}

#[test]
fn a_file_that_is_none_is_malformed_and_stops_nothing() {
    for file in [
        "",
        "x",
        "trunkline-statement-v1",
        "trunkline-receipt-v1\n",
        "\n",
    ] {
        let report = verify(&mut file.as_bytes(), None).unwrap();
        let line = if file == "trunkline-receipt-v1\n" {
            2
        } else {
            1
        };
        assert_eq!(
            report.findings,
            [Finding::Malformed { file_line: line }],
            "{file:?}"
        );
    }
    let report = verify(&mut STATEMENT_HEAD.as_bytes(), None).unwrap();
    assert_eq!(report.findings, [Finding::MissingEnd]);
}
