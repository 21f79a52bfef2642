//! The audit bites: each way in which a ledger can be wrong is done to a sound one, past every wall of
//! the database, and the views that must name it are compared one by one. And it does not bite a
//! ledger that is only busy.

mod busy;
mod calls;
mod chain;
mod money;
mod packed;
mod scene;

use scene::Scene;

/// The partitions' view is broken in `recovery`; the views of other schemas belong to other crates.
#[tokio::test]
async fn every_view_of_the_ledger_is_named_by_a_test_in_which_it_detects() {
    let scene = Scene::play().await;
    let here = [
        include_str!("audit_detects/calls.rs"),
        include_str!("audit_detects/chain.rs"),
        include_str!("audit_detects/money.rs"),
        include_str!("audit_detects/packed.rs"),
    ]
    .concat();
    let views = scene.views().await;
    for view in views.iter().filter(|view| view.starts_with("ledger.")) {
        let name = view.replace("ledger.audit_", "");
        assert!(
            here.contains(&format!("\"{name}\"")) || name == "partitions_running_out",
            "no test in which {view} finds anything"
        );
    }
}
