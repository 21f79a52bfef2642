"""The parts of scripts/nightly that need no machine."""

import importlib.machinery
import importlib.util
import json
import pathlib
import sys
import tempfile
import unittest

sys.dont_write_bytecode = True
SCRIPT = str(pathlib.Path(__file__).resolve().parent.parent / "nightly")
LOADER = importlib.machinery.SourceFileLoader("nightly", SCRIPT)
nightly = importlib.util.module_from_spec(importlib.util.spec_from_loader("nightly", LOADER))
sys.modules["nightly"] = nightly
LOADER.exec_module(nightly)


def ran(family="video-chaos", tree="a", rounds=1, minutes=10.0, date="2026-11-16", **counts):
    place = {"commit": "c-" + tree, "tree": tree, "dirty": False, "date": date, "family": family}
    return place | {"rounds": rounds, "minutes": minutes} | dict.fromkeys(nightly.COUNTED, 0) | counts


class Figures(unittest.TestCase):
    def test_all_lines_of_a_round_are_summed_wherever_a_runner_puts_them(self):
        lines = [
            "figures: requests=100 faults=7\n",
            "    figures: requests=5\n",
            "test video_chaos::one ... figures: seeds=3 executions=4\n",
            "100 calls, 7 faults\n",
        ]
        told = nightly.figures(lines)
        self.assertEqual(told, {"requests": 105, "faults": 7, "seeds": 3, "executions": 4, "violations": 0})

    def test_what_only_looks_like_figures_is_not_counted(self):
        lines = ["figures: none", "figures: requests=1,000", "prefigures: requests=1", "figures: requests=1 or so"]
        self.assertEqual(set(nightly.figures([*lines, "figures: bytes=9"]).values()), {0})


class Choice(unittest.TestCase):
    families = [nightly.Family("a", "a 10", 2, 10), nightly.Family("b", "b", 1, 30), nightly.Family("c", "c", 1, 5)]
    minutes = {"a": 10, "b": 30, "c": 5}

    def chosen(self, left, a=0, b=0, c=0):
        family = nightly.choose(self.families, {"a": a, "b": b, "c": c}, self.minutes, left)
        return family and family.name

    def test_every_family_has_a_round_before_one_has_its_second(self):
        self.assertEqual(self.chosen(100), "a")
        self.assertEqual(self.chosen(100, a=1), "b")
        self.assertEqual(self.chosen(100, a=1, b=1), "c")
        self.assertEqual(self.chosen(100, a=1, b=1, c=1), "a")

    def test_no_round_begins_that_does_not_fit(self):
        self.assertEqual(self.chosen(30, a=1), "b")
        self.assertEqual(self.chosen(29, a=1), "c")
        self.assertIsNone(self.chosen(4))

    def test_a_round_is_ended_in_time_and_never_after_the_run(self):
        self.assertEqual(nightly.limit(40, 150), 80)
        self.assertEqual(nightly.limit(5, 150), 5 + nightly.SLACK_MINUTES)
        self.assertEqual(nightly.limit(40, 50), 50)

    def test_two_run_at_a_time_unless_one_is_alone(self):
        one, two, three = (nightly.Family(name, name, 1, 5) for name in "abc")
        alone = nightly.Family("d", "d", 1, 5, alone=True)
        self.assertTrue(nightly.may_begin(alone, []))
        self.assertTrue(nightly.may_begin(two, [one]))
        self.assertFalse(nightly.may_begin(three, [one, two]))
        self.assertFalse(nightly.may_begin(one, [alone]))
        # It is next and waits: what it would run beside must not keep it out for ever.
        done = {"a": 1, "b": 0, "c": 0, "d": 0}
        self.assertEqual(nightly.choose([one, two, three, alone], done, dict.fromkeys("abcd", 5), 60), alone)
        self.assertFalse(nightly.may_begin(alone, [one]))

    def test_minutes_are_those_of_the_newest_whole_result(self):
        entries = nightly.merged([], ran("a", "old", 2, 8.0, "2026-11-14"), 2)
        entries = nightly.merged(entries, ran("a", "new", 2, 12.0, "2026-11-15"), 2)
        entries = nightly.merged(entries, ran("a", "half", 1, 50.0, "2026-11-16"), 2)
        self.assertEqual(nightly.expected(self.families[0], entries), 6)
        self.assertEqual(nightly.expected(self.families[1], entries), 30)
        # One that had nothing to do says little of the next.
        entries = nightly.merged(entries, ran("b", "idle", 1, 0.1), 1)
        self.assertEqual(nightly.expected(self.families[1], entries), 15)

    def test_sizes_are_scaled_and_words_are_not(self):
        self.assertEqual(nightly.scaled("cluster-chaos 200 50000 5", 0.01), ["cluster-chaos", "2", "500", "1"])
        self.assertEqual(nightly.scaled("add-drill family long", 0.01), ["add-drill", "family", "long"])
        self.assertEqual(nightly.scaled("video-chaos 25000", 1), ["video-chaos", "25000"])

    def test_every_family_has_a_name_of_its_own_and_fits_into_a_run(self):
        self.assertEqual(len({family.name for family in nightly.FAMILIES}), len(nightly.FAMILIES))
        self.assertTrue(all(family.minutes <= nightly.RUN_MINUTES for family in nightly.FAMILIES))


