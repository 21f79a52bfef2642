"""What of the bench needs no machine: the search for the highest rate, and the pages made of a run."""

import pathlib
import sys
import unittest

sys.dont_write_bytecode = True
SCRIPTS = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(SCRIPTS))
import bench_soak  # noqa: E402
import capacity_page  # noqa: E402
import peer_page  # noqa: E402


def loaded(**more):
    return {"n": 1000, "err": 0, "rps": 100.0, "p50": 2000, "p99": 9000, "max": 20000, "ttfb50": 1500, "events": 0} | more


def read(**more):
    return {"gateway_cpu": 1.0, "postgres_cpu": 2.0, "gateway_mb": 20.0, "postgres_mb": 90.0, "wal": 0, "database": 0, "log": 0,
            "cores": [[0, 0, 0, 0, 0, 0, 0, 0], [0, 0, 0, 0, 0, 0, 0, 0]]} | more


class HighestRate(unittest.TestCase):
    def test_the_search_ends_within_a_twentieth_below_the_limit(self):
        for limit in (100, 101, 149, 150, 777, 2_345, 30_000):
            found = bench_soak.highest(lambda rate, limit=limit: rate <= limit)
            self.assertLessEqual(found, limit)
            self.assertGreaterEqual(found * 1.05 + 1, limit, limit)

    def test_a_machine_that_does_not_hold_the_first_rate_has_none(self):
        self.assertEqual(bench_soak.highest(lambda rate: False), 0)

    def test_no_rate_above_one_that_failed_is_tried(self):
        tried = []
        bench_soak.highest(lambda rate: tried.append(rate) or rate <= 400)
        least = min(rate for rate in tried if rate > 400)
        self.assertLessEqual(tried[-1], least)

    def test_errors_late_answers_and_missing_calls_each_end_a_rate(self):
        self.assertTrue(bench_soak.holds(loaded(), 100))
        for wrong in ({"err": 1}, {"p99": 100_001}, {"rps": 97.9}):
            self.assertFalse(bench_soak.holds(loaded(**wrong), 100), wrong)

    def test_the_long_run_is_below_the_highest_rate(self):
        self.assertEqual([bench_soak.with_margin(rate) for rate in (2_345, 111, 50, 1)], [2_110, 99, 45, 1])


class Minutes(unittest.TestCase):
    def minute(self, calls, p99, **grown):
        after = read(gateway_cpu=1.1, postgres_cpu=2.3, wal=900 * calls, database=2_000 * calls, log=700 * calls,
                     cores=[[50, 0, 0, 40, 10, 0, 0, 0], [90, 0, 0, 10, 0, 0, 0, 0]])
        return bench_soak.part(read(), after | grown, loaded(n=calls, p99=p99), 100)

    def test_costs_are_of_one_call_and_a_core_that_waits_is_not_busy(self):
        one = self.minute(1_000, 9_000)
        self.assertAlmostEqual(one["gateway_us"], 100)
        self.assertAlmostEqual(one["postgres_us"], 300)
        self.assertEqual((one["wal_bytes"], one["database_bytes"], one["log_bytes"]), (900, 2_000, 700))
        self.assertEqual(one["core_busy"], [0.5, 0.9])

    def test_a_run_has_the_worst_p99_and_means_over_calls(self):
        sums = bench_soak.whole([self.minute(1_000, 9_000), self.minute(3_000, 30_000), self.minute(1_000, 120_000)])
        self.assertEqual((sums["calls"], sums["p99_ms"], sums["minutes_held"]), (5_000, 120.0, 2))
        self.assertAlmostEqual(sums["gateway_us"], 3 * 0.1e6 / 5_000)

    def test_tables_are_told_by_what_they_grew(self):
        found = bench_soak.grown_tables({"ledger.usage": (100, 50)}, {"ledger.usage": (10_100, 5_050), "app.node": (9, 0)}, 10)
        self.assertEqual(found, [{"table": "ledger.usage", "table_bytes": 1_000.0, "index_bytes": 500.0}])

    def test_failed_calls_are_told_by_status_and_fault(self):
        lines = ['{"fields":{"message":"answered","http.status":200}}', '{"fields":{"message":"answered","http.status":503,"fault":"database_away"}}',
                 '{"fields":{"message":"answered","http.status":503,"fault":"database_away"}}', '{"fields":{"message":"answered"}}', '{"fields":{"message":"started"}}']
        self.assertEqual(bench_soak.failures(lines), {"503 database_away": 2, "no status": 1})

    def test_a_run_is_wrong_if_a_call_has_no_usage_row_or_the_audit_finds_something(self):
        good = {"audit": {"ok": True, "violations": []}, "answered": 10, "errors": 1, "usage_rows": 11}
        self.assertEqual(bench_soak.verdict(good), [])
        self.assertEqual(len(bench_soak.verdict(good | {"usage_rows": 9})), 1)
        self.assertEqual(len(bench_soak.verdict(good | {"usage_rows": 12})), 1)
        self.assertEqual(len(bench_soak.verdict(good | {"audit": {"ok": False, "violations": [{}]}})), 1)


