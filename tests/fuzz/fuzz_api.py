#!/usr/bin/env python3
"""Throws broken requests at `heed serve`, and checks after each batch that it stands.

Random methods, paths, extreme numbers, queries, headers and mutated JSON; halves of requests, clients that leave,
many at once, heads and bodies without end. Every answer of status 400 and more is one line of JSON with error.code and error.message, a fresh
request is answered, and resident memory stays under a bound.

    tests/fuzz/fuzz_api.py build/release/heed --seconds 600 --seed 1
"""
import argparse
import collections
import json
import os
import random
import re
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time

TEXTS = ["the cat sat on the mat.", "<script>alert(1)</script>", "\u202eabc\u2069", "e\u0301\U0001F600", "a" * 5000,
         "\x00\x01\x1b[31m", "once upon a time " * 60, "x"]
NUMBERS = ["0", "1", "2", "3", "5", "-1", "255", "256", "4096", "2147483648", "9223372036854775807",
           "-9223372036854775808", "9223372036854775808", "1e9", "0x10", "NaN", "", "+1", " 1", "%00", "%0a", "1.5"]
METHODS = ["GET"] * 12 + ["POST", "POST", "DELETE", "PUT", "PATCH", "HEAD", "OPTIONS", "TRACE", "get", "BREW", ""]
HEAD = "/api/v1/sessions/{s}/self/{n}/{n}"
PATHS = ["/", "/app.js", "/app.css", "/api/v1/models", "/api/v1/models/found", "/api/v1/sessions", "/api/v1/sessions/{s}", "/api/v1/picture",
         "/api/v1/sessions/{s}/events", "/api/v1/sessions/{s}/export", "/api/v1/sessions/{s}/derive",
         *[f"/api/v1/sessions/{{s}}/{stack}/{name}" for stack in ("self", "{n}") for name in (
             "heads", "atlas", "next", "logits", "words", "lens", "branch", "beams", "flow", "flow/graph", "effects", "similar",
             "{n}/edges")],
         *[HEAD + name for name in (
             "/late/probe", "/late/run", "/late/{n}", "/evidence/previous", "/evidence/without", "/evidence/{n}", "/evidence/direct", "/evidence/value_weighted",
             "/tile/{n}/{n}/{n}", "/row/{n}", "/rows", "/column/{n}", "/marginals", "/sweep", "/cell/{n}/{n}", "/why/{n}/{n}",
             "/why/{n}/{n}/origins", "/why/{n}/{n}/effect", "/why/{n}/{n}/test", "/anatomy", "/dimensions/{n}", "/geometry/{n}")],
         "/api/v1/sessions", "/api/v1/sessions/{s}", "/api/v1/sessions/{s}/derive", "/api/v1/sessions/{s}/self/similar",
         "/../../etc/passwd", "/api/", "//", "/%2e%2e/", "/api/v1/sessions//", "*", "http://evil.example/"]
QUERIES = ["q=weight", "q=score", "q=carried", "q=carried", "pool=mean", "pool=max", "as=f32", "as=u8", "as=f64", "top_p={n}", "at_most={n}",
           "end={n}", "begin={n}", "layer={n}", "heads={n}", "heads={n},{n},{n}", "view=a", "view=b", "position={n}",
           "top={n}", "rotation=before", "token={n}", "key={n}", "by=effect", "format=dot", "mask=1", "blocks=1", "at={n}", "most={n}", "named={n}",
           "against=raw", "against={n},{n}", "form=adjusted", "form=raw", "cells={n}", "beams={n}", "tokens=0", "stack=self", "format=html",
           "format=graphml", "view=look/L0.H{n}", "view=why/L{n}.H0/i={n}/j={n}", "view=heads/L0.H0/vs=ablate:self.L0.H{n}", "failed=1", "against=runner_up", "split=attn%200", "edit=swap", "edit=ablate", "id={n}", "text=cat", "query={n}",
           "%", "&&", "=", "view=" + "v" * 100, "q=%ff%fe"]
