"""What both clients share: where the node is, what is asked and answered, and when to ask again."""

import datetime
import json
import logging
import os
import random
import socket
import ssl
import time
import urllib.parse
import uuid
from typing import Any, Dict, Iterator, List, Mapping, Optional, Tuple, Union

from ._errors import CallFailed, LeaseLost, NoBoxInTime, Refused, Unreachable

Duration = Union[float, datetime.timedelta]
Told = Dict[str, Any]

log = logging.getLogger("reelyard_boxes")

#: How long a connection may take to be made, in seconds.
CONNECT_TIMEOUT = 5.0

#: How long an answer may take beyond what it may wait for, in seconds.
ANSWER_TIMEOUT = 30.0

#: How long a box may take to be made ready once it is there, in seconds: the longest that a pool's ``init``
#: may take, and as long again until it is its turn on the host.
PREPARING = 2 * 600.0

#: When nothing comes on a connection for so long it is asked whether the other end still lives, how often
#: that is repeated, and after how many in vain it is given up. An answer to a request for boxes may take very
#: long; a node of which the machine or the network has gone is noticed by this all the same, within about
#: half a minute. One that lives and hangs is noticed only as the answer's time is over.
QUIET, PROBE, PROBES = 15, 5, 3

#: How long what was sent may be without a sign that it arrived, in milliseconds.
UNHEARD = 30000

#: How long the first repetition waits, and the longest, in seconds.
FIRST_PAUSE, LONGEST_PAUSE = 0.1, 2.0

#: For how long an answer that was lost is asked for again, though nothing more is waited for.
ANSWER_LOST = 5.0

#: For how long it is tried to take an interrupted request back, in seconds.
WITHDRAW_FOR = 3.0

#: For how long it is tried to give a box back. After that its term ends the lease.
RELEASE_FOR = 10.0

#: A try takes no less than this of the time there is for all, in seconds.
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
    """A duration, as a number of seconds or a timedelta, in seconds."""
    if isinstance(duration, datetime.timedelta):
        return duration.total_seconds()
    return float(duration)


def span(duration: float) -> str:
    """Seconds, as the API takes them."""
    return "%dms" % max(0, round(duration * 1000))


def of_span(text: str) -> float:
    """A duration as the API sends it (``1m 30s``), in seconds."""
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
    """Has the system look whether the other end still lives."""
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    for name, value in (
        ("TCP_KEEPIDLE", QUIET),
        ("TCP_KEEPINTVL", PROBE),
        ("TCP_KEEPCNT", PROBES),
        ("TCP_USER_TIMEOUT", UNHEARD),
    ):
        # Not every system has all of them.
        if hasattr(socket, name):
            sock.setsockopt(socket.IPPROTO_TCP, getattr(socket, name), value)


def one_try(left: float) -> float:
    """How long one try may take where so much is left for all: one connection that hangs is not to cost
    everything."""
    return min(max(left / 3, SHORTEST_TRY), ANSWER_TIMEOUT)


def pauses() -> Iterator[float]:
    """How long to wait before each repetition: twice as long each time, and never quite the same."""
    pause = FIRST_PAUSE
    while True:
        yield pause * random.uniform(0.5, 1.0)
        pause = min(pause * 2, LONGEST_PAUSE)


