#!/usr/bin/env python3
"""Checks statements and receipts of a Trunkline gateway, offline: verify.py [--keys KEYS.json] FILE...

Needs Python 3.9 and the package `cryptography`. KEYS.json is the gateway's /.well-known/trunkline-keys.json; without
it every key may sign, and those that did are printed. What is hashed: docs/guide/receipts.md. Exits 1 if a file is wrong.
"""
import hashlib, json, re, sys
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

MAX_FINDINGS, MAX_LINE = 100, 1_048_576
SIGNED = re.compile(rb"([DE]) ([0-9a-f]{64}) ([0-9a-f]{128}) (.*)", re.DOTALL)
TEXT = re.compile(rb"L ([0-9a-f]{64}) (.*)", re.DOTALL)
PATH = re.compile(rb"P((?: [0-9a-f]{64})*)")
FACTS = re.compile(rb'\{"n":([0-9]{1,18})(?=,).*,"paid_nanos":(-?[0-9]{1,18}),"trial_nanos":(-?[0-9]{1,18})\}', re.DOTALL)

class Stop(Exception): """A finding behind which nothing can be checked."""

def sha256(data):
    return hashlib.sha256(data).digest()

def root_of_path(root, index, count, path):  # RFC 9162, 2.1.3.2
    last = count - 1
    for beside in path:
        if last == 0:
            return None
        if index % 2 or index == last:
            root = sha256(b"\x01" + beside + root)
            while index and index % 2 == 0:
                index, last = index // 2, last // 2
        else:
            root = sha256(b"\x01" + root + beside)
        index, last = index // 2, last // 2
    return root if last == 0 else None

class Check:
    def __init__(self, file, trusted):
        self.file, self.trusted, self.number, self.findings, self.keys = file, trusted, 0, [], []
        self.account = self.head = self.day = None
        self.days = self.lines = self.paid = self.trial = 0

    def need(self, fine):
        if not fine:
            raise Stop(f"malformed: line {self.number} of the file")
        return fine

    def next(self):
        line = self.file.readline(MAX_LINE)
        self.number += 1
        self.need(not line or line.endswith(b"\n"))
        return line[:-1] if line else None

    def parse(self, pattern, line):
        return self.need(pattern.fullmatch(line or b""))

    def signed(self, line):
        kind, key, signature, record = self.parse(SIGNED, line).groups()
        if self.trusted is not None and key.decode() not in self.trusted:
            raise Stop(f"unknown key: line {self.number} of the file")
        try:
            Ed25519PublicKey.from_public_bytes(bytes.fromhex(key.decode())).verify(bytes.fromhex(signature.decode()), record)
        except (InvalidSignature, ValueError):
            raise Stop(f"wrong signature: line {self.number} of the file") from None
        read = json.loads(record)
        kinds = {b"D": "trunkline-root-v1", b"E": "trunkline-statement-v1"}
        self.need((read["type"], read["key"]) == (kinds[kind], key.decode()))
        self.keys += [] if read["key"] in self.keys else [read["key"]]
        self.close_day()
        return kind, record, read

    def close_day(self):
        day, self.day = self.day, None
        if day and self.expected < self.end:
            self.findings.append(f"missing lines: {self.expected} to {self.end - 1}")
        elif day and self.clean:
            root = self.subtrees.pop()[1] if self.subtrees else b""
            while self.subtrees:
                root = sha256(b"\x01" + self.subtrees.pop()[1] + root)
            self.findings += [] if root.hex() == day["root"] else [f"changed day: {day['day']}"]

    def text(self, line):
        stated, text = self.parse(TEXT, line if self.day else b"").groups()
        root, size, expected = sha256(b"\x00" + text), 1, self.expected
        same = root.hex().encode() == stated
        n, paid, trial = map(int, self.parse(FACTS, text).groups()) if same else (expected, 0, 0)
        while self.subtrees and self.subtrees[-1][0] == size:
            size, root = size * 2, sha256(b"\x01" + self.subtrees.pop()[1] + root)
        self.subtrees.append((size, root))
        found = (f"added line: {n}" if n >= self.end else f"misplaced line: {n}" if n < expected
                 else f"changed line: {n}" if not same
                 else f"missing lines: {expected} to {n - 1}" if n > expected else None)
        self.findings, self.clean = self.findings + [found] * bool(found), self.clean and not found
        self.expected = max(expected, n + 1) if n < self.end else expected
        self.lines, self.paid, self.trial = self.lines + 1, self.paid + paid, self.trial + trial

    def statement(self):
        while len(self.findings) < MAX_FINDINGS:
            line = self.next()
            if line is None:
                self.close_day()
                raise Stop("missing end")
            if line[:1] not in (b"D", b"E"):
                self.text(line)
                continue
            kind, record, read = self.signed(line)
            if kind == b"D":
                if self.days and (self.account, self.head, self.end) != (read["account"], read["previous"], read["first"]):
                    self.findings.append(f"missing days: before {read['day']}")
                self.account, self.head, self.day, self.days = read["account"], sha256(record).hex(), read, self.days + 1
                self.expected, self.end, self.subtrees, self.clean = read["first"], read["first"] + read["lines"], [], True
                continue
            real = (self.account, self.days, self.lines, self.head) if self.days else (read["account"], 0, 0, read["head"])
            if real != (read["account"], read["days"], read["lines"], read["head"]):
                self.findings.append("wrong end")
            self.need(self.next() is None)
            return f"statement of account {read['account']}, {read['from']} to {read['to']}"

    def receipt(self):
        kind, record, day = self.signed(self.next())
        self.need(kind == b"D")
        path = [bytes.fromhex(one.decode()) for one in self.parse(PATH, self.next())[1].split()]
        stated, text = self.parse(TEXT, self.next()).groups()
        n, self.paid, self.trial = map(int, self.parse(FACTS, text).groups())
        self.need(self.next() is None)
        leaf, index, self.days, self.lines = sha256(b"\x00" + text), n - day["first"], 1, 1
        root = root_of_path(leaf, index, day["lines"], path) if 0 <= index < day["lines"] else None
        if leaf.hex().encode() != stated or root is None or root.hex() != day["root"]:
            raise Stop("changed receipt")
        return f"receipt of account {day['account']}, {day['day']} to {day['day']}"

def check(name, trusted):
    with open(name, "rb") as file:
        this, what = Check(file, trusted), ""
        try:
            kinds = {b"trunkline-statement-v1": this.statement, b"trunkline-receipt-v1": this.receipt}
            what = kinds.get(this.next(), lambda: this.need(False))()
        except Stop as stop:
            this.findings.append(str(stop))
    for finding in this.findings[:MAX_FINDINGS]:
        print(f"{name}: {finding}")
    if not this.findings:
        sums = f"days {this.days}, lines {this.lines}, paid {this.paid}, trial {this.trial} nano-dollars"
        print(f"{name}: ok: {what}: {sums}", *(f"{name}: signed by {key}" for key in this.keys), sep="\n")
    return not this.findings

if __name__ == "__main__":
    names, trusted = sys.argv[1:], None
    if names[:1] == ["--keys"]:
        trusted, names = [key["public_key"] for key in json.load(open(names[1]))["keys"]], names[2:]
    sys.exit(not all([check(name, trusted) for name in names]))