HEADERS = ["Range: bytes=0-9", "Range: bytes=9-0", "Range: bytes=99999999999999999999-", "Range: bytes=-1,0-1,5-",
           "Accept-Encoding: gzip", "Accept-Encoding: br", "If-None-Match: \"x\"", "Expect: 100-continue",
           "Origin: http://evil.example", "Origin: null", "Host: evil.example", "Connection: close",
           "Transfer-Encoding: chunked", "Content-Length: -1", "Content-Length: 99999999999999999999", "X: " + "y" * 9000,
           "Cookie: " + "a=b; " * 500, "Content-Encoding: gzip", "Content-Type: multipart/form-data; boundary=x",
           "Authorization: Bearer wrong", "no colon at all", ": empty", "A:\x00b", "Sec-Fetch-Site: cross-site",
           "Sec-Fetch-Site: same-origin", "Sec-Fetch-Mode: no-cors", "Content-Length: 5, 5", "Content-Length: 0x5", "Host : a",
           " folded", "Transfer-Encoding: gzip, chunked", "Content-Encoding: identity", "Expect: 200-maybe"]
CLOSING = {408, 411, 414, 415, 431}  # the rest of such a request is not read, so its connection ends


def whole(answer, request):
    """Whether one answer is there; what leaves that open goes on until the server closes."""
    head, end, content = answer.partition(b"\r\n\r\n")
    if not end:
        return False
    if request.startswith(b"HEAD") or re.match(rb"HTTP/1.1 (204|304)", head):
        return True
    if length := re.search(rb"\r\nContent-Length: (\d+)", head):
        return len(content) >= int(length[1])
    return content.endswith(b"0\r\n\r\n")


class Server:
    def __init__(self, program, patience):
        self.patience = patience
        state = tempfile.mkdtemp(prefix="heed-fuzz-")
        self.process = subprocess.Popen([program, "serve", "--port", "0"], stdout=subprocess.PIPE, text=True,
                                        env={**os.environ, "XDG_STATE_HOME": state})
        address = self.process.stdout.readline().strip()
        found = re.fullmatch(r"http://127\.0\.0\.1:(\d+)/\?token=(\w+)", address)
        if not found:
            sys.exit(f"fuzz: heed serve printed {address!r}")
        self.port, self.token = int(found[1]), found[2]

    def resident_megabytes(self):
        with open(f"/proc/{self.process.pid}/status") as status:
            return next(int(line.split()[1]) / 1024 for line in status if line.startswith("VmRSS"))

    def exchange(self, request, leave=False):
        """What the server says to the bytes, until it closes or has said one whole answer; None when we leave."""
        with socket.create_connection(("127.0.0.1", self.port), timeout=self.patience) as connection:
            try:
                connection.sendall(request)
                if leave:
                    return None
                answer = b""
                while not whole(answer, request):
                    part = connection.recv(1 << 18)
                    if not part:
                        break
                    answer += part
                return answer
            except (ConnectionResetError, BrokenPipeError):
                return None


def mutate(choose, data):
    data = bytearray(data)
    for _ in range(choose.randint(1, 4)):
        at = choose.randrange(len(data) + 1)
        what = choose.randrange(4)
        if what == 0:
            data[at:at] = bytes([choose.randrange(256)])
        elif what == 1:
            del data[at:at + choose.randint(1, 8)]
        elif what == 2 and at < len(data):
            data[at] = choose.randrange(256)
        else:
            data[at:at] = choose.choice([b"\\ud83d", b"\xf0\x9f", b"{", b"[" * 500, b'"', b"\x00", b"1e999", b"null"])
    return bytes(data)


def body(choose):
    value = {"text": choose.choice(TEXTS)}
    if choose.random() < 0.5:
        value["layer"] = choose.choice([0, 1, 3, -1, 2**63, 1.5, "0", None, [], {}])
    if choose.random() < 0.1:
        value["text"] = choose.choice([7, None, [], {}, True, "z" * 1_100_000])
    if choose.random() < 0.2:  # an example of what heads should look like
        row = {"query": choose.choice([0, 2, -1, 10**9]), "keys": choose.choice([[0], [], [1, 99], "0"])}
        value = choose.choice([{"back": choose.choice([0, 1, -1, 2**40, None])}, {"layer": 0, "head": choose.choice([0, 9, "x"])},
                               {"rows": [row] * choose.randrange(3)}, {"rows": [{**row, "weights": choose.choice([[1], [], ["a"]])}]}])
    if choose.random() < 0.3:
        place = {"layer": choose.choice([0, 1, 99, -1, "0"]), "head": choose.choice([0, 3, 99, None])}
        at = {"position": choose.choice([0, 2, 9999, -1]), "side": choose.choice(["tokens", "key_tokens", 7])}
        edits = {"ablate": [place], "remove": [{**place, "query": 1, "key": choose.choice([0, 5, 2**40])}], "hide": [at],
                 "swap": [{**at, "id": choose.choice([1, -1, 10**9])}], "mask": [{"left": choose.choice([0, -2, 3])}], "x": 1}
        some = {name: edits[name] for name in choose.sample(sorted(edits), choose.randrange(4))}
        value = some if choose.random() < 0.6 else {**value, "edits": some}
    data = json.dumps(value, ensure_ascii=choose.random() < 0.5).encode()
    return mutate(choose, data) if choose.random() < 0.5 else data


