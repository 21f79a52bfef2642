"""Changelog fragments and what becomes of them."""

import importlib.machinery
import importlib.util
import pathlib
import sys
import tempfile
import unittest

sys.dont_write_bytecode = True
SCRIPT = str(pathlib.Path(__file__).resolve().parent.parent / "changelog")
LOADER = importlib.machinery.SourceFileLoader("changelog", SCRIPT)
changelog = importlib.util.module_from_spec(importlib.util.spec_from_loader("changelog", LOADER))
LOADER.exec_module(changelog)


class Fragments(unittest.TestCase):
    def written(self, **files):
        with tempfile.TemporaryDirectory() as folder:
            for name, text in files.items():
                (pathlib.Path(folder) / name.replace("__", ".")).write_text(text)
            return changelog.fragments(pathlib.Path(folder))

    def test_a_fragment_with_another_kind_or_a_heading_is_refused(self):
        _, wrong = self.written(a__novel__md="x", b__added__md="# x", c__added__md="", README__md="# about")
        self.assertEqual(len(wrong), 3, wrong)

    def test_fragments_are_put_below_the_version_by_kind(self):
        texts, wrong = self.written(z__fixed__md="- one\n  line", a__breaking__md="two", m__added__md="three")
        self.assertEqual(wrong, [])
        text = changelog.released("# Changelog\n\n## [Unreleased]\n\n### Added\n\n- old\n", "0.2.0", "2027-01-31", texts)
        order = ["## [Unreleased]", "## [0.2.0] - 2027-01-31", "- two", "- three", "- one line", "- old"]
        places = [text.index(part) for part in order]
        self.assertEqual(places, sorted(places), text)

    def test_those_of_this_tree_are_well_formed(self):
        _, wrong = changelog.fragments(pathlib.Path(SCRIPT).parent.parent / "changelog")
        self.assertEqual(wrong, [])


if __name__ == "__main__":
    unittest.main()
