#!/usr/bin/env python3
"""Prints where the minutes of a gate went: parts, compiling and linking, what tests started, the slowest tests.

usage: gate_report.py FOLDER
FOLDER holds what .ci/run and the tests wrote: parts.tsv, link-times, tally, junit.xml.
"""

import sys
import xml.etree.ElementTree as xml
from collections import Counter
from pathlib import Path

SLOWEST = 20


def lines(path):
    return path.read_text().splitlines() if path.exists() else []


def parts(folder):
    print("=== minutes")
    total = 0.0
    for line in lines(folder / "parts.tsv"):
        name, seconds = line.split("\t")
        total += float(seconds)
        print(f"{name:<14} {float(seconds) / 60:6.1f}")
    print(f"{'all':<14} {total / 60:6.1f}")


def linking(folder):
    times = [int(line) for line in lines(folder / "link-times")]
    if times:
        seconds = sum(times) / 1000
        print(f"=== linking: {len(times)} programs, {seconds:.0f} s, longest {max(times) / 1000:.1f} s")


def started(folder):
    counts = Counter(lines(folder / "tally"))
    if counts:
        print("=== started by tests: " + ", ".join(f"{count} × {what}" for what, count in counts.most_common()))


def slowest(folder):
    path = folder / "junit.xml"
    if not path.exists():
        return
    cases = []
    for suite in xml.parse(path).getroot().iter("testsuite"):
        for case in suite.iter("testcase"):
            cases.append((float(case.get("time", 0)), f"{suite.get('name')} {case.get('name')}"))
    cases.sort(reverse=True)
    seconds = sum(time for time, _ in cases)
    print(f"=== {len(cases)} tests, {seconds / 60:.1f} minutes of tests one after another; the slowest")
    for time, name in cases[:SLOWEST]:
        print(f"{time:8.1f} s  {name}")


def main():
    folder = Path(sys.argv[1])
    slowest(folder)
    started(folder)
    linking(folder)
    parts(folder)


if __name__ == "__main__":
    main()
