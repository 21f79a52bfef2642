"""docs/results/comparison.md out of what `just bench-peers` has measured."""

import statistics

from bench_table import markdown as table
from peer_gateways import NOT_MEASURED

OURS, PLAIN = "trunkline", "hyper-bare"


def number(value):
    """As many digits as say something."""
    if abs(value) >= 100:
        return f"{value:,.0f}"
    return f"{value:.1f}" if abs(value) >= 10 else f"{value:.2f}"


def spread(values):
    """The median of all rounds, and from least to most."""
    values = [value for value in values if value is not None]
    if not values:
        return "–"
    middle = number(statistics.median(values))
    return middle if len(values) == 1 else f"{middle} ({number(min(values))} to {number(max(values))})"


def runs(seen, name, kind):
    return [row for row in seen["runs"] if (row["name"], row["kind"]) == (name, kind)]


def failed(rows):
    """Calls that had no answer with status 200, of all that were sent."""
    errors, answered = sum(row["err"] for row in rows), sum(row["n"] for row in rows)
    return f"{errors:,} of {errors + answered:,}"


def added(seen, name, key):
    """What a gateway takes beyond the mock at the same rate in the same round, in milliseconds."""
    direct = {row["round"]: row[key] for row in runs(seen, "direct", "rate")}
    return [(row[key] - direct[row["round"]]) / 1e3 for row in runs(seen, name, "rate") if row["round"] in direct and row["n"]]


def per_event(row):
    return row["cpu_us"] * row["n"] / row["events"] if row["cpu_us"] is not None and row["events"] else None


def ratio(seen, name, kind, value):
    """The median of the ratios to the bare proxy, each within one round."""
    plain = {row["round"]: value(row) for row in runs(seen, PLAIN, kind)}
    found = [value(row) / plain[row["round"]] for row in runs(seen, name, kind) if value(row) and plain.get(row["round"])]
    return number(statistics.median(found)) if found else "–"


def closed_table(seen):
    rows, cpu = [], lambda row: row["cpu_us"]
    for gateway in seen["gateways"]:
        found = runs(seen, gateway["name"], "closed")
        rows.append((gateway["label"], spread(cpu(row) for row in found), ratio(seen, gateway["name"], "closed", cpu),
                     spread(row["postgres_us"] for row in found), spread(row["rps"] for row in found),
                     spread(row["p50"] / 1e3 for row in found if row["n"]), spread(row["p99"] / 1e3 for row in found if row["n"]), failed(found)))
    return table(("", "CPU, µs a call", "to the bare proxy", "PostgreSQL, CPU-µs a call", "calls a second", "p50, ms", "p99, ms", "failed"), rows)


def rate_table(seen):
    rows = []
    for gateway in seen["gateways"]:
        found = runs(seen, gateway["name"], "rate")
        rows.append((gateway["label"], spread(added(seen, gateway["name"], "p50")), spread(added(seen, gateway["name"], "p99")),
                     spread(row["cpu_us"] for row in found), spread(row["postgres_us"] for row in found), failed(found)))
    return table(("", "p50 added, ms", "p99 added, ms", "CPU, µs a call", "PostgreSQL, CPU-µs a call", "failed"), rows)


def stream_table(seen):
    rows = []
    for gateway in seen["gateways"]:
        if "no_streams" in gateway:
            continue
        found = runs(seen, gateway["name"], "streams")
        rows.append((gateway["label"], spread(row["cpu_us"] for row in found), spread(per_event(row) for row in found),
                     ratio(seen, gateway["name"], "streams", per_event), spread(row["rps"] for row in found),
                     spread(row["ttfb50"] / 1e3 for row in found if row["n"]), failed(found)))
    return table(("", "CPU, µs a stream", "CPU, µs an event", "to the bare proxy", "streams a second", "first byte p50, ms", "failed"), rows)


def memory_table(seen):
    rows = []
    for gateway in seen["gateways"]:
        most = [row["memory_mb"] for row in seen["runs"] if row["name"] == gateway["name"] and row["memory_mb"] is not None]
        rows.append((gateway["label"], number(gateway["idle_mb"]), number(max(most)) if most else "–", number(gateway["idle_cpu_ms"])))
    return table(("", "idle, MB", "most under load, MB", "idle, CPU-ms a second"), rows)


