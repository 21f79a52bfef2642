//! The rule on circles of imports, in a workspace that has one.

use crate::fixture::Fixture;

const ROOT: &str = "crates/types/src/lib.rs";

/// A crate whose module `a` imports `b`, `b` imports `c`, and `c` imports what a test says.
fn with(last: &str) -> Fixture {
    let fixture = Fixture::clean();
    fixture.write(
        ROOT,
        "//! Types.\n\nmod a;\nmod b;\nmod c;\n\npub use a::A;\n",
    );
    fixture.write(
        "crates/types/src/a.rs",
        "//! A.\n\nuse crate::b::B;\n\npub struct A(B);\n",
    );
    fixture.write(
        "crates/types/src/b.rs",
        "//! B.\n\nmod inner;\n\npub struct B;\n",
    );
    fixture.write(
        "crates/types/src/b/inner.rs",
        "//! Inner.\n\nuse super::super::c::C;\n\nstruct Inner(C);\n",
    );
    fixture.write(
        "crates/types/src/c.rs",
        &format!("//! C.\n\n{last}\n\npub struct C;\n"),
    );
    fixture
}

#[test]
fn layers_pass_and_so_do_two_modules_that_know_each_other() {
    with("").tidy().passes();
    with("use crate::b::B;").tidy().passes();
    with("#[cfg(test)]\nmod tests { use crate::a::A; }")
        .tidy()
        .passes();
}

#[test]
fn a_circle_of_three_is_refused_and_shown() {
    for last in [
        "use crate::a::A;",
        "use super::a::A;",
        "use crate::A;",
        "fn f(_: crate::a::A) {}",
    ] {
        let run = with(last).tidy();
        run.refuses(
            "crates/types/src:1:",
            "3 modules import each other (a, b, c)",
        );
        run.refuses("crates/types/src:1:", "a → b → c → a");
        run.counts(1);
    }
}
