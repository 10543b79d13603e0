"""Code of both clients: requests, answers and retries."""

import datetime
import logging
import random
import socket
import time
import urllib.parse
import uuid
from typing import Any, Dict, Iterator, List, Mapping, Optional, Union

from ._errors import CallFailed, LeaseLost, NoBoxInTime, Refused
from ._nodes import Nodes

Duration = Union[float, datetime.timedelta]
#: The body of a request or of an answer.
Json = Dict[str, Any]

log = logging.getLogger("reelyard_boxes")

#: If another node is known, the client looks at a node whose answer takes long. These are the pause before each look
#: and the time limit for its answer, in seconds. So a silent node is noticed within 3 s.
LOOK_INTERVAL = 1.0
LOOK_TIMEOUT = 2.0

#: The longest time to connect, in seconds.
CONNECT_TIMEOUT = 5.0

#: The longest time for an answer, in seconds, beyond the time that the node may wait for a box.
ANSWER_TIMEOUT = 30.0

#: The longest time to prepare a free box, in seconds. The ``init`` hook of a pool may run 10 minutes, and may
#: wait as long for its turn on the host.
PREPARE_TIMEOUT = 2 * 600.0

#: TCP keepalive: the seconds before the first probe, the seconds between probes, and the number of failed
#: probes that ends a connection. The answer to a request for boxes may take very long. With keepalive the
#: client still notices within half a minute that the machine or the network of the only node has failed. Only the
#: timeout of the answer ends a call to the only node if it runs and does not answer.
KEEPALIVE_IDLE = 15
KEEPALIVE_INTERVAL = 5
KEEPALIVE_PROBES = 3

#: The longest time for sent bytes without an acknowledgement, in milliseconds.
UNACKNOWLEDGED = 30000

#: The first and the longest pause before a retry, in seconds.
FIRST_PAUSE = 0.1
LONGEST_PAUSE = 2.0

#: The client repeats a request with a lost answer for this time, in seconds, also if ``wait`` is over.
LOST_ANSWER_RETRY = 5.0

#: The longest time to cancel an interrupted request, in seconds.
WITHDRAW_FOR = 3.0

#: The longest time to release boxes, in seconds. After that the lease expires.
RELEASE_FOR = 10.0

#: The shortest timeout of one attempt, in seconds.
SHORTEST_TRY = 1.0

_DAY = 86400.0

#: The units of the API's durations, in seconds.
_UNITS = {
    "ns": 1e-9,
    "us": 1e-6,
    "ms": 1e-3,
    "s": 1.0,
    "m": 60.0,
    "h": 3600.0,
    "day": _DAY,
    "days": _DAY,
    "month": 30.44 * _DAY,
    "months": 30.44 * _DAY,
    "year": 365.25 * _DAY,
    "years": 365.25 * _DAY,
}


def seconds(duration: Duration) -> float:
    """Converts a duration into seconds."""
    if isinstance(duration, datetime.timedelta):
        return duration.total_seconds()
    return float(duration)


def duration_text(duration: float) -> str:
    """Converts seconds into the text of a duration in the API."""
    return "%dms" % max(0, round(duration * 1000))


def parse_duration(text: str) -> float:
    """Converts a duration of the API, such as ``1m 30s``, into seconds."""
    total = 0.0
    for part in text.split():
        digits = part.rstrip("abcdefghijklmnopqrstuvwxyz")
        total += int(digits) * _UNITS[part[len(digits) :]]
    return total


def pool_path(pool: str) -> str:
    return "/api/v1/pools/%s/leases" % urllib.parse.quote(pool, safe="")


def lease_path(lease_id: str, verb: str) -> str:
    return "/api/v1/leases/%s/%s" % (urllib.parse.quote(str(lease_id), safe=""), verb)


def keep_alive(sock: socket.socket) -> None:
    """Turns on TCP keepalive, so that a dead node is noticed."""
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    for name, value in (
        ("TCP_KEEPIDLE", KEEPALIVE_IDLE),
        ("TCP_KEEPINTVL", KEEPALIVE_INTERVAL),
        ("TCP_KEEPCNT", KEEPALIVE_PROBES),
        ("TCP_USER_TIMEOUT", UNACKNOWLEDGED),
    ):
        # Some systems lack some of these options.
        if hasattr(socket, name):
            sock.setsockopt(socket.IPPROTO_TCP, getattr(socket, name), value)