def about_table(seen):
    rows = [(gateway["label"], f"{gateway['version']}, {gateway['source']}", gateway["settings"], gateway["does"], gateway["stores"])
            for gateway in seen["gateways"]]
    return table(("", "<Version", "<Settings", "<For a call", "<Writes"), rows)


def page(seen):
    machine = seen["machine"]
    interpreter = next((gateway["interpreter_mb"] for gateway in seen["gateways"] if "interpreter_mb" in gateway), None)
    notes = "" if interpreter is None else (
        f" TensorZero's gateway runs inside a Python process, which took {number(interpreter)} MB with the same imports and no gateway.")
    audit = "found nothing" if seen["audit"] else "**found violations**"
    broken = "".join(f"\n{gateway['label']}: not measured. Every stream was answered with `{gateway['no_streams']}` in this set-up.\n"
                     for gateway in seen["gateways"] if "no_streams" in gateway)
    missing = "\n".join(f"| {name} | not measured: {reason} |" for name, reason in NOT_MEASURED)
    return f"""# Comparison with other gateways

Made by `just bench-peers --page docs/results/comparison.md`; do not edit. One run on {seen['date']}, commit `{seen['commit']}` (profile {seen['profile']}), on {machine['cores']} cores ({machine['processor']}), {machine['memory_gb']} GB of memory, load average {machine['load']} at the start.

Trunkline writes money to a database in every call and the others, as they could be run here, write nothing: compare with [what each does](#what-each-does-for-a-call) in mind. One core, a mock on the same machine and one small request are not a production load, and we wrote this benchmark.

## How

- Every gateway is one process or worker on core 0. Mock upstream, load generator and, for Trunkline, PostgreSQL share core 1. All are started, and one at a time has load.
- Every gateway gets the same request (500 bytes, chat completions, an upstream of OpenAI's format) and the mock answers at once: 684 bytes of JSON, or a stream of 67 events (15.9 kB) back to back. Before the run, text and tokens of every gateway's answer were compared with the mock's.
- Interleaved rounds: {seen['rounds']}. A run is {seen['secs']:g} seconds, figures are medians, in brackets the least and the most of the rounds. "To the bare proxy" is the median of the ratios within one round.
- CPU is user and system time of the process tree over the calls that were answered. PostgreSQL's is apart.
- A call without status 200 has failed. It is counted in the last column and is not in the latencies.

## Closed loop, {seen['connections']} connections

{closed_table(seen)}

Calls a second of Trunkline, nginx and the bare proxy are bounded by core 1 as well as by their own, since mock, load generator and PostgreSQL share it; compare CPU a call. Latency here is the queue of {seen['connections']} connections before one core.

## {seen['rate']} calls a second, {seen['rate_connections']} connections

At most half of what the slowest of them answers in a closed loop. Latency beyond that of the mock asked directly, at the same rate, in the same round. A run is {seen['rate_secs']:g} seconds, {seen['rate'] * seen['rate_secs']:,.0f} calls. A call that is sent late because the one before it was slow counts from when it was due.

{rate_table(seen)}

At this rate nearly every call of Trunkline is a batch of its own in PostgreSQL; under load batches are shared.

## Streams in bursts, {seen['stream_connections']} connections

{stream_table(seen)}
{broken}
## Memory

Proportional set size of the process tree, after one call of each kind and half-way through the runs above.{notes} Trunkline's PostgreSQL is not in it.

{memory_table(seen)}

## What each does for a call

{about_table(seen)}

At the end `trunkline audit` {audit}.

## Not measured

| | |
|---|---|
{missing}
| more than one core, a real network, long prompts, tools, other formats | not measured: this run has one request |

## Running it again

```sh
just bench-peers --page docs/results/comparison.md
```

About {minutes(seen)} minutes after the builds. It installs LiteLLM and TensorZero from PyPI and Portkey from npm, in the versions above. What the harness is and where it is found: [performance](../dev/performance.md).
"""


def minutes(seen):
    """Runs with their rests, warming up, and half a dozen programs that start."""
    gateways, rounds = len(seen["gateways"]), seen["rounds"]
    seconds = 2 * gateways * (seen["secs"] + 1.3) + (gateways + 1) * (seen["rate_secs"] + 1.3)
    return round((rounds * seconds + gateways * 15 + 120) / 60)
