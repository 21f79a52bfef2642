"""`just redteam`: every attack that once worked, against a fresh `trunkline dev`; prints held or broken."""

import concurrent.futures
import sys
import time

import account
import edge
import money
import upstream
from dev import Dev


def run(dev, attacks):
    """Runs attacks on one process; how many broke through."""
    broken = 0
    for finding, attack in attacks:
        began = time.monotonic()
        try:
            held, detail = attack(dev)
        except Exception as error:  # noqa: BLE001  an attack that cannot run has proved nothing
            held, detail = False, f"could not run: {error!r}"
        word = "held  " if held else "BROKEN"
        print(f"{word} {finding} {attack.__name__}: {detail} ({time.monotonic() - began:.1f} s)", flush=True)
        broken += not held
    return broken


def main(binary):
    broken = 0
    dev = Dev(binary)
    try:
        groups = [money.ATTACKS, upstream.ATTACKS, account.ATTACKS, edge.ATTACKS]
        waiting = [account.WAITING, edge.WAITING]
        with concurrent.futures.ThreadPoolExecutor(len(waiting)) as pool:
            later = [pool.submit(run, dev, attacks) for attacks in waiting]
            broken += run(dev, [attack for group in groups for attack in group])
            broken += sum(done.result() for done in later)
        violations = dev.cli("audit")["violations"]
        print(f"audit: {len(violations)} violations")
        broken += bool(violations)
    finally:
        dev.stop()
    starved = Dev(binary, nofile=400)
    try:
        broken += run(starved, edge.STARVED)
    finally:
        starved.stop()
    print(f"redteam: {'all attacks held' if not broken else f'{broken} broken'}")
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
