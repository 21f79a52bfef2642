"""What was measured beside what was promised: one line for each budget of docs/dev/performance.md."""

import statistics

NGINX, HYPER, OURS = "nginx", "hyper-bare", "trunkline"
# The caller's format and the upstream's; the last of them is passed through.
TRANSLATED = ("messages>chat", "responses>chat", "chat>messages")
PASSED = "messages>messages"


def lines(seen):
    """Every budget whose part was measured. Ratios are of one round; the line has their median and minimum."""
    found = []
    cpu = seen.get("cpu", [])
    latency = seen.get("latency", [])
    found += cpu_lines(cpu)
    found += translation_lines(seen.get("translation", []))
    found += latency_lines(latency)
    found += memory_lines(seen)
    found += ledger_lines(seen.get("ledger", {}))
    return found


def line(what, budget, values, unit=""):
    values = [value for value in values if value is not None]
    if not values:
        return []
    middle = statistics.median(values)
    return [{"what": what, "budget": budget, "median": middle, "min": min(values), "unit": unit,
             "met": None if budget is None else middle <= budget}]


def by_round(rows, kind, name):
    return {row["round"]: row for row in rows if row["kind"] == kind and row["name"] == name and not row["err"]}


def ratios(rows, kind, ours, theirs, against, name=OURS):
    """One ratio for each round in which both were measured."""
    mine, other = by_round(rows, kind, name), by_round(rows, kind, against)
    return [ours(mine[turn]) / theirs(other[turn]) for turn in sorted(mine.keys() & other.keys()) if theirs(other[turn]) > 0]


def cpu_lines(rows):
    call, event = (lambda row: row["cpu_us"]), (lambda row: row["cpu_us_chunk"])
    both = lambda row: row["cpu_us"] + row["extra_us"]
    found = line("CPU per call, 128 connections, gateway / bare hyper", 1.6, ratios(rows, "sat128", call, call, HYPER))
    found += line("CPU per call, 128 connections, gateway + PostgreSQL / nginx", 3.0, ratios(rows, "sat128", both, call, NGINX))
    found += line("CPU per SSE event in bursts / nginx", 1.3, ratios(rows, "sse_burst", event, event, NGINX))
    found += line("CPU per SSE event paced 5 ms / nginx", 1.2, ratios(rows, "sse_paced", event, event, NGINX))
    saturated = by_round(rows, "sat128", OURS).values()
    found += line("PostgreSQL per call, 128 connections", 30, [row["extra_us"] for row in saturated], "CPU-us")
    for kind, key, unit in (("sat128", "cpu_us", "CPU-us"), ("sse_burst", "cpu_us_chunk", "CPU-us"), ("sse_paced", "cpu_us_chunk", "CPU-us")):
        for name in (NGINX, HYPER, OURS):
            found += line(f"  {kind} {name}", None, [row[key] for row in by_round(rows, kind, name).values()], unit)
    for name in (NGINX, HYPER, OURS):
        found += line(f"  sat128 {name}", None, [row["rps"] for row in by_round(rows, "sat128", name).values()], "calls/s")
    return found


def translation_lines(rows):
    """Streams are compared for each event of the upstream: one format says in 72 what another says in 67."""
    call, event = (lambda row: row["cpu_us"]), (lambda row: row["cpu_us"] / row["upstream_events"])
    found = []
    for name in TRANSLATED:
        found += line(f"CPU per event, {name} / chat passed through", 3.0, ratios(rows, "sse_burst", event, event, OURS, name))
    for name in TRANSLATED:
        found += line(f"CPU per call, {name} / nginx", 3.0, ratios(rows, "sat128", call, call, NGINX, name))
    for name in (OURS, *TRANSLATED, PASSED):
        found += line(f"  CPU per call, {name} / bare hyper", None, ratios(rows, "sat128", call, call, HYPER, name))
    for name in (*TRANSLATED, PASSED):
        found += line(f"  CPU per call, {name} / chat passed through", None, ratios(rows, "sat128", call, call, OURS, name))
    for kind, value in (("sat128", call), ("sse_burst", event)):
        for name in (NGINX, HYPER, OURS, *TRANSLATED, PASSED):
            found += line(f"  {kind} {name}", None, [value(row) for row in by_round(rows, kind, name).values()], "CPU-us")
    return found


