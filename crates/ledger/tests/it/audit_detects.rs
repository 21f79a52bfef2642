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
    let scene = Scene::new().await;
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

/// Of large tables the planner gives parts to workers; the servers of tests start none unless they are told to.
#[tokio::test]
async fn the_audit_finds_the_same_with_parallel_workers() {
    let scene = Scene::new().await;
    let views = scene.views().await;
    let name = scene.ask("SELECT current_database()").await;
    for setting in [
        "max_parallel_workers_per_gather = 2",
        "min_parallel_table_scan_size = 0",
        "parallel_setup_cost = 0",
        "parallel_tuple_cost = 0",
    ] {
        let set = format!("ALTER DATABASE {} SET {setting}", name.concat());
        scene.corrupt(set.leak()).await;
    }
    let mut in_parallel = 0;
    for view in &views {
        let plan = scene.ask(&format!("EXPLAIN SELECT * FROM {view}")).await;
        in_parallel += usize::from(plan.concat().contains("Workers Planned"));
    }
    assert!(in_parallel > 20, "{in_parallel} of {}", views.len());
    assert_eq!(scene.found().await, Vec::<String>::new());
    scene
        .corrupt("UPDATE ledger.hold SET state = 'settled', resolved_at = app.now() WHERE request_id = scene.id('open')")
        .await;
    assert_eq!(
        scene.found().await,
        ["held_is_not_its_holds", "hold_and_usage_disagree"]
    );
}