def request(choose, server, sessions):
    method = choose.choice(METHODS)
    path = choose.choice(PATHS)
    small = choose.random() < 0.7
    number = lambda _: str(choose.randrange(4)) if small else choose.choice(NUMBERS)
    path = path.replace("{s}", choose.choice(sessions + ["0", "%00", "5e1c0a9b77d2f0e4"]))
    query = "&".join(choose.choice(QUERIES) for _ in range(choose.choice([0, 0, 1, 2, 5])))
    target = re.sub(r"\{n\}", number, path + ("?" + query if query else ""))
    if choose.random() < 0.01:
        target = "/" + "a" * choose.choice([600, 8000, 20000])
    lines = [f"{method} {target} HTTP/1.1", f"Host: 127.0.0.1:{server.port}"]
    if choose.random() < 0.9:
        lines.append(f"Authorization: Bearer {server.token}")
    lines += [choose.choice(HEADERS) for _ in range(choose.choice([0, 0, 0, 1, 3]))]
    content = body(choose) if method in ("POST", "PUT", "PATCH") or choose.random() < 0.05 else b""
    if content:
        lines.append(f"Content-Length: {len(content) + choose.choice([0] * 8 + [-1, 5])}")
    data = "\r\n".join(lines).encode("utf-8", "surrogatepass") + b"\r\n\r\n" + content
    if choose.random() < 0.1:
        data = mutate(choose, data)
    if choose.random() < 0.1:
        data = data[:choose.randrange(len(data) + 1)]
    return data, method