def latency_lines(rows):
    """Added is what a target takes beyond the direct way, in the same round."""
    def value(name, turn, stream, key):
        for row in rows:
            if (row["name"], row["round"], row["stream"]) == (name, turn, stream) and not row["err"]:
                return row.get(key)
        return None

    def added(name, turn, stream, key):
        there, direct = value(name, turn, stream, key), value("direct", turn, stream, key)
        return None if there is None or direct is None else there - direct

    def ratio(ours, theirs):
        return ours / theirs if ours is not None and theirs is not None and theirs > 0 else None

    def without_ledger(turn):
        """The ledger's time is taken off each call inside; what is outside of the gateway is added again."""
        whole = added(OURS, turn, 0, "p50")
        all_of_it, less = value(OURS, turn, 0, "inside_p50"), value(OURS, turn, 0, "inside_without_ledger_p50")
        return None if None in (whole, all_of_it, less) else whole - (all_of_it - less)

    turns = sorted({row["round"] for row in rows})
    nginx = {turn: added(NGINX, turn, 0, "p50") for turn in turns}
    first = {turn: added(NGINX, turn, 1, "ttfb50") for turn in turns}
    found = line("added p50 at 200 rps / nginx, ledger excluded", 1.5, [ratio(without_ledger(turn), nginx[turn]) for turn in turns])
    found += line("  the same, ledger included", None, [ratio(added(OURS, turn, 0, "p50"), nginx[turn]) for turn in turns])
    found += line("  first byte of a stream (after the reservation) / nginx", None,
                  [ratio(added(OURS, turn, 1, "ttfb50"), first[turn]) for turn in turns])
    found += line("  added p50 nginx", None, nginx.values(), "us")
    found += line("  added p50 trunkline", None, [added(OURS, turn, 0, "p50") for turn in turns], "us")
    found += line("  added p50 trunkline, ledger excluded", None, [without_ledger(turn) for turn in turns], "us")
    found += line("  in the ledger, reserve and settle", None, [value(OURS, turn, 0, "ledger_p50") for turn in turns], "us")
    return found


def ledger_lines(seen):
    """PostgreSQL for a call and for none; of an older executable too, where there was one in the same rounds."""
    found, calls = [], seen.get("calls", [])
    for name in ("before", OURS):
        saturated, slow = by_round(calls, "sat128", name).values(), by_round(calls, "lat", name).values()
        found += line(f"  PostgreSQL per call, 128 connections, {name}", None, [row["extra_us"] for row in saturated], "CPU-us")
        found += line(f"  calls a second, 128 connections, {name}", None, [row["rps"] for row in saturated])
        found += line(f"  PostgreSQL per call at 200 a second, {name}", None, [row["extra_us"] for row in slow], "CPU-us")
        found += line(f"  p50 at 200 a second, {name}", None, [row["p50"] for row in slow], "us")
        idle = [row["idle_ms"] for row in seen.get("idle", []) if row["name"] == name]
        found += line(f"  idle PostgreSQL, {name}", None, idle, "CPU-ms/s")
    for kind, key, what in (("sat128", "extra_us", "PostgreSQL per call, 128 connections"),
                            ("lat", "extra_us", "PostgreSQL per call at 200 a second"), ("lat", "p50", "p50 at 200 a second")):
        value = lambda row, key=key: row[key]
        found += line(f"{what}, trunkline / before", None, ratios(calls, kind, value, value, "before"))
    return found


def memory_lines(seen):
    idle = seen.get("idle_mb", {})
    found = line("memory idle", 30, [idle.get(OURS)], "MB")
    for row in seen.get("memory", []):
        if row["name"] == OURS:
            found += line("memory with 1,000 open streams", 96, [row["streams_mb"]], "MB")
        else:
            found += line(f"  1,000 open streams {row['name']}", None, [row["streams_mb"]], "MB")
    return found


def text(found):
    """The table for people. Lines without a budget are there to explain the others."""
    words = {True: "met", False: "MISSED", None: ""}
    rows = [("what", "budget", "median", "min", "")]
    for row in found:
        number = lambda value: "" if value is None else f"{value:,.0f}" if value >= 1000 else f"{value:.2f}"
        unit = f" {row['unit']}" if row["unit"] else ""
        rows.append((row["what"], number(row["budget"]), number(row["median"]), number(row["min"]) + unit, words[row["met"]]))
    widths = [max(len(row[place]) for row in rows) for place in range(5)]
    show = lambda row: f"{row[0]:<{widths[0]}}  {row[1]:>{widths[1]}}  {row[2]:>{widths[2]}}  {row[3]:<{widths[3]}}  {row[4]}".rstrip()
    return "\n".join(show(row) for row in rows)


def markdown(columns, rows):
    """A table of a page. Columns after the first are of numbers; a leading `<` says that one is not."""
    heads = [column.removeprefix("<") for column in columns]
    marks = ["---" if place == 0 or column.startswith("<") else "--:" for place, column in enumerate(columns)]
    return "\n".join("| " + " | ".join(row) + " |" for row in (heads, marks, *rows))
