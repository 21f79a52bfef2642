"""Reads pictures without a library: the size of any, and every pixel of a PNG with a palette."""

import struct
import zlib


def seen(file):
    """Kind, width and height as the file itself tells them."""
    if file.startswith(b"\x89PNG\r\n\x1a\n"):
        assert file[12:16] == b"IHDR"
        return ("png", *struct.unpack(">II", file[16:24]))
    assert file.startswith(b"\xff\xd8") and file.endswith(b"\xff\xd9"), file[:16]
    at = 2
    while True:
        assert file[at] == 0xFF, at
        mark, length = file[at + 1], struct.unpack(">H", file[at + 2 : at + 4])[0]
        if mark == 0xC0:
            height, width = struct.unpack(">HH", file[at + 5 : at + 9])
            return ("jpeg", width, height)
        at += 2 + length


def painted(file):
    """Width, height and the colour of every pixel of a PNG, with every sum checked."""
    at, packed = 8, b""
    while at < len(file):
        length, name = struct.unpack(">I4s", file[at : at + 8])
        inside = file[at + 8 : at + 8 + length]
        (told,) = struct.unpack(">I", file[at + 8 + length : at + 12 + length])
        assert zlib.crc32(name + inside) == told, name
        if name == b"IHDR":
            width, height, *kind = struct.unpack(">IIBBBBB", inside)
            assert kind == [8, 3, 0, 0, 0], kind
        elif name == b"PLTE":
            assert length == 3 * 256
        elif name == b"IDAT":
            packed += inside
        at += 12 + length
    assert name == b"IEND"
    # It checks the sum of the data too.
    data = zlib.decompress(packed)
    assert len(data) == (width + 1) * height
    rows, above = bytearray(), bytearray(width)
    for start in range(0, len(data), width + 1):
        row, filter_kind = bytearray(data[start + 1 : start + 1 + width]), data[start]
        if filter_kind == 1:
            for x in range(1, width):
                row[x] = (row[x] + row[x - 1]) & 255
        else:
            assert filter_kind == 2, filter_kind
            if any(row):
                row = bytearray((a + b) & 255 for a, b in zip(row, above))
            else:
                row = above
        rows += row
        above = row
    return width, height, bytes(rows)