class CapacityPage(unittest.TestCase):
    def seen(self):
        minutes = [Minutes().minute(6_000, 9_000)] * 2
        return {
            "date": "2026-11-19", "commit": "abc", "profile": "dist", "length": "2 minutes", "machine": {"cores": 2, "processor": "P", "memory_gb": 8, "load": 0},
            "rate": 100, "highest": 120, "connections": 128, "minutes": minutes,
            "whole": bench_soak.whole(minutes) | {"gateway_us": 200.0, "postgres_us": 100.0, "database_bytes": 2_000.0, "wal_bytes": 1_000.0},
            "start": {"gateway_mb": 15.0, "postgres_mb": 60.0}, "tables": [{"table": "ledger.usage", "table_bytes": 1_000.0, "index_bytes": 500.0}],
            "answered": 12_900, "errors": 0, "failures": {}, "usage_rows": 12_900, "audit": {"ok": True, "views": 30, "violations": []},
        }

    def test_cells_are_the_processor_time_that_may_be_used_over_that_of_a_call(self):
        found = capacity_page.arithmetic(self.seen()["whole"])
        self.assertEqual((found["cell"], found["node"], found["nodes"]), (120_000, 14_000, 9))
        block = capacity_page.block(self.seen())
        self.assertIn("| internet scale | 1,000,000 | 9 | 1.0 GB a second |", block)
        self.assertIn("| 100 | 17.3 GB | 7.0 TB | 8.7 GB |", block)

    def test_only_what_is_between_the_marks_is_written_anew(self):
        page = f"before\n{capacity_page.BEGIN}\nold\n{capacity_page.END}\nafter\n"
        once = capacity_page.put(page, self.seen())
        self.assertTrue(once.startswith("before\n") and once.endswith("\nafter\n") and "old" not in once)
        self.assertEqual(capacity_page.put(once, self.seen()), once)

    def test_the_page_that_is_kept_has_the_marks(self):
        capacity_page.put((SCRIPTS.parent / "docs/operate/capacity.md").read_text(), self.seen())

    def test_failed_calls_are_shown_with_their_reason(self):
        self.assertIn("3 with 503 overloaded", capacity_page.block(self.seen() | {"failures": {"503 overloaded": 3}}))

    def test_violations_are_shown(self):
        seen = self.seen() | {"audit": {"ok": False, "views": 30, "violations": [{}, {}]}}
        self.assertIn("**2 violations**", capacity_page.block(seen))


class PeerPage(unittest.TestCase):
    def seen(self):
        about = {"version": "1", "source": "s", "settings": "x", "does": "d", "stores": "nothing", "idle_mb": 10.0, "idle_cpu_ms": 0.5}
        gateways = [{"name": "hyper-bare", "label": "bare proxy"}, {"name": "trunkline", "label": "Trunkline"}, {"name": "peer", "label": "Peer"}]
        costs = {"direct": None, "hyper-bare": 40.0, "trunkline": 200.0, "peer": 4_000.0}
        runs = [
            {"name": name, "kind": kind, "round": turn, "cpu_us": cost, "postgres_us": 90.0 if name == "trunkline" else None, "memory_mb": None}
            | loaded(events=67_000 if kind == "streams" else 0, err=5 if name == "peer" else 0, p50=1_000 if name == "direct" else 2_500)
            for name, cost in costs.items() for kind in ("closed", "rate", "streams") for turn in range(2)
        ]
        return {
            "date": "2026-11-19", "commit": "abc", "profile": "dist", "machine": {"cores": 2, "processor": "P", "memory_gb": 8, "load": 0.1}, "rounds": 2, "secs": 10.0,
            "connections": 128, "rate": 100, "rate_secs": 10.0, "rate_connections": 16, "stream_connections": 32, "runs": runs, "audit": True,
            "gateways": [about | gateway for gateway in gateways],
        }

    def row(self, table, name):
        return next(line for line in table.splitlines() if line.startswith(f"| {name} "))

    def test_failed_calls_of_a_peer_are_counted_in_every_table(self):
        seen = self.seen()
        for table in (peer_page.closed_table(seen), peer_page.rate_table(seen), peer_page.stream_table(seen)):
            self.assertIn("| 10 of 2,010 |", self.row(table, "Peer"))

    def test_latency_is_that_beyond_the_mock_in_the_same_round(self):
        self.assertEqual(peer_page.added(self.seen(), "trunkline", "p50"), [1.5, 1.5])

    def test_postgresql_is_told_apart_and_only_of_the_gateway_that_has_one(self):
        closed = peer_page.closed_table(self.seen())
        self.assertIn("| 200 (200 to 200) | 5.00 | 90.0 (90.0 to 90.0) |", self.row(closed, "Trunkline"))
        self.assertIn("| 4,000 (4,000 to 4,000) | 100 | – |", self.row(closed, "Peer"))

    def test_a_gateway_that_answered_nothing_has_no_figures(self):
        seen = self.seen()
        for row in seen["runs"]:
            if row["name"] == "peer":
                row |= {"n": 0, "cpu_us": None, "events": 0}
        self.assertIn("| – | – | – |", self.row(peer_page.closed_table(seen), "Peer"))
        self.assertIn("10 of 10", self.row(peer_page.rate_table(seen), "Peer"))

    def test_a_gateway_that_cannot_stream_here_has_no_line_and_a_reason(self):
        seen = self.seen()
        seen["gateways"][2]["no_streams"] = "status 500"
        self.assertNotIn("| Peer ", peer_page.stream_table(seen))
        self.assertIn("Peer: not measured. Every stream was answered with `status 500`", peer_page.page(seen))

    def test_the_page_says_what_was_not_measured(self):
        page = peer_page.page(self.seen())
        for name in ("OpenRouter", "new-api", "Bifrost", "LiteLLM with its database"):
            self.assertRegex(page, rf"{name}.* \| not measured: ")


if __name__ == "__main__":
    unittest.main()
