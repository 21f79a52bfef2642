"""One long run of a node and its PostgreSQL at one rate, minute by minute: `just soak`.

The layout is the bench's: the node alone on core 0; PostgreSQL on disk, mock and load generator on core 1. One key of
one account calls, so every charge of a batch is of one account.
"""

import collections
import json
import os
import subprocess
import time
from pathlib import Path

from bench_load import cpu_seconds, load, resident, result
from bench_parts import say

CONNECTIONS = 128
# A rate holds while all calls are answered, nearly as many as were due, and this quickly.
LONGEST_P99_MS, LEAST_PART = 100, 0.98
# Where the search begins, how it steps up, and how close the answer is.
FIRST_RATE, GROWTH, CLOSE = 100, 1.5, 1.05
STEP_SECONDS = 10
# Of the highest rate that held for seconds: checkpoints, vacuum and larger tables come later.
MARGIN = 0.9
# A run has these parts; the load generator ends after two minutes.
PART_SECONDS = 60
SIZES = """
SELECT n.nspname || '.' || coalesce(parent.relname, c.relname), sum(pg_table_size(c.oid)), sum(pg_indexes_size(c.oid))
FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
LEFT JOIN pg_inherits i ON i.inhrelid = c.oid LEFT JOIN pg_class parent ON parent.oid = i.inhparent
WHERE c.relkind = 'r' AND n.nspname IN ('ledger', 'app') GROUP BY 1
"""


# === What needs no machine: scripts/tests/test_bench.py ===


def holds(seen, rate):
    """Whether a run of the load generator held its rate."""
    return seen["err"] == 0 and seen["rps"] >= LEAST_PART * rate and seen["p99"] <= LONGEST_P99_MS * 1e3


def highest(held_at, first=FIRST_RATE):
    """The highest rate that holds: up in steps to the first that does not, then between the two. 0 if the first does not."""
    low, high = 0, first
    while held_at(high):
        low, high = high, round(high * GROWTH)
    while low and high > low * CLOSE and high - low > 1:
        middle = (low + high) // 2
        if held_at(middle):
            low = middle
        else:
            high = middle
    return low


