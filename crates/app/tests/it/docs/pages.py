"""Runs every block of every page of the documentation, as a reader would, against a running installation.

Called by the test beside it: pages.py FACTS GROUP..., where FACTS is JSON: what `trunkline dev --json` printed, and
where programs are. What a language means here:

  sh           runs in bash and must exit 0; the blocks of a page share a folder, a home and their variables
  python, js   run with the vendors' libraries
  toml         is a configuration that `trunkline config check` takes; `toml catalog` goes through `catalog lint`,
               `toml provider` is a provider's file
  ini          is a unit that `systemd-analyze verify` takes
  sql          is run by the database's superuser, and undone
  nginx        is kept for the test with the real nginx, and looked at by `nginx -t` here
  json         is JSON
  text         is only read
  ... output   is what the block before it printed; `…` stands for anything

Everything else fails, and so does a block that is not run without a reason in SKIPPED.
"""

import json
import os
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from pathlib import Path

import operator_pages

FACTS = json.loads(sys.argv[1])
GROUPS = sys.argv[2:]
BASE_URL = FACTS["base_url"]
DASH_URL = FACTS["dash_url"]
TRUNKLINE = FACTS["trunkline"]
SDK = Path(FACTS["sdk"])
CLIENTS = Path(FACTS["clients"])
SCRIPTS = Path(FACTS["scripts"])
PATIENCE = 300
# Where a page shows a key that is not known.
KEY_PLACE = "sk-tl-…"

# Blocks that are not run, by page and first word, each with its reason. One that is not there any more fails.
SKIPPED = {
    ("backup", "cp -p /etc/trunkline"): "the keyring of a machine that this one is not",
    ("backup", "sudo -u postgres psql --file=roles.sql"): "needs an empty cluster; the dump of single-server is the same",
    ("backup", "trunkline restore check"): "needs the keyring of that machine; a test of the app runs it with one",
    ("mail", "trunkline emails"): "needs the running server's keyring; tests of the app run it with one",
    ("open-webui", "docker run"): "an image of 4 GB; the calls it makes are run by the page's last block",
    ("open-webui", "docker rm"): "nothing was started",
    ("n8n", "docker run"): "an image of 1 GB; the calls it makes are run by the page's last block",
    ("n8n", "docker rm"): "nothing was started",
    ("single-server", "sudo apt-get"): "changes this machine; `just setup` installs the same packages",
    ("single-server", "sudo systemctl daemon-reload"): "changes this machine; the unit is looked at by systemd-analyze",
    ("single-server", "sudo nginx"): "the configuration is run by the real nginx in a test of its own",
    ("single-server", "sudo systemctl reload trunkline"): "nothing was started by systemd",
    ("single-server", "sudo systemctl disable"): "changes this machine",
}
used = set()


class Wrong(Exception):
    """A block did not do what its page says."""


def fetch(url, reader=urllib.request.build_opener()):
    with reader.open(url, timeout=30) as answer:
        return answer.read().decode()


def pages():
    """The pages of the groups, by name."""
    found, group = [], None
    reader = operator_pages.opener(FACTS) if "Operate" in GROUPS else urllib.request.build_opener()
    for line in fetch(f"{DASH_URL}/llms.txt", reader).splitlines():
        if line.startswith("## "):
            group = line[3:]
        link = re.match(r"- \[.*?\]\((.*?/docs/([\w-]+)\.md)\): ", line)
        if link and group in GROUPS:
            found.append((link[2], fetch(link[1], reader)))
    return found


def blocks(text):
    """The fenced blocks: their words, what is in them, and on which line they begin."""
    fence = re.compile(r"^```([^\n]*)\n(.*?)^```$", re.M | re.S)
    for found in fence.finditer(text):
        words = found[1].split()
        yield words, found[2], text.count("\n", 0, found.start()) + 1


def trunkline(*words, database):
    """The command line's answer, as an operator of this database gets it."""
    environment = {"PATH": os.environ["PATH"], "TRUNKLINE__DATABASE__URL": database}
    command = [TRUNKLINE, *words, "--json", "--config", "/dev/null"]
    ran = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=PATIENCE)
    if ran.returncode:
        raise Wrong(f"{command}: {ran.stdout}{ran.stderr}")
    return json.loads(ran.stdout)


