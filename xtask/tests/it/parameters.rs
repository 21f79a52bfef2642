//! The rule on tuple parameters, in a workspace that has one.

use crate::fixture::Fixture;

fn with(path: &str, code: &str) -> Fixture {
    let fixture = Fixture::clean();
    fixture.write(path, &format!("//! A module.\n\n{code}\n"));
    fixture
}

#[test]
fn a_tuple_parameter_of_product_code_is_refused_wherever_the_function_is() {
    for code in [
        "fn spoilt((least, most): (u64, u64)) {}",
        "fn spoilt(bounds: (u64, u64)) {}",
        "fn spoilt(bounds: &mut (u64, u64)) {}",
        "fn spoilt((least, most): Bounds) {}",
        "struct A; impl A { fn spoilt(&self, (least, most): (u64, u64)) {} }",
        "pub(crate) trait A { fn spoilt(bounds: (u64, u64)); }",
        "fn outer() { fn spoilt(bounds: (u64, u64)) {} }",
    ] {
        let run = with("crates/types/src/lib.rs", code).tidy();
        run.refuses(
            "crates/types/src/lib.rs:3:",
            "`spoilt` has a tuple parameter",
        );
        run.counts(1);
    }
}

#[test]
fn plain_arguments_closures_results_and_tests_pass() {
    for code in [
        "fn plain(least: u64, most: u64) -> (u64, u64) { (least, most) }",
        "fn plain(bounds: &[(u64, u64)], read: impl Fn((u64, u64)) -> u64, (): ()) {}",
        "fn plain() { let add = |(a, b): (u64, u64)| a + b; }",
        "fn plain(Bounds { least, most }: Bounds) {}",
        "#[cfg(test)]\nmod tests { fn helper((a, b): (u64, u64)) {} }",
    ] {
        with("crates/types/src/lib.rs", code).tidy().passes();
    }
    let helper = "fn helper((a, b): (u64, u64)) {}";
    with("crates/types/src/money/tests.rs", helper)
        .tidy()
        .passes();
    with("crates/types/tests/it/main.rs", helper)
        .tidy()
        .passes();
}
