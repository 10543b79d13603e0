"""A node for the tests, at the address in REELYARD_URL, with the token in REELYARD_TOKEN. The tests create pools and remove them."""

import http.client
import json
import os
import socket
import subprocess
import threading
import time
import unittest
import urllib.parse
import uuid

URL = os.environ["REELYARD_URL"]
TOKEN = os.environ["REELYARD_TOKEN"]

#: The longest wait for an event that should come soon, in seconds.
PATIENCE = 60.0


def call(method, path, body=None):
    """Calls the API of the node without the client."""
    connection = http.client.HTTPConnection(urllib.parse.urlsplit(URL).netloc, timeout=PATIENCE)
    headers = {"Content-Type": "application/json", "Authorization": "Bearer " + TOKEN}
    connection.request(method, "/api/v1" + path, None if body is None else json.dumps(body), headers)
    response = connection.getresponse()
    text = response.read()
    connection.close()
    assert response.status < 300, text
    return json.loads(text) if text else None


def run(command, **more):
    """Runs a command, which must succeed."""
    subprocess.run(command, check=True, timeout=PATIENCE, **more)


def until(condition, holds):
    """Waits for a condition."""
    end = time.monotonic() + PATIENCE
    while not holds():
        assert time.monotonic() < end, "not in time: " + condition
        time.sleep(0.01)


class Stub:
    """A stand-in for a node. ``answer`` gets each call and returns a status and a body.

    With None the call stays open without an answer. Calls without a body are refused, or stay open if ``is_paused``.
    """

    def __init__(self, answer, head=""):
        self.calls, self._hung, self.head, self.is_paused = [], [], head, False
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.url = "http://127.0.0.1:%d" % self._listener.getsockname()[1]
        threading.Thread(target=self._serve, args=(answer,), daemon=True).start()

    def _serve(self, answer):
        while True:
            try:
                connection = self._listener.accept()[0]
            except OSError:
                return
            with connection.makefile("rb") as reader:
                path = reader.readline().split()[1].decode().replace("/api/v1", "", 1)
                headers = http.client.parse_headers(reader)
                text = reader.read(int(headers.get("Content-Length") or 0))
            if text:
                body = json.loads(text)
                self.calls.append((path, body))
                answered = None if self.is_paused else answer(path, body)
            else:
                answered = None if self.is_paused else (404, {})
            if answered is None:
                self._hung.append(connection)
                continue
            text = json.dumps(answered[1])
            head = "HTTP/1.1 %d -\r\nContent-Length: %d\r\n%s\r\n" % (answered[0], len(text), self.head)
            connection.sendall((head + text).encode())
            connection.close()

    def close(self):
        if self._listener.fileno() < 0:
            return
        # A close without this shutdown does not end ``accept``.
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        for connection in self._hung:
            connection.close()


def lease(left):
    """Returns the answer to a grant and to a renewal."""
    granted = dict(lease_id="x", box=7, token=1, expires_at="", left=left)
    return dict(granted, leases=[granted])


class Pool:
    """Creates a separate pool for each test."""

    size = 1

    def create_pool(self):
        self.pool = "py-" + uuid.uuid4().hex[:12]
        call("PUT", "/pools/" + self.pool, {"size": self.size, "first_id": 40, "ttl_default": "60s"})
        self.addCleanup(call, "DELETE", "/pools/%s?revoke=true" % self.pool)

    def leases(self):
        return call("GET", "/pools/%s/leases" % self.pool)["items"]

    def pool_state(self):
        return call("GET", "/pools/" + self.pool)

    def waiting(self):
        return self.pool_state()["waiting"]