def customer():
    """A key of an account of its own, with money."""
    database = FACTS["database_url"]
    account = str(trunkline("account", "create", "--name", "Reader", database=database)["account"]["id"])
    trunkline("topup", account, "20", database=database)
    key = trunkline("key", "create", account, "--name", "docs", database=database)["key"]
    # Nodes hear of a key within a second or two.
    ends = time.monotonic() + 60
    asked = urllib.request.Request(f"{BASE_URL}/v1/key", headers={"authorization": f"Bearer {key}"})
    while True:
        try:
            urllib.request.urlopen(asked, timeout=30).close()
            return key
        except urllib.error.HTTPError as error:
            if error.code != 401 or time.monotonic() > ends:
                raise
            time.sleep(0.1)


def free_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


class Server:
    """A PostgreSQL as a Debian machine has it after `apt-get install`: the user postgres, and nothing else."""

    def __init__(self, folder):
        programs = max(Path("/usr/lib/postgresql").glob("*/bin"), key=lambda path: int(path.parent.name))
        self.folder = Path(folder) / "postgres"
        self.folder.mkdir()
        self.port = free_port()
        self.prefix = []
        if os.getuid() == 0:
            shutil.chown(self.folder, "postgres", "postgres")
            Path(folder).chmod(0o755)
            self.prefix = ["setpriv", "--reuid=postgres", "--regid=postgres", "--init-groups"]
        data = self.folder / "data"
        self.run(programs / "initdb", "-D", data, "--username=postgres", "--auth=trust", "-E", "UTF8", "--locale=C")
        log = open(self.folder.parent / "postgres.log", "wb")
        listens = ["-c", "listen_addresses=", "-c", f"unix_socket_directories={self.folder}", "-c", "fsync=off"]
        command = [*self.prefix, programs / "postgres", "-D", data, "-p", str(self.port), *listens]
        self.process = subprocess.Popen(command, cwd=self.folder, stdout=log, stderr=log)
        ends = time.monotonic() + 60
        ask = ["pg_isready", "-h", str(self.folder), "-p", str(self.port), "-q"]
        while subprocess.run(ask, check=False).returncode:
            if time.monotonic() > ends:
                raise Wrong("PostgreSQL did not start")
            time.sleep(0.1)

    def run(self, *command):
        words = [str(word) for word in (*self.prefix, *command)]
        subprocess.run(words, cwd=self.folder, check=True, capture_output=True, timeout=PATIENCE)

    def address(self, database):
        return f"postgres://trunkline@localhost/{database}?host={self.folder}&port={self.port}"

    def psql(self, text, user="postgres", database="postgres"):
        at = ["-h", str(self.folder), "-p", str(self.port), "-U", user, "-d", database]
        command = ["psql", *at, "-qv", "ON_ERROR_STOP=1", "-c", text]
        subprocess.run(command, check=True, capture_output=True, timeout=PATIENCE)

    def stop(self):
        self.process.terminate()
        self.process.wait(timeout=60)


SHIM_NPM = """#!/usr/bin/env bash
# `npm install` of what is installed already: the package must be one of the pinned ones, and its program is then there.
set -euo pipefail
action=$1; shift
where=local
[ "$1" = -g ] && { where=global; shift; }
for package in "$@"; do
  if [ $where = global ]; then
    case $package in
      @anthropic-ai/claude-code) program=claude ;;
      @openai/codex) program=codex ;;
      @google/gemini-cli) program=gemini ;;
      opencode-ai) program=opencode ;;
      *) echo "$package is not pinned by scripts/clients" >&2; exit 1 ;;
    esac
    grep -q "\\"$package" "$PINNED/clients-package.json" || { echo "$package is not pinned" >&2; exit 1; }
    if [ "$action" = install ]; then ln -s "$CLIENTS_BIN/$program" "$PROGRAMS/$program"; else rm "$PROGRAMS/$program"; fi
  else
    found=""
    for modules in "$SDK_NODE/node_modules" "$CLIENTS_NPM/node_modules"; do
      [ -z "$found" ] && [ -d "$modules/$package" ] && found=$modules/$package
    done
    [ -n "$found" ] || { echo "$package is not installed by just setup" >&2; exit 1; }
    mkdir -p "node_modules/$(dirname "$package")"
    if [ "$action" = install ]; then ln -s "$found" "node_modules/$package"; else rm "node_modules/$package"; fi
  fi
done
"""

SHIM_PIP = """#!/usr/bin/env bash
# `pip install` of what is installed already; what all tests share is not taken away.
set -euo pipefail
action=$1; shift
for package in "$@"; do
  case $package in -y) continue ;; esac
  python -m pip --disable-pip-version-check show --quiet "$package"
done
[ "$action" = install ] || [ "$action" = uninstall ]
"""