class Entries(unittest.TestCase):
    def test_rounds_of_one_tree_and_family_add_up_and_others_stay(self):
        entries = nightly.merged([], ran(requests=100, faults=2), 2)
        self.assertEqual(entries[0]["state"], "unfinished")
        entries = nightly.merged(entries, ran("fuzz", executions=9), 1)
        entries = nightly.merged(entries, ran(tree="b", requests=1), 2)
        entries = nightly.merged(entries, ran(requests=50, faults=1, date="2026-11-17", minutes=2.04), 2)
        first = {"requests": 150, "faults": 3, "rounds": 2, "minutes": 12.0, "state": "passed", "date": "2026-11-16"}
        self.assertEqual([one["tree"] + " " + one["family"] for one in entries], ["a fuzz", "a video-chaos", "b video-chaos"])
        self.assertEqual(entries[1] | first, entries[1])
        self.assertEqual(entries[2]["requests"], 1)

    def test_a_failure_stays_whatever_passes_after_it(self):
        entries = nightly.merged([], ran(rounds=0, violations=1), 1)
        self.assertEqual(entries[0]["state"], "failed")
        entries = nightly.merged(entries, ran(), 1)
        self.assertEqual((entries[0]["state"], entries[0]["rounds"]), ("failed", 1))

    def test_a_round_that_took_too_long_counts_what_it_told_and_is_no_round(self):
        entries = nightly.merged([], ran(rounds=0, requests=40), 1)
        self.assertEqual((entries[0]["state"], entries[0]["requests"]), ("unfinished", 40))

    def test_the_file_is_json_of_one_entry_a_line(self):
        entries = nightly.merged(nightly.merged([], ran(), 1), ran("fuzz"), 1)
        text = nightly.written(entries)
        self.assertEqual(json.loads(text), entries)
        self.assertEqual(len(text.splitlines()), 4)
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "results/nightly.json"
            self.assertEqual(nightly.read(path), [])
            nightly.write(path, entries)
            self.assertEqual(nightly.read(path), entries)

    def test_totals_stand_beside_the_target(self):
        entries = nightly.merged([], ran(requests=1_500, faults=3, seeds=7), 1)
        told = "in all 1,500 of 10,000,000 requests, 3 of 5,000 faults, 7 seeds, 0 of 1,000,000,000 executions, 0 violations"
        self.assertIn(told, nightly.totals(entries))


if __name__ == "__main__":
    unittest.main()