def with_margin(rate):
    """The rate of the long run: below the highest, and a number that is easy to say."""
    part = rate * MARGIN
    step = 10 if part >= 100 else 1
    return max(1, int(part // step * step))


def part(before, after, seen, rate):
    """One minute out of what was read before and after it."""
    calls = max(1, seen["n"])
    grown = lambda key: after[key] - before[key]
    return {
        "calls": seen["n"], "errors": seen["err"], "rate": seen["rps"], "p50_ms": seen["p50"] / 1e3, "p99_ms": seen["p99"] / 1e3,
        "max_ms": seen["max"] / 1e3, "holds": holds(seen, rate),
        "gateway_us": 1e6 * grown("gateway_cpu") / calls, "postgres_us": 1e6 * grown("postgres_cpu") / calls,
        "gateway_mb": after["gateway_mb"], "postgres_mb": after["postgres_mb"],
        "wal_bytes": grown("wal") / calls, "database_bytes": grown("database") / calls, "log_bytes": grown("log") / calls,
        "core_busy": [busy(first, last) for first, last in zip(before["cores"], after["cores"])],
    }


def busy(first, last):
    """The part of a core's time that was not idle."""
    whole = sum(last) - sum(first)
    # The fourth and fifth are idle time and waiting for a disk.
    return 1 - (last[3] + last[4] - first[3] - first[4]) / whole if whole else 0.0


def whole(parts):
    """The run out of its minutes: sums and means over calls, the worst of latencies."""
    calls = sum(one["calls"] for one in parts)
    mean = lambda key: sum(one[key] * one["calls"] for one in parts) / max(1, calls)
    means = ("gateway_us", "postgres_us", "wal_bytes", "database_bytes", "log_bytes")
    middle = sorted(one["p50_ms"] for one in parts)[len(parts) // 2]
    return {
        "calls": calls, "errors": sum(one["errors"] for one in parts), "rate": sum(one["rate"] for one in parts) / len(parts),
        "p50_ms": middle, "p99_ms": max(one["p99_ms"] for one in parts), "max_ms": max(one["max_ms"] for one in parts),
        "minutes_held": sum(one["holds"] for one in parts), **{key: mean(key) for key in means},
        "gateway_mb": [parts[0]["gateway_mb"], parts[-1]["gateway_mb"]], "postgres_mb": [parts[0]["postgres_mb"], parts[-1]["postgres_mb"]],
        "core_busy": [sum(one["core_busy"][core] for one in parts) / len(parts) for core in range(len(parts[0]["core_busy"]))],
    }


def grown_tables(before, after, calls):
    """Bytes a call by table, partitions with their parent, the largest first; what is under a byte is left out."""
    found = [{"table": name, "table_bytes": (table - before.get(name, (0, 0))[0]) / calls,
              "index_bytes": (index - before.get(name, (0, 0))[1]) / calls} for name, (table, index) in after.items()]
    found = [one for one in found if one["table_bytes"] + one["index_bytes"] >= 1]
    return sorted(found, key=lambda one: -(one["table_bytes"] + one["index_bytes"]))


def failures(lines):
    """Why calls failed, from the access log: how many of each status and fault, the most frequent first."""
    found = collections.Counter()
    for line in lines:
        # Nearly all lines are of calls that were answered, and there may be millions.
        if '"answered"' in line and '"http.status":200' not in line:
            fields = json.loads(line)
            fields = fields.get("fields", fields)
            found[f"{fields.get('http.status', 'no status')} {fields.get('fault', '')}".strip()] += 1
    return dict(found.most_common())


def show(minutes):
    """The minutes as a table for people."""
    rows = [f"{'':>4} {'calls':>9} {'errors':>6} {'a second':>9} {'p50 ms':>8} {'p99 ms':>8} {'gateway us':>10} {'PG us':>7} "
            f"{'MB':>6} {'PG MB':>6} {'WAL B':>7} {'db B':>7}  cores"]
    for place, one in enumerate(minutes, 1):
        cores = " ".join(f"{each:.0%}" for each in one["core_busy"])
        rows.append(f"{place:>4} {one['calls']:>9,} {one['errors']:>6} {one['rate']:>9,.0f} {one['p50_ms']:>8.2f} {one['p99_ms']:>8.2f} "
                    f"{one['gateway_us']:>10.1f} {one['postgres_us']:>7.1f} {one['gateway_mb']:>6.1f} {one['postgres_mb']:>6.0f} "
                    f"{one['wal_bytes']:>7,.0f} {one['database_bytes']:>7,.0f}  {cores}{'' if one['holds'] else '  does not hold'}")
    return "\n".join(rows)


# === What reads the machine ===


def core_times():
    lines = [line.split() for line in Path("/proc/stat").read_text().splitlines()]
    return [[int(word) for word in line[1:9]] for line in lines if line[0].startswith("cpu") and line[0] != "cpu"][:2]


def reading(parts, target):
    wal, database = parts.query("SELECT pg_current_wal_insert_lsn() - '0/0'::pg_lsn, pg_database_size(current_database())")[0]
    return {
        "gateway_cpu": cpu_seconds(target["pid"]), "postgres_cpu": cpu_seconds(target["extra_pid"]),
        "gateway_mb": resident(target["pid"]), "postgres_mb": resident(target["extra_pid"]),
        "wal": int(wal), "database": int(database), "log": parts.access_log.stat().st_size, "cores": core_times(),
    }


def sizes(parts):
    return {name: (int(table), int(index)) for name, table, index in parts.query(SIZES)}


def audit(parts):
    """What the audit finds; that it finds something is a result, too."""
    done = subprocess.run([parts.trunkline, "audit", "--json", "--config", "/dev/null"], capture_output=True, text=True,
                          cwd=parts.folder, env={**os.environ, **parts.environment})
    return json.loads(done.stdout.strip().splitlines()[-1])


class Caller:
    """Runs the load and keeps count of what was answered, for the comparison with the usage rows."""

    def __init__(self, programs, target):
        self.programs, self.target = programs, target
        self.answered = self.errors = 0

    def call(self, rate, seconds):
        seen = result(load(self.programs, self.target, c=CONNECTIONS, rate=rate, secs=seconds, stream=0, max=10**9))
        self.answered += seen["n"]
        self.errors += seen["err"]
        return seen

    def held_at(self, rate):
        """A step of the search. What does not hold is tried once more, because one flush of a shared disk is no limit."""
        for _ in range(2):
            seen = self.call(rate, STEP_SECONDS)
            say(f"{rate:,} a second: {seen['rps']:,.0f} answered, {seen['err']} errors, p50 {seen['p50'] / 1e3:.1f} ms, p99 {seen['p99'] / 1e3:.1f} ms")
            if holds(seen, rate):
                return True
            time.sleep(2)
        return False


def run(programs, parts, target, minutes, rate):
    """The whole of it; `rate` is a number, or 0 for the highest that is found here."""
    caller = Caller(programs, target)
    caller.call(FIRST_RATE, 3)
    found = None
    if not rate:
        found = highest(caller.held_at)
        if not found:
            raise SystemExit(f"bench: {FIRST_RATE} calls a second do not hold; does something else run here?")
        rate = with_margin(found)
        say(f"the highest rate that holds for {STEP_SECONDS} s is {found:,} a second; the run is at {rate:,}")
        time.sleep(5)
    told, before, left = [], sizes(parts), minutes * 60
    last = first = reading(parts, target)
    while left > 0:
        seen = caller.call(rate, min(left, PART_SECONDS))
        now = reading(parts, target)
        told.append(part(last, now, seen, rate))
        print(show(told).splitlines()[-1] if len(told) > 1 else show(told), flush=True)
        last, left = now, left - PART_SECONDS
    sums = whole(told)
    tables = grown_tables(before, sizes(parts), max(1, sums["calls"]))
    say("counting usage rows and auditing")
    rows = int(parts.query("SELECT count(*) FROM ledger.usage")[0][0])
    report = audit(parts)
    with open(parts.access_log, encoding="utf-8") as log:
        why = failures(log)
    return {
        "rate": rate, "highest": found, "minutes": told, "whole": sums, "tables": tables, "connections": CONNECTIONS,
        "start": {key: first[key] for key in ("gateway_mb", "postgres_mb")},
        "answered": caller.answered, "errors": caller.errors, "failures": why, "usage_rows": rows,
        "audit": {"ok": report["ok"], "views": len(report["views"]), "violations": report["violations"]},
    }


def verdict(seen):
    """What must be so: one usage row for each answered call, and books that are right."""
    wrong = []
    if not seen["audit"]["ok"]:
        wrong.append(f"the audit found {len(seen['audit']['violations'])} violations")
    # A call that failed at its client may be charged, and has a usage row then.
    if not seen["answered"] <= seen["usage_rows"] <= seen["answered"] + seen["errors"]:
        wrong.append(f"{seen['usage_rows']:,} usage rows for {seen['answered']:,} answered calls and {seen['errors']:,} errors")
    return wrong
