"""A fresh `trunkline dev` and a client of it, for the attacks beside this file."""

import decimal
import http.client
import json
import os
import subprocess
import threading
import time
import urllib.parse


def nanos(usd):
    """An amount in USD as nano-dollars, exactly."""
    return int(decimal.Decimal(usd) * 1_000_000_000)


class Dev:
    """One process of `trunkline dev --ephemeral`: its own database, its own simulator, no vendor."""

    def __init__(self, binary, nofile=None):
        limit = ["prlimit", f"--nofile={nofile}"] if nofile else []
        self.binary = binary
        self.process = subprocess.Popen(
            [*limit, binary, "dev", "--ephemeral", "--simulated", "--json"],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        line = self.process.stdout.readline()
        if not line:
            raise RuntimeError("trunkline dev did not start")
        self.facts = json.loads(line)
        self.key = self.facts["key"]
        self.address = urllib.parse.urlsplit(self.facts["base_url"])
        # The access log must not fill its pipe.
        threading.Thread(target=self._drain, daemon=True).start()

    def _drain(self):
        for _ in self.process.stdout:
            pass

    def stop(self):
        self.process.terminate()
        try:
            self.process.wait(30)
        except subprocess.TimeoutExpired:
            self.process.kill()

    def cli(self, *words):
        """A command of the operator on this database; its JSON."""
        environment = dict(os.environ, TRUNKLINE__DATABASE__URL=self.facts["database_url"])
        done = subprocess.run(
            [self.binary, *words, "--json"], env=environment, capture_output=True, text=True, check=False
        )
        if done.returncode:
            raise RuntimeError(f"{' '.join(words)}: {done.stderr or done.stdout}")
        return json.loads(done.stdout.splitlines()[0])

    def connect(self, timeout=60):
        return http.client.HTTPConnection(self.address.hostname, self.address.port, timeout=timeout)

    def call(self, method, path, body=None, key=None, headers=None, timeout=60):
        """One request; its status, its headers by lower-case name, and its JSON or bytes."""
        connection = self.connect(timeout)
        try:
            sent = {"authorization": f"Bearer {key or self.key}", **(headers or {})}
            data = None
            if body is not None:
                data = json.dumps(body).encode()
                sent.setdefault("content-type", "application/json")
            connection.request(method, path, data, sent)
            response = connection.getresponse()
            content = response.read()
            names = {name.lower(): value for name, value in response.getheaders()}
            try:
                return response.status, names, json.loads(content)
            except ValueError:
                return response.status, names, content
        finally:
            connection.close()

    def chat(self, text, model="sim-fast", key=None, headers=None, **fields):
        body = {"model": model, "messages": [{"role": "user", "content": text}], **fields}
        return self.call("POST", "/v1/chat/completions", body, key, headers)

    def sub_key(self, **policy):
        status, _, made = self.call("POST", "/v1/keys", {"name": "attack", **policy})
        assert status == 201, made
        return made["key"]

    def customer(self, usd):
        """A key of a new account with so much in its wallet."""
        account = str(self.cli("account", "create", "--name", "Attacker")["account"]["id"])
        self.cli("topup", account, usd)
        key = self.cli("key", "create", account, "--name", "attack")["key"]
        for _ in range(50):
            if self.call("GET", "/v1/balance", key=key)[0] == 200:
                return key
            time.sleep(0.1)
        raise RuntimeError("the new key does not work")

    def free(self, key):
        """What the wallet of a key has left, in nano-dollars, once no call holds any of it."""
        for _ in range(100):
            balance = self.call("GET", "/v1/balance", key=key)[2]
            if nanos(balance["reserved_usd"]) == 0:
                break
            time.sleep(0.1)
        return nanos(balance["paid_usd"])

    def served(self):
        """What the simulator received, oldest first."""
        host = urllib.parse.urlsplit(self.facts["simulator_url"])
        connection = http.client.HTTPConnection(host.hostname, host.port, timeout=10)
        connection.request("GET", "/_simulator/requests?limit=1000")
        page = json.loads(connection.getresponse().read())
        connection.close()
        return page["requests"]

    def usage(self, request_id, key=None):
        return self.call("GET", f"/v1/usage/{request_id}", key=key)[2]

    def gauge(self, name):
        """The sum of a metric over its labels."""
        with_port = urllib.parse.urlsplit(self.facts["admin_url"])
        connection = http.client.HTTPConnection(with_port.hostname, with_port.port, timeout=10)
        connection.request("GET", "/metrics")
        lines = connection.getresponse().read().decode().splitlines()
        connection.close()
        found = [line for line in lines if line.split("{")[0].split(" ")[0] == name]
        return sum(float(line.rsplit(" ", 1)[1]) for line in found)

    def resident(self):
        """The resident memory of the process, in MB."""
        pid = self.process.pid
        with open(f"/proc/{pid}/status", encoding="ascii") as status:
            for line in status:
                if line.startswith("VmRSS"):
                    return int(line.split()[1]) / 1024
        return 0.0
