"""Signatures of packages: what was signed verifies, and what was changed or renamed after it does not."""

import pathlib
import shutil
import subprocess
import tempfile
import unittest

SIGN = pathlib.Path(__file__).resolve().parent.parent / "sign"


def sign(*words):
    return subprocess.run([SIGN, *map(str, words)], capture_output=True, text=True, check=False)


@unittest.skipUnless(shutil.which("minisign"), "minisign is not installed: just setup")
class Sign(unittest.TestCase):
    def setUp(self):
        place = tempfile.TemporaryDirectory()
        self.addCleanup(place.cleanup)
        self.root = pathlib.Path(place.name)
        self.key, self.public = self.root / "test.key", self.root / "test.pub"
        made = ["minisign", "-G", "-W", "-p", self.public, "-s", self.key]
        subprocess.run(made, check=True, capture_output=True, stdin=subprocess.DEVNULL)
        self.folder = self.root / "package"
        self.folder.mkdir()
        (self.folder / "trunkline.deb").write_text("a package")
        (self.folder / "SHA256SUMS").write_text("sums")

    def test_what_was_signed_verifies(self):
        signed = sign(self.key, self.folder)
        self.assertEqual(signed.returncode, 0, signed.stderr)
        self.assertTrue((self.folder / "trunkline.deb.minisig").exists())
        again = sign("--verify", self.public, self.folder)
        self.assertEqual(again.returncode, 0, again.stderr)
        self.assertIn("2 files", again.stdout)

    def test_a_changed_file_does_not_verify(self):
        sign(self.key, self.folder)
        (self.folder / "trunkline.deb").write_text("another package")
        self.assertNotEqual(sign("--verify", self.public, self.folder).returncode, 0)

    def test_a_signature_of_another_file_does_not_verify(self):
        sign(self.key, self.folder)
        for end in ("", ".minisig"):
            (self.folder / f"trunkline.deb{end}").rename(self.folder / f"other.deb{end}")
        checked = sign("--verify", self.public, self.folder)
        self.assertIn("signature of another file", checked.stderr)

    def test_an_empty_folder_is_an_error(self):
        empty = self.root / "empty"
        empty.mkdir()
        self.assertNotEqual(sign(self.key, empty).returncode, 0)


if __name__ == "__main__":
    unittest.main()
