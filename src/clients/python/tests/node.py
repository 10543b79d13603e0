"""A node for the tests: REELYARD_URL says where. Pools are created and removed."""

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

#: How long something may take that is to happen at once.
PATIENCE = 60.0


def call(method, path, body=None):
    """A call of the node's API, past the client."""
    connection = http.client.HTTPConnection(urllib.parse.urlsplit(URL).netloc, timeout=PATIENCE)
    headers = {"Content-Type": "application/json"}
    connection.request(method, "/api/v1" + path, None if body is None else json.dumps(body), headers)
    response = connection.getresponse()
    text = response.read()
    connection.close()
    assert response.status < 300, text
    return json.loads(text) if text else None


def run(command, **more):
    """Runs a command to its end, which must be a good one."""
    subprocess.run(command, check=True, timeout=PATIENCE, **more)


def until(what, holds):
    """Waits for a condition."""
    end = time.monotonic() + PATIENCE
    while not holds():
        assert time.monotonic() < end, "not so in time: " + what
        time.sleep(0.01)


class Stub:
    """A node that answers as it is told: each call is handed to ``answer``, which returns a status and a
    body, or None for nobody to be answered."""

    def __init__(self, answer):
        self.calls, self._hung = [], []
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
                body = json.loads(reader.read(int(headers["Content-Length"])))
            self.calls.append((path, body))
            answered = answer(path, body)
            if answered is None:
                self._hung.append(connection)
                continue
            text = json.dumps(answered[1])
            head = "HTTP/1.1 %d -\r\nContent-Length: %d\r\n\r\n" % (answered[0], len(text))
            connection.sendall((head + text).encode())
            connection.close()

    def close(self):
        # Closed alone it would go on to accept.
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        for connection in self._hung:
            connection.close()


def lease(left):
    """A lease, as it is granted and renewed."""
    told = dict(lease_id="x", box=7, token=1, expires_at="", left=left)
    return dict(told, leases=[told])


class Pool:
    """A pool of its own for each test."""

    size = 1

    def create_pool(self):
        self.pool = "py-" + uuid.uuid4().hex[:12]
        call("PUT", "/pools/" + self.pool, {"size": self.size, "first_id": 40, "ttl_default": "60s"})
        self.addCleanup(call, "DELETE", "/pools/%s?revoke=true" % self.pool)

    def leases(self):
        return call("GET", "/pools/%s/leases" % self.pool)["items"]

    def shown(self):
        return call("GET", "/pools/" + self.pool)

    def waiting(self):
        return self.shown()["waiting"]
