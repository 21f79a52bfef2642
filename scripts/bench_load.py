"""One run of the harness's load generator, and what a tree of processes takes: CPU and memory."""

import datetime
import json
import os
import subprocess
import time
import urllib.request
from pathlib import Path

from bench_parts import OTHER_CORE

# The longest run of the load generator, and what it may take beyond that for calls without an answer.
LONGEST_SECONDS, PATIENCE_SECONDS = 120, 60


def load(programs, target, **wish):
    """Starts one run of the load generator against a target."""
    stream = wish.get("stream")
    address = target.get("sse_addr", target["addr"]) if stream else target["addr"]
    words = {"addr": address, "key": target.get("key", "sk-bench"), **wish}
    words.update({name: target[name] for name in ("path", "model") if name in target})
    command = ["taskset", "-c", OTHER_CORE, str(programs / "load_any"), *(f"{name}={value}" for name, value in words.items())]
    command += [f"h={header}" for header in target.get("headers", [])]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)


def result(process):
    said, _ = process.communicate(timeout=LONGEST_SECONDS + PATIENCE_SECONDS)
    return json.loads(said.strip().splitlines()[-1])


def pace(mock, micros):
    """Events of the mock's streams are so far apart from now on."""
    urllib.request.urlopen(f"http://{mock}/ctl?delay_us={micros}", timeout=5).read()


def processes():
    """Every process by its number: its parent, and the seconds of CPU of itself and of its children that have ended."""
    found, tick = {}, os.sysconf("SC_CLK_TCK")
    for place in Path("/proc").glob("[0-9]*/stat"):
        try:
            words = place.read_text().rsplit(")", 1)[1].split()
        except OSError:
            continue
        found[int(place.parent.name)] = (int(words[1]), sum(map(int, words[11:15])) / tick)
    return found


def tree(pid, everything):
    """A process and all that descend from it."""
    kids = {}
    for one, (parent, _) in everything.items():
        kids.setdefault(parent, []).append(one)
    found, open_ = [], [pid]
    while open_:
        one = open_.pop()
        found.append(one)
        open_ += kids.get(one, [])
    return found


def cpu_seconds(pid):
    """Processor time of a process tree so far."""
    everything = processes()
    return sum(everything[one][1] for one in tree(pid, everything) if one in everything)


def resident(pid):
    """Proportional set size of a process tree, in MB."""
    sums = 0
    for one in tree(pid, processes()):
        try:
            lines = Path(f"/proc/{one}/smaps_rollup").read_text().splitlines()
        except OSError:
            continue
        sums += sum(int(line.split()[1]) for line in lines if line.startswith("Pss:"))
    return sums / 1024


def idle_cpu(pids, seconds):
    """CPU of each tree while no client calls, in milliseconds a second, all of them at once."""
    before = [cpu_seconds(pid) for pid in pids]
    time.sleep(seconds)
    return [1e3 * (cpu_seconds(pid) - first) / seconds for pid, first in zip(pids, before)]


def place(repository, trunkline):
    """When, of which commit and profile, and on what machine a run was made."""
    told = Path("/proc/cpuinfo").read_text().splitlines()
    processor = next((line.split(":", 1)[1].strip() for line in told if line.startswith("model name")), "processor of unknown name")
    memory = int(Path("/proc/meminfo").read_text().split()[1]) / 1024 / 1024
    commit = subprocess.run(["git", "rev-parse", "--short=12", "HEAD"], cwd=repository, capture_output=True, text=True).stdout.strip()
    return {"date": datetime.date.today().isoformat(), "commit": commit, "profile": trunkline.resolve().parent.name,
            "machine": {"cores": os.cpu_count(), "processor": processor, "memory_gb": round(memory), "load": round(os.getloadavg()[0], 2)}}
