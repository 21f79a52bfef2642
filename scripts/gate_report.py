#!/usr/bin/env python3
"""Prints where the minutes of a gate went: parts, compiling and linking, what tests started, the slowest tests.

usage: gate_report.py FOLDER
FOLDER holds what .ci/run and the tests wrote: began, parts.tsv, link-times, tally, junit.xml.
"""

import sys
import time
import xml.etree.ElementTree as xml
from collections import Counter
from pathlib import Path

SLOWEST = 20


def lines(path):
    return path.read_text().splitlines() if path.exists() else []


def parts(folder):
    print("=== minutes")
    for line in lines(folder / "parts.tsv"):
        name, seconds = line.split("\t")
        print(f"{name:<14} {float(seconds) / 60:6.1f}")
    # Parts may run beside each other: all is what a clock on the wall says.
    for began in lines(folder / "began"):
        print(f"{'all':<14} {(time.time() - float(began)) / 60:6.1f}")


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
    seconds = sum(took for took, _ in cases)
    print(f"=== {len(cases)} tests, {seconds / 60:.1f} minutes of tests one after another; the slowest")
    for took, name in cases[:SLOWEST]:
        print(f"{took:8.1f} s  {name}")


def main():
    folder = Path(sys.argv[1])
    slowest(folder)
    started(folder)
    linking(folder)
    parts(folder)


if __name__ == "__main__":
    main()
