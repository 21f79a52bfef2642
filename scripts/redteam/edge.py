"""Attacks on the listener and on memory."""

import socket
import time


def raw(dev, timeout=10):
    return socket.create_connection((dev.address.hostname, dev.address.port), timeout=timeout)


def silent_sockets(dev):
    """G-06: 420 connections that send nothing or half a preface, with 400 descriptors."""
    sockets = []
    for number in range(420):
        try:
            connection = raw(dev, 2)
            if number % 2:
                connection.sendall(b"PRI * HT")
            sockets.append(connection)
        except OSError:
            break
    statuses = []
    deadline = time.monotonic() + 40
    while time.monotonic() < deadline and 200 not in statuses:
        try:
            statuses.append(dev.call("GET", "/v1/balance", timeout=5)[0])
        except OSError:
            statuses.append(0)
            time.sleep(1)
    for connection in sockets:
        connection.close()
    return statuses[-1] == 200, f"answered after {len(statuses) - 1} failed tries"


def silent_socket_lives(dev):
    """G-06: a connection that sends nothing is closed."""
    with raw(dev, 60) as connection:
        began = time.monotonic()
        connection.settimeout(45)
        try:
            closed = connection.recv(1) == b""
        except OSError:
            closed = False
        return closed, f"closed after {time.monotonic() - began:.0f} s" if closed else "open after 45 s"


def unread_replays(dev):
    """G-07: 120 replays of a large stored response that no client reads."""
    key = dev.sub_key(requests_per_minute=5)
    words = {"idempotency-key": "redteam-replay"}
    status, headers, _ = dev.chat("[[tokens:16000]] Hello", key=key, headers=words)
    if status != 200:
        return False, f"the first call: {status}"
    before = dev.resident()
    body = b'{"model": "sim-fast", "messages": [{"role": "user", "content": "[[tokens:16000]] Hello"}]}'
    head = (
        "POST /v1/chat/completions HTTP/1.1\r\nhost: a\r\n"
        f"authorization: Bearer {key}\r\nidempotency-key: redteam-replay\r\n"
        f"content-type: application/json\r\ncontent-length: {len(body)}\r\n\r\n"
    )
    sockets = []
    for _ in range(120):
        connection = socket.socket()
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        connection.connect((dev.address.hostname, dev.address.port))
        connection.sendall(head.encode() + body)
        sockets.append(connection)
    time.sleep(3)
    grown = dev.resident() - before
    for connection in sockets:
        connection.close()
    return grown < 64, f"{grown:.0f} MB more"


def two_lengths(dev):
    """G-18: a request with content-length and transfer-encoding."""
    with raw(dev) as connection:
        connection.sendall(
            b"POST /v1/chat/completions HTTP/1.1\r\nhost: a\r\ncontent-length: 4\r\n"
            b"transfer-encoding: chunked\r\n\r\n0\r\n\r\n"
        )
        answer = connection.recv(4096)
    return answer.startswith(b"HTTP/1.1 400") or answer == b"", answer.split(b"\r\n")[0].decode()


def too_large_body(dev):
    """I-18: a client that sends too large a body before it reads sees 413."""
    with raw(dev, 30) as connection:
        size = 200 * 1024 * 1024
        head = (
            "POST /v1/chat/completions HTTP/1.1\r\nhost: a\r\n"
            f"authorization: Bearer {dev.key}\r\ncontent-type: application/json\r\n"
            f"content-length: {size}\r\n\r\n"
        )
        connection.sendall(head.encode())
        try:
            for _ in range(64):
                connection.sendall(b" " * 1024 * 1024)
        except OSError:
            pass
        try:
            line = connection.recv(4096).split(b"\r\n")[0].decode()
        except OSError as error:
            line = str(error)
    return " 413 " in line, line


def double_window(dev):
    """I-10: the limit at the end of a window, and again at the beginning of the next."""
    limit = 20
    key = dev.sub_key(requests_per_minute=limit)
    accepted = []

    def burst(count):
        for _ in range(count):
            before = time.monotonic()
            if dev.chat("Hello", key=key, max_tokens=1)[0] != 429:
                accepted.append((before, time.monotonic()))

    burst(1)
    began = time.monotonic()
    time.sleep(57)
    burst(limit)
    time.sleep(max(0.0, began + 60.5 - time.monotonic()))
    burst(limit)
    most = max(sum(after < first + 60 for before, after in accepted if before >= first) for first, _ in accepted)
    return most <= limit, f"{most} of {limit} accepted within a minute"


ATTACKS = [
    ("G-07", unread_replays),
    ("G-18", two_lengths),
    ("I-18", too_large_body),
]
# These wait for a clock.
WAITING = [("G-06", silent_socket_lives), ("I-10", double_window)]
# These need a process of few descriptors.
STARVED = [("G-06", silent_sockets)]