class Fuzz:
    def __init__(self, server, seed):
        self.server, self.seed = server, seed
        self.statuses = collections.Counter()
        self.sessions = []
        self.guard = threading.Lock()
        self.problem = None

    def say(self, what, data):
        with self.guard:
            self.problem = self.problem or f"{what}\nrequest: {data[:2000]!r}"

    def check(self, data, method, answer):
        head, _, content = answer.partition(b"\r\n\r\n")
        status = int(head[9:12]) if re.match(rb"HTTP/1\.[01] \d{3} ", head) else 0
        with self.guard:
            self.statuses[status] += 1
        if status == 0:
            self.say(f"no HTTP: {answer[:200]!r}", data)
        if status in CLOSING and b"\r\nConnection: close" not in head:
            self.say(f"status {status} leaves the connection open", data)
        if status < 400 or method == "HEAD" or b"\r\nContent-Length: 0" in head:
            if status == 201 and (found := re.search(rb'"session":"(\w+)"', content)):
                self.sessions = (self.sessions + [found[1].decode()])[-8:]
            if status >= 400 and method != "HEAD" and not data.startswith(b"HEAD"):
                self.say(f"status {status} without a body", data)
            return
        if data.startswith(b"HEAD"):
            return
        content = content.split(b"HTTP/1.1 ")[0]  # what was left of a broken request may be answered too
        try:
            error = json.loads(content)["error"]
            if b"\n" in content or not error["code"] or not error["message"]:
                raise ValueError("empty, or more than one line")
        except (ValueError, KeyError, TypeError) as wrong:
            self.say(f"status {status} with {content[:200]!r}: {wrong}", data)

    def batch(self, seed, count):
        choose = random.Random(seed)
        for _ in range(count):
            data, method = request(choose, self.server, self.sessions)
            leave = choose.random() < 0.15
            try:
                answer = self.server.exchange(data, leave)
            except (TimeoutError, ConnectionError) as wrong:
                return self.say(f"no answer: {wrong!r}", data)
            if answer:
                self.check(data, method, answer)

    def open(self, choose):
        """A session that is there, so that the paths behind it are asked too."""
        content = json.dumps({"text": choose.choice(TEXTS[:1] + TEXTS[3:4] + TEXTS[6:])}).encode()
        head = f"POST /api/v1/sessions HTTP/1.1\r\nHost: localhost:{self.server.port}\r\n" \
               f"Authorization: Bearer {self.server.token}\r\nContent-Length: {len(content)}\r\nConnection: close\r\n\r\n"
        answer = self.server.exchange(head.encode() + content) or b""
        if found := re.search(rb'"session":"(\w+)"', answer):
            self.sessions = (self.sessions + [found[1].decode()])[-8:]
        else:
            self.problem = self.problem or f"no session: {answer[:200]!r}"

    def storm(self, choose):
        """200 connections: some say nothing, some leave at once."""
        connections = []
        for _ in range(200):
            connection = socket.create_connection(("127.0.0.1", self.server.port), timeout=self.server.patience)
            connection.sendall(request(choose, self.server, self.sessions)[0][:choose.choice([0, 10, 10000])])
            connections.append(connection)
        for connection in connections:
            connection.close()

    def flood(self, choose, megabytes=64):
        """Bodies and heads without end: the server closes the connection, and keeps nothing of them."""
        token = choose.choice(["", f"Authorization: Bearer {self.server.token}\r\n"])
        host = choose.choice(["evil.example", f"localhost:{self.server.port}"])
        begin = f"POST /api/v1/sessions HTTP/1.1\r\nHost: {host}\r\n{token}"
        head, part = choose.choice([
            (begin + "Transfer-Encoding: chunked\r\n\r\n", b"100000\r\n" + b"a" * 2**20 + b"\r\n"),
            (begin + f"Content-Length: {2**40}\r\n\r\n", b"a" * 2**20),
            (begin, b"X: " + b"a" * 2**20 + b"\r\n"),
            (begin, b"X: " + b"a" * 2**20)])
        before = self.server.resident_megabytes()
        with socket.create_connection(("127.0.0.1", self.server.port), timeout=self.server.patience) as connection:
            try:
                connection.sendall(head.encode())
                for _ in range(megabytes):
                    connection.sendall(part)
                self.problem = self.problem or f"took {megabytes} MB behind {head!r}"
            except (ConnectionResetError, BrokenPipeError):
                pass
        grown = self.server.resident_megabytes() - before
        if grown > 48:  # sessions that are computed meanwhile take some too
            self.problem = self.problem or f"kept {grown:.0f} MB behind {head!r}"

    def alive(self):
        wanted = f"GET /api/v1/models HTTP/1.1\r\nHost: localhost:{self.server.port}\r\n" \
                 f"Authorization: Bearer {self.server.token}\r\nConnection: close\r\n\r\n"
        answer = self.server.exchange(wanted.encode()) or b""
        if self.server.process.poll() is not None:
            self.problem = self.problem or f"the server ended with {self.server.process.returncode}"
        elif not answer.startswith(b"HTTP/1.1 200"):
            self.problem = self.problem or f"the server answers {answer[:200]!r}"


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("program")
    parser.add_argument("--seconds", type=float, default=30)
    parser.add_argument("--rounds", type=int, help="ends after this many rounds, not after --seconds")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--megabytes", type=float, default=1500, help="bound of resident memory (default 1500)")
    parser.add_argument("--patience", type=float, default=300, help="seconds for an answer; a machine may be busy (default 300)")
    options = parser.parse_args()
    server = Server(options.program, options.patience)
    fuzz = Fuzz(server, options.seed)
    choose = random.Random(options.seed)
    end = time.monotonic() + options.seconds
    most, rounds = 0.0, 0
    while not fuzz.problem and (time.monotonic() < end if options.rounds is None else rounds < options.rounds):
        fuzz.open(choose)
        threads = [threading.Thread(target=fuzz.batch, args=(choose.random(), 1)) for _ in range(200)]  # halves of requests wait side by side
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        if rounds % 10 == 0:
            fuzz.storm(choose)
        fuzz.flood(choose)
        fuzz.alive()
        rounds += 1
        if server.process.poll() is None:
            most = max(most, server.resident_megabytes())
        if most > options.megabytes:
            fuzz.problem = fuzz.problem or f"{most:.0f} MB resident, expected at most {options.megabytes:.0f}"
    statuses = ", ".join(f"{status}: {count}" for status, count in sorted(fuzz.statuses.items()))
    print(f"seed {options.seed}, {rounds} rounds, {sum(fuzz.statuses.values())} answers ({statuses}), "
          f"at most {most:.0f} MB resident")
    if server.process.poll() is None:
        server.process.send_signal(signal.SIGINT)
        status = server.process.wait(timeout=options.patience)
        if status != 130:
            fuzz.problem = fuzz.problem or f"Ctrl-C ended the server with {status}, expected 130"
    if fuzz.problem:
        sys.exit(f"fuzz: {fuzz.problem}")


if __name__ == "__main__":
    main()
