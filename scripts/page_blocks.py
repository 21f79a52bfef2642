#!/usr/bin/env python3
"""Runs the `sh` blocks of a page one after another, as a reader would: page_blocks.py PAGE [--skip START]... [--replace A=B]...

A block runs in bash and must exit 0; what it exports the next one has. A block marked `output` is what the block before
it printed, `…` standing for anything. A key of the gateway that a block leaves out (`sk-tl-…`) is the one that was
printed last. Blocks that begin with a START are not run; every START must be used. It needs nothing but Python, because
it also runs in a bare Debian.
"""

import argparse
import pathlib
import re
import subprocess
import sys
import tempfile
import time

PATIENCE_SECONDS = 900
FENCE = re.compile(r"^```([^\n]*)\n(.*?)^```$", re.M | re.S)
KEY = re.compile(r"sk-tl-\w+")


def matches(wanted, printed):
    """Whether a text is what a page shows of it."""
    pattern = ".*?".join(re.escape(part) for part in wanted.strip().split("…"))
    return re.fullmatch(pattern, printed.replace("\r", "").strip(), re.S) is not None


def run(text, state):
    script = f'set -euo pipefail\n[ ! -e "{state}" ] || . "{state}"\n{text}\nexport -p > "{state}"\n'
    done = subprocess.run(
        ["bash", "-c", script], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        text=True, timeout=PATIENCE_SECONDS, check=False,
    )
    return done.returncode, done.stdout, done.stderr


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("page", type=pathlib.Path)
    parser.add_argument("--skip", action="append", default=[], metavar="START")
    parser.add_argument("--replace", action="append", default=[], metavar="A=B")
    options = parser.parse_args()
    text = options.page.read_text()
    for pair in options.replace:
        before, after = pair.split("=", 1)
        text = text.replace(before, after)
    unused, printed, key, ran, began = set(options.skip), None, None, 0, time.monotonic()
    with tempfile.TemporaryDirectory(prefix="page-") as folder:
        state = pathlib.Path(folder) / "state"
        for found in FENCE.finditer(text):
            words, block = found[1].split(), found[2]
            line = text.count("\n", 0, found.start()) + 1
            if words[1:] == ["output"]:
                if printed is not None and not matches(block, printed):
                    sys.exit(f"{options.page} line {line}: it printed\n{printed}\nand not\n{block}")
                continue
            if words != ["sh"]:
                sys.exit(f"{options.page} line {line}: {words} is not run here")
            start = next((start for start in options.skip if block.startswith(start)), None)
            if start is not None:
                unused.discard(start)
                printed = None
                continue
            if "sk-tl-…" in block:
                if key is None:
                    sys.exit(f"{options.page} line {line}: no key was printed yet")
                block = block.replace("sk-tl-…", key)
            at = time.monotonic()
            code, printed, complained = run(block, state)
            if code:
                sys.exit(f"{options.page} line {line}: exit {code}\n{block}\n{printed}\n{complained}")
            key = (KEY.findall(printed) or [key])[0]
            ran += 1
            print(f"line {line}: {time.monotonic() - at:.1f} s: {block.strip().splitlines()[0]}", flush=True)
    if unused:
        sys.exit(f"{options.page} has no block that begins with {sorted(unused)}")
    print(f"{ran} blocks in {time.monotonic() - began:.1f} s", flush=True)


main()
