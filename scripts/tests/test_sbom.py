"""The bill of materials, of a small tree."""

import importlib.machinery
import importlib.util
import pathlib
import sys
import unittest

sys.dont_write_bytecode = True
SCRIPT = str(pathlib.Path(__file__).resolve().parent.parent / "sbom")
LOADER = importlib.machinery.SourceFileLoader("sbom", SCRIPT)
sbom = importlib.util.module_from_spec(importlib.util.spec_from_loader("sbom", LOADER))
LOADER.exec_module(sbom)

LOCK = '[[package]]\nname = "linked"\nversion = "1.0.0"\nchecksum = "ab"\n\n[[package]]\nname = "tested"\nversion = "2.0.0"\n'


def package(name, version):
    return {"id": name, "name": name, "version": version, "license": "MIT/Apache-2.0"}


def edge(name, kind):
    return {"pkg": name, "dep_kinds": [{"kind": kind}]}


FACTS = {
    "packages": [package("trunkline-app", "0.1.0"), package("linked", "1.0.0"), package("tested", "2.0.0")],
    "resolve": {
        "nodes": [
            {"id": "trunkline-app", "deps": [edge("linked", None), edge("tested", "dev")]},
            {"id": "linked", "deps": []},
            {"id": "tested", "deps": []},
        ]
    },
}


class Bom(unittest.TestCase):
    def test_what_tests_alone_need_is_not_in_it(self):
        made = sbom.bom(FACTS, LOCK)
        self.assertEqual([part["name"] for part in made["components"]], ["linked"])
        part = made["components"][0]
        self.assertEqual(part["hashes"], [{"alg": "SHA-256", "content": "ab"}])
        self.assertEqual(part["licenses"], [{"expression": "MIT OR Apache-2.0"}])
        self.assertEqual(made["metadata"]["component"]["name"], "trunkline")

    def test_the_same_tree_gives_the_same_bill(self):
        self.assertEqual(sbom.bom(FACTS, LOCK), sbom.bom(FACTS, LOCK))


if __name__ == "__main__":
    unittest.main()
