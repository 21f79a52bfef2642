"""The part of docs/operate/capacity.md that `just soak` makes: what one run has measured, and the arithmetic on it."""

import math

from bench_soak import LONGEST_P99_MS, MARGIN, STEP_SECONDS
from bench_table import markdown as table

BEGIN, END = "<!-- made by `just soak`: begin -->", "<!-- made by `just soak`: end -->"
# A PostgreSQL on 16 cores: the rest is for polls, reports and vacuum. A node on four cores: the rest is for bursts.
DATABASE_CORES, DATABASE_BUSY = 16, 12
NODE_CORES, NODE_BUSY = 4, 2.8
KEPT_DAYS = 400
MEAN_RATES = (10, 100, 1_000)
LARGEST = ((1_000, "a busy reseller"), (50_000, "this field's largest"), (1_000_000, "internet scale"))
DAY = 86_400


def about(value):
    """Two digits are all that such arithmetic is worth; rounded down, because the page is for planning."""
    if value < 10:
        return f"{value:.1f}"
    digits = 10 ** (len(str(int(value))) - 2)
    return f"{int(value // digits * digits):,}"


def size(count):
    """Bytes for a reader, rounded up to a digit after the point."""
    for unit, each in (("TB", 1e12), ("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if count >= each:
            return f"{math.ceil(count / each * 10) / 10:,.1f} {unit}"
    return f"{count:,.0f} B"


def arithmetic(whole):
    """What a cell and its nodes carry by the processor time of a call."""
    cell = DATABASE_BUSY * 1e6 / whole["postgres_us"]
    node = NODE_BUSY * 1e6 / whole["gateway_us"]
    return {"cell": cell, "node": node, "nodes": math.ceil(cell / node)}


def measured(seen):
    whole, machine = seen["whole"], seen["machine"]
    count = len(seen["minutes"])
    books = "nothing" if seen["audit"]["ok"] else f"**{len(seen['audit']['violations'])} violations**"
    how = f"{MARGIN * 100:.0f} % of {seen['highest']:,}, the highest that held for {STEP_SECONDS} seconds" if seen["highest"] else "given"
    failed = "; all failed calls, those of the search included: " + ", ".join(f"{count:,} with {why}" for why, count in seen["failures"].items()) if seen["failures"] else ""
    gateway, mocks = whole["core_busy"][0], whole["core_busy"][1]
    rows = [
        ("rate", f"{seen['rate']:,} calls a second ({how}); {whole['rate']:,.0f} were answered"),
        ("calls, errors", f"{whole['calls']:,}, {whole['errors']:,}; {whole['minutes_held']} of {count} minutes held the rate without an error and with p99 at most {LONGEST_P99_MS} ms{failed}"),
        ("p50, p99, slowest", f"{whole['p50_ms']:.2f} ms (the median minute), {whole['p99_ms']:.1f} ms (the worst minute), {whole['max_ms']:,.0f} ms"),
        ("processor time of the node", f"{whole['gateway_us']:,.0f} µs a call"),
        ("processor time of PostgreSQL", f"{whole['postgres_us']:,.0f} µs a call"),
        ("busy", f"{gateway * 100:.0f} % of the node's core; {mocks * 100:.0f} % of the core that PostgreSQL shares with mock and load generator"),
        ("memory of the node", f"{seen['start']['gateway_mb']:.0f} MB at its start, {whole['gateway_mb'][1]:.0f} MB in the last minute"),
        ("memory of PostgreSQL", f"{seen['start']['postgres_mb']:.0f} MB at its start, {whole['postgres_mb'][1]:.0f} MB in the last minute"),
        ("tables and indexes", f"{whole['database_bytes']:,.0f} bytes a call, {size(whole['database_bytes'] * 1e6)} per million calls"),
        ("write-ahead log", f"{whole['wal_bytes']:,.0f} bytes a call, {size(whole['wal_bytes'] * 1e6)} per million calls"),
        ("access log", f"{whole['log_bytes']:,.0f} bytes a call, {size(whole['log_bytes'] * 1e6)} per million calls"),
        ("books", f"`trunkline audit` found {books} in {seen['audit']['views']} views; {seen['usage_rows']:,} usage rows for {seen['answered']:,} answered calls, those of the search included"),
    ]
    minutes = [(str(place), f"{one['calls']:,}", str(one["errors"]), f"{one['p50_ms']:.2f}", f"{one['p99_ms']:.1f}", f"{one['gateway_us']:.0f}", f"{one['postgres_us']:.0f}",
                f"{one['gateway_mb']:.0f}", f"{one['wal_bytes']:,.0f}", f"{one['database_bytes']:,.0f}") for place, one in enumerate(seen["minutes"], 1)]
    return f"""## A node and a PostgreSQL

One run of {seen['length']} on {seen['date']}, commit `{seen['commit']}`, profile {seen['profile']}: two of {machine['cores']} cores ({machine['processor']}), {machine['memory_gb']} GB of memory. The node was alone on one core; PostgreSQL with its defaults, on disk, shared the other one with mock and load generator. {seen['connections']} connections, one key of one account, 500 bytes in and 684 out, an upstream that answers at once.

{table(("", "<Measured"), rows)}

<details><summary>Every minute</summary>

{table(("Minute", "Calls", "Errors", "p50, ms", "p99, ms", "Node, µs a call", "PostgreSQL, µs a call", "Node, MB", "WAL, bytes a call", "Tables, bytes a call"), minutes)}

</details>"""


def disk(seen):
    whole = seen["whole"]
    tables = [(f"`{one['table']}`", f"{one['table_bytes']:,.0f}", f"{one['index_bytes']:,.0f}") for one in seen["tables"][:8]]
    days = [(f"{rate:,}", size(rate * DAY * whole["database_bytes"]), size(rate * DAY * KEPT_DAYS * whole["database_bytes"]), size(rate * DAY * whole["wal_bytes"]))
            for rate in MEAN_RATES]
    return f"""## Disk

{table(("Grew by, bytes a call", "Table", "Indexes"), tables)}

By a mean rate over the day. `retention.usage_days` is {KEPT_DAYS} by default, and a day is a partition that is dropped whole. The write-ahead log is recycled after a checkpoint; its column is what an archive or a standby is sent.

{table(("Calls a second, mean", "Tables a day", f"Tables, {KEPT_DAYS} days", "Write-ahead log a day"), days)}"""


def cells(seen):
    whole = seen["whole"]
    found = arithmetic(whole)
    rows = [
        ("calls a second by PostgreSQL", about(found["cell"]), f"{DATABASE_BUSY} of {DATABASE_CORES} cores busy with the ledger / {whole['postgres_us']:.0f} µs; straight from one core to many, which no run has shown"),
        ("calls a second by node", about(found["node"]), f"70 % of {NODE_CORES} cores / {whole['gateway_us']:.0f} µs"),
        ("nodes", str(found["nodes"]), "the first by the second"),
        ("write-ahead log at that rate", f"{size(found['cell'] * whole['wal_bytes'])} a second", "what the disk, an archive and a standby must take"),
        ("usage rows at that rate", f"{about(found['cell'] * DAY / 1e6)} million a day", f"a partition of {size(found['cell'] * DAY * whole['database_bytes'])}: at such a rate keep fewer days, or export and drop"),
    ]
    many = [(what, f"{rate:,}", str(math.ceil(rate / found["cell"])), f"{size(rate * whole['wal_bytes'])} a second") for rate, what in LARGEST]
    return f"""## One cell

Arithmetic on the run above. PostgreSQL on {DATABASE_CORES} cores, of which {DATABASE_BUSY} may be busy with the ledger; nodes of {NODE_CORES} cores.

{table(("Quantity", "One cell", "<Reason"), rows)}

## Several cells

No data of an account crosses cells, so N cells have N times the capacity and the cost of one, plus a reserve for a lost one.

{table(("", "Calls a second", "Cells", "Write-ahead log of all"), many)}"""


def block(seen):
    return "\n\n".join([measured(seen), disk(seen), cells(seen)])


def put(page, seen):
    """The page with this run's figures in the place of the ones before."""
    if page.count(BEGIN) != 1 or page.count(END) != 1:
        raise SystemExit(f"bench: the page needs one line {BEGIN} and one line {END}")
    head, rest = page.split(BEGIN)
    return f"{head}{BEGIN}\n{block(seen)}\n{END}{rest.split(END)[1]}"