SHIM_SUDO = """#!/usr/bin/env bash
# The user that runs the tests is root enough; `-u postgres` is the database's own superuser.
set -euo pipefail
if [ "$1" = -u ]; then export PGUSER=$2 PGDATABASE=postgres; shift 2; fi
exec "$@"
"""


class Reader:
    """A reader of one page who does what it says."""

    def __init__(self, page, folder, server):
        self.page, self.server = page, server
        self.folder = Path(folder)
        self.home, self.work, self.programs = (self.folder / name for name in ("home", "work", "bin"))
        for made in (self.home, self.work, self.programs):
            made.mkdir()
        for name, text in (("npm", SHIM_NPM), ("pip", SHIM_PIP), ("sudo", SHIM_SUDO)):
            path = self.programs / name
            path.write_text(text)
            path.chmod(0o755)
        (self.programs / "trunkline").symlink_to(TRUNKLINE)
        # Debian's Node for the libraries, the newer one for programs that need it.
        (self.programs / "node").symlink_to(CLIENTS / "bin/node")
        self.environment = {
            "PATH": f"{self.programs}:{SDK}/venv/bin:/usr/local/bin:/usr/bin:/bin:/usr/sbin",
            "HOME": str(self.home),
            "BASE_URL": BASE_URL,
            "DASH_URL": DASH_URL,
            "TRUNKLINE_KEY": customer(),
            "STATE": str(self.folder / "state"),
            "PINNED": str(SCRIPTS),
            "CLIENTS_BIN": str(CLIENTS / "bin"),
            "CLIENTS_NPM": str(CLIENTS / "npm"),
            "SDK_NODE": str(SDK / "node"),
            "PROGRAMS": str(self.programs),
            # A secret that a page's configuration names by its variable.
            "WORK_SECRET": "of-a-provider",
            "PYTHONDONTWRITEBYTECODE": "1",
            "NO_PROXY": "*",
            "TERM": "dumb",
            "LC_ALL": "C.UTF-8",
        }
        self.catalog = 0
        self.files = 0
        self.printed = None

    def own_database(self):
        """One for what the page does at the command line. The page about one server makes its own."""
        if self.server is None:
            raise Wrong("this page needs a database, and its group has none")
        name = "trunkline"
        if self.page != "single-server":
            name = self.page.replace("-", "_")
            self.server.psql("DO $$ BEGIN CREATE ROLE trunkline LOGIN CREATEROLE; EXCEPTION WHEN duplicate_object THEN END $$")
            self.server.psql(f"CREATE DATABASE {name} OWNER trunkline")
            trunkline("migrate", database=self.server.address(name))
            self.server.psql("GRANT trunkline_data, trunkline_console, trunkline_audit TO trunkline", database=name)
            trunkline("catalog", "import", "--starter", database=self.server.address(name))
        self.environment |= {
            "TRUNKLINE__DATABASE__URL": self.server.address(name),
            "TRUNKLINE__KEYRING__FILE": str(self.work / "trunkline.keyring.toml"),
            "PGHOST": str(self.server.folder),
            "PGPORT": str(self.server.port),
            "PGUSER": "trunkline",
        }

    def run(self, command, **more):
        ran = subprocess.run(
            command, cwd=self.work, env=self.environment, stdin=subprocess.DEVNULL, capture_output=True, text=True,
            timeout=PATIENCE, check=False, **more,
        )
        if ran.returncode:
            raise Wrong(f"exit {ran.returncode}\n{ran.stdout}\n{ran.stderr}")
        return ran.stdout

    def file(self, ending, text):
        self.files += 1
        path = self.folder / f"block{self.files}{ending}"
        path.write_text(text)
        return path

    def sh(self, text):
        if "trunkline " in text or "sudo -u postgres" in text:
            if "PGHOST" not in self.environment:
                self.own_database()
        # A reader writes their own key where the page leaves a place for it.
        text = text.replace(KEY_PLACE, self.environment["TRUNKLINE_KEY"])
        # What a block exports the next one has, as in a terminal.
        script = (
            'set -euo pipefail\n[ ! -e "$STATE" ] || . "$STATE"\n'
            f'{text}\nexport -p | grep -v "^declare -x \\(PATH\\|PWD\\|OLDPWD\\|SHLVL\\)" > "$STATE"\n'
        )
        self.printed = self.run(["bash", "-c", script])

    def python(self, text):
        self.printed = self.run(["python", str(self.file(".py", text))])

    def js(self, text):
        # Beside node_modules, where the language looks for what is imported.
        path = self.work / f"block{self.files}.mjs"
        self.files += 1
        path.write_text(text)
        self.printed = self.run(["node", str(path)])

    def toml(self, words, text):
        if "catalog" in words:
            folder = self.work / "catalog"
            folder.mkdir(exist_ok=True)
            name = "groups" if "auto_groups" in text else re.search(r"\[vendors\.(\w+)\]", text)[1]
            (folder / f"{name}.toml").write_text(text)
            if name != "groups":
                self.run(["trunkline", "catalog", "lint", str(folder), "--config", "/dev/null"])
            return
        if "provider" in words:
            folder = self.folder / "providers"
            folder.mkdir()
            name = re.search(r'^name = "(\w+)"', text, re.M)[1]
            (folder / f"{name}.toml").write_text(text)
            text = f'[providers]\nfolder = "{folder}"\n'
        path = self.work / "trunkline.toml"
        path.write_text(text)
        # A page shows what it is about; a database is somewhere.
        environment = self.environment
        if not re.search(r"^\[database\]$", text, re.M):
            self.environment = {"TRUNKLINE__DATABASE__URL": "postgres://reader@localhost/reader", **environment}
        try:
            said = self.run(["trunkline", "config", "check", "--json", "--config", str(path)])
        finally:
            self.environment = environment
        if "provider" in words and "mine" not in json.loads(said)["providers"]:
            raise Wrong("the provider is not among those there are")

    def ini(self, text):
        # The executable is where this test has it, and the user is one that exists.
        text = text.replace("/usr/local/bin/trunkline", TRUNKLINE).replace("User=trunkline", "User=daemon")
        path = self.folder / "trunkline.service"
        path.write_text(text)
        said = subprocess.run(["systemd-analyze", "verify", str(path)], capture_output=True, text=True, check=False)
        mine = [line for line in said.stderr.splitlines() if "trunkline.service" in line]
        if mine:
            raise Wrong("\n".join(mine))

    def sql(self, text):
        self.server.psql(f"BEGIN; {text} ROLLBACK;")

    def nginx(self, text):
        subprocess.run([sys.executable, str(Path(__file__).with_name("nginx.py")), "check", str(self.file(".conf", text))],
                       check=True, timeout=PATIENCE)

    def output(self, wanted):
        if self.printed is None:
            raise Wrong("there is nothing before it that prints")
        pattern = ".*?".join(re.escape(part) for part in wanted.strip().split("…"))
        # Headers end with a carriage return, which is invisible.
        printed = self.printed.replace("\r", "").strip()
        if not re.fullmatch(pattern, printed, re.S):
            raise Wrong(f"it printed\n{printed}\nand not\n{wanted}")

    def do(self, words, text):
        # A host of the reader's own; here it is one that exists.
        text = text.replace("https://n8n.example.com", DASH_URL)
        language = words[0] if words else ""
        if words[1:] == ["output"] and language in ("text", "json"):
            return self.output(text)
        for (page, start), _ in SKIPPED.items():
            if page == self.page and text.startswith(start):
                used.add((page, start))
                self.printed = None
                return None
        if language == "toml":
            return self.toml(words[1:], text)
        if len(words) > 1:
            raise Wrong(f"unknown words: {words}")
        if language in ("sh", "python", "js", "ini", "sql", "nginx"):
            return getattr(self, language)(text)
        if language == "json":
            json.loads(text)
            return None
        if language == "text":
            return None
        raise Wrong(f"unknown language {language!r}")


def main():
    wrong, count = [], 0
    read = pages()
    if not read:
        raise SystemExit(f"there are no pages of {GROUPS}")
    with tempfile.TemporaryDirectory(prefix="trunkline-docs-") as top:
        Path(top).chmod(0o755)
        server = Server(top) if FACTS["server"] else None
        try:
            for page, text in read:
                folder = Path(top) / page
                folder.mkdir()
                reader = Reader(page, folder, server)
                began = time.monotonic()
                for words, block, line in blocks(text):
                    count += 1
                    try:
                        reader.do(words, block)
                    except (Wrong, subprocess.SubprocessError, ValueError, OSError, TypeError) as error:
                        wrong.append(f"{page}.md line {line}: {' '.join(words)}\n{block}\n--> {error}")
                        break
                print(f"{page}: {time.monotonic() - began:.1f} s", flush=True)
        finally:
            if server:
                server.stop()
    names = {page for page, _ in read}
    for page, start in sorted(set(SKIPPED) - used):
        if page in names:
            wrong.append(f"{page}.md has no block that begins with {start!r} any more: take it out of SKIPPED")
    if wrong:
        raise SystemExit("\n\n".join(wrong))
    print(f"{len(read)} pages, {count} blocks")


main()