def try_timeout(left: float) -> float:
    """Returns the timeout of one attempt if ``left`` seconds remain for all attempts.

    One attempt gets a third, so that a connection without an answer leaves time for the next one.
    """
    return min(max(left / 3, SHORTEST_TRY), ANSWER_TIMEOUT)


def pauses() -> Iterator[float]:
    """Yields the pause before each retry: doubled each time, with jitter."""
    pause = FIRST_PAUSE
    while True:
        yield pause * random.uniform(0.5, 1.0)
        pause = min(pause * 2, LONGEST_PAUSE)


class AcquireRequest:
    """One request for boxes: its body and its retries."""

    def __init__(
        self,
        nodes: Nodes,
        pool: str,
        ttl: Optional[Duration],
        wait: Duration,
        holder: Optional[str],
        priority: int,
        count: int,
        request_id: Optional[str],
        take_over: bool,
    ) -> None:
        self.pool = pool
        self.path = pool_path(pool)
        self._until = time.monotonic() + seconds(wait)
        self._answer_lost_at: Optional[float] = None
        self._body: Json = {
            "holder": nodes.holder(holder),
            "priority": priority,
            "count": count,
            "request_id": str(uuid.uuid4()) if request_id is None else request_id,
        }
        if take_over:
            # Older nodes refuse this member.
            self._body["take_over"] = True
        if ttl is not None:
            self._body["ttl"] = duration_text(seconds(ttl))

    def body(self) -> Json:
        """Returns the body of an attempt that begins now."""
        return dict(self._body, wait=duration_text(self._left()))

    def timeout(self) -> float:
        """Returns the timeout of the answer in seconds."""
        return self._left() + PREPARE_TIMEOUT + ANSWER_TIMEOUT

    def waits(self) -> bool:
        """Returns whether the answer may take long."""
        return self._left() > 0

    def _left(self) -> float:
        return max(0.0, self._until - time.monotonic())

    def body_without_wait(self) -> Json:
        """Returns a body that finds boxes granted under the same ``request_id``."""
        return dict(self._body, wait="0ms")

    def pause_after(self, error: CallFailed, pause: float) -> float:
        """Returns the pause before the next attempt. Raises an error if there is none."""
        if isinstance(error, Refused) and error.kind == "no-box-in-time":
            raise NoBoxInTime(str(error)) from error
        if not error.is_retryable:
            raise error
        now = time.monotonic()
        if error.may_have_been_done:
            # The lost answer may have granted a box.
            self._answer_lost_at = self._answer_lost_at or now
            self._until = max(self._until, self._answer_lost_at + LOST_ANSWER_RETRY)
        if now + pause >= self._until:
            raise error
        return max(pause, min(error.retry_after or 0, self._until - now))


class Lease:
    """One box, and the end of its lease on the monotonic clock of this machine."""

    def __init__(self, granted: Mapping[str, Any], sent_at: float, now: float) -> None:
        self.lease_id: str = granted["lease_id"]
        self.box: int = granted["box"]
        self.token: int = granted["token"]
        # The term began at some time between request and answer. After a short wait it counts from the request,
        # because the node counts from later on. After a long wait only the time of the answer is a useful
        # start. Then a renewal is due at once: its short exchange gives a better one.
        is_old = now - sent_at > parse_duration(granted["left"]) / 10
        self.start_term(granted, now if is_old else sent_at)
        self._is_old = is_old

    def start_term(self, granted: Mapping[str, Any], since: float) -> None:
        """Counts the granted term from ``since``, a time of the monotonic clock."""
        self.expires_at: str = granted["expires_at"]
        self._term = parse_duration(granted["left"])
        self.until = since + self._term
        self._is_old = False

    @property
    def due(self) -> float:
        """The time of the next renewal: after a third of the term."""
        if self._is_old:
            return time.monotonic()
        return self.until - self._term * 2 / 3

    def __repr__(self) -> str:
        return "<box %s, token %s>" % (self.box, self.token)


def check(pool: str, leases: List[Lease], is_over: bool, is_lost: bool, why: object) -> None:
    """Raises ``LeaseLost`` if the boxes may have another holder."""
    if is_lost:
        raise LeaseLost("the boxes of pool %s are lost: %s" % (pool, why))
    # This program may have slept until after the end of the lease.
    if not is_over and time.monotonic() >= min(one.until for one in leases):
        raise LeaseLost("the boxes of pool %s were not renewed in time" % pool)