class Node:
    """Where a node is and how one is let in, and what its answers mean."""

    def __init__(
        self,
        url: Optional[str],
        token: Optional[str],
        holder: Optional[str],
        context: Optional[ssl.SSLContext],
    ) -> None:
        url = url or os.environ.get("REELYARD_URL") or "http://127.0.0.1:8080"
        parts = urllib.parse.urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise ValueError("%r: http://host:port is wanted" % url)
        self.host: str = parts.hostname
        self.netloc = parts.netloc
        self.is_https = parts.scheme == "https"
        self.port = parts.port or (443 if self.is_https else 80)
        self.base = parts.path.rstrip("/")
        self._token = token if token is not None else os.environ.get("REELYARD_TOKEN")
        self._holder = holder
        self._context = context

    def headers(self) -> Dict[str, str]:
        headers = {"Content-Type": "application/json", "Accept": "application/json"}
        if self._token:
            headers["Authorization"] = "Bearer " + self._token
        return headers

    def context(self) -> ssl.SSLContext:
        return self._context or ssl.create_default_context()

    def holder(self, holder: Optional[str]) -> str:
        return holder or self._holder or "%s/%d" % (socket.gethostname(), os.getpid())

    def unreachable(self, error: BaseException, was_asked: bool) -> Unreachable:
        return Unreachable("%s: %s" % (self.netloc, error or type(error).__name__), was_asked)

    def read(self, status: int, retry_after: Optional[str], text: bytes) -> Told:
        """What a node answered. Raises ``Refused``, or ``Unreachable`` if it is no node that answers."""
        try:
            answer = json.loads(text)
        except ValueError:
            answer = None
        if status >= 400:
            after = retry_after or ""
            problem = answer if isinstance(answer, dict) else {}
            raise Refused(status, problem, float(after) if after.isdigit() else None)
        if status >= 300 or not isinstance(answer, dict) or "lease_id" not in answer:
            # A proxy may answer something else.
            raise Unreachable("%s: it is no node that answers" % self.netloc, True)
        return answer


class Asking:
    """One request for boxes: what is asked, and when it is asked again."""

    def __init__(
        self,
        node: Node,
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
        self._lost: Optional[float] = None
        self._wanted: Told = {
            "holder": node.holder(holder),
            "priority": priority,
            "count": count,
            "request_id": str(uuid.uuid4()) if request_id is None else request_id,
        }
        if take_over:
            # A node of an older version does not know it.
            self._wanted["take_over"] = True
        if ttl is not None:
            self._wanted["ttl"] = span(seconds(ttl))

    def now(self, asked: float) -> Tuple[Told, float]:
        """What is asked at a time, and how long the answer may take."""
        left = max(0.0, self._until - asked)
        return dict(self._wanted, wait=span(left)), left + PREPARING + ANSWER_TIMEOUT

    def at_once(self) -> Told:
        """The same without a wait: finds what was granted under the same name."""
        return dict(self._wanted, wait="0ms")

    def pause_after(self, error: CallFailed, pause: float) -> float:
        """How long to wait before it is asked again. Raises what ends it."""
        if isinstance(error, Refused) and error.kind == "no-box-in-time":
            raise NoBoxInTime(str(error)) from error
        if not error.is_passing:
            raise error
        now = time.monotonic()
        if error.may_have_been_done:
            # A box may have been granted that nobody knows of.
            self._lost = self._lost or now
            self._until = max(self._until, self._lost + ANSWER_LOST)
        if now + pause >= self._until:
            raise error
        return max(pause, min(error.retry_after or 0, self._until - now))


class Lease:
    """One box, and until when it is ours by this machine's own clock."""

    def __init__(self, told: Mapping[str, Any], asked: float, now: float) -> None:
        self.lease_id: str = told["lease_id"]
        self.box: int = told["box"]
        self.token: int = told["token"]
        # What took long was waited for: the term began at some time meanwhile, and nobody here knows when.
        # By its arrival is the best there is, until the answer to a renewal tells more, which is asked for
        # at once. All else is counted from when it was asked for: the node does from later on.
        is_old = now - asked > of_span(told["left"]) / 10
        self.last(told, now if is_old else asked)
        self._is_old = is_old

    def last(self, told: Mapping[str, Any], since: float) -> None:
        """It lasts for as long as was told, counted from ``since`` by a clock that nobody sets."""
        self.expires_at: str = told["expires_at"]
        self._lasts = of_span(told["left"])
        self.until = since + self._lasts
        self._is_old = False

    @property
    def due(self) -> float:
        """When it is to be renewed: after a third of its term."""
        if self._is_old:
            return time.monotonic()
        return self.until - self._lasts * 2 / 3

    def __repr__(self) -> str:
        return "<box %s, token %s>" % (self.box, self.token)


def check(pool: str, leases: List[Lease], is_over: bool, is_lost: bool, why: object) -> None:
    """Raises ``LeaseLost`` if the boxes may have another holder by now."""
    if is_lost:
        raise LeaseLost("the boxes of pool %s are lost: %s" % (pool, why))
    # This program may have slept longer than the lease lasts.
    if not is_over and time.monotonic() >= min(one.until for one in leases):
        raise LeaseLost("the boxes of pool %s were not renewed in time" % pool)
