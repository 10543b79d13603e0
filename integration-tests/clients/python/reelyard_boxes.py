"""Numbered boxes of a Reelyard node, for programs in which two jobs must never share one.

    from reelyard_boxes import Boxes

    boxes = Boxes()                       # REELYARD_URL and REELYARD_TOKEN say where
    with boxes.hold("judge", ttl=30, wait=300) as held:
        judge(box=held.box, token=held.token)

While the block runs a thread renews the lease. However the block is left, the box is given back. If the
lease is lost meanwhile, because it was revoked or the node could not be reached for as long as it lasts,
``held.lost`` is set, ``held.check()`` raises, and so does the end of the block.

One file, standard library only, Python 3.8 or later.
"""

import datetime
import functools
import http.client
import inspect
import json
import logging
import os
import random
import socket
import ssl
import threading
import time
import urllib.parse
import uuid
import weakref

__all__ = [
    "Boxes",
    "Held",
    "BoxError",
    "Unreachable",
    "Refused",
    "NoBoxInTime",
    "LeaseLost",
]

_log = logging.getLogger(__name__)

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

#: Statuses and problems after which the same call may be made again.
_PASSING_STATUS = {429, 502, 503, 504, 507}
_PASSING = {"changed-meanwhile", "not-ready"}

#: Those after which it may have been done all the same; the statuses are also who stands between answers
#: with that has lost the node.
_UNSURE_STATUS = {502, 504}
_UNSURE = {"leader-changed", "stopped"}

#: What a node answers to the holder of a lease that has ended, or never was one.
_ENDED = {
    "unknown-lease",
    "wrong-token",
    "lease-released",
    "lease-expired",
    "lease-revoked",
    "lease-never-held",
}


class BoxError(Exception):
    """Whatever keeps one from a box."""


class Unreachable(BoxError):
    """No node answered. ``may_have_been_done`` tells whether it may have done what it was asked for."""

    may_have_been_done = False
    is_passing = True
    retry_after = None


class Refused(BoxError):
    """The node refused. ``kind`` is the last part of the problem's type, and does not change."""

    def __init__(self, status, problem, retry_after=None):
        self.status = status
        self.kind = str(problem.get("type", "")).rsplit(":", 1)[-1]
        self.detail = problem.get("detail") or problem.get("title") or "no reason was given"
        self.retry_after = retry_after
        super().__init__(self.detail)

    @property
    def is_passing(self):
        """Whether the same may be asked again."""
        return self.status in _PASSING_STATUS or self.kind in _PASSING

    @property
    def may_have_been_done(self):
        """Whether the node may have done what it was asked for all the same."""
        return self.status in _UNSURE_STATUS or self.kind in _UNSURE


class NoBoxInTime(BoxError):
    """No box was free for as long as one was to wait."""


class LeaseLost(BoxError):
    """The lease has ended while it was held: the box may be somebody else's."""


def _seconds(duration):
    """A duration, as a number of seconds or a timedelta, in seconds."""
    if isinstance(duration, datetime.timedelta):
        return duration.total_seconds()
    return float(duration)


def _span(seconds):
    """Seconds, as the API takes them."""
    return "%dms" % max(0, round(seconds * 1000))


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


def _of_span(text):
    """A duration as the API tells it (``1m 30s``), in seconds."""
    total = 0.0
    for part in text.split():
        digits = part.rstrip("abcdefghijklmnopqrstuvwxyz")
        total += int(digits) * _UNITS[part[len(digits):]]
    return total


class Boxes:
    """A node's boxes. Threads and forked children may share it: it keeps no connection."""

    def __init__(self, url=None, token=None, holder=None, context=None):
        """
        url     where the node is; by default $REELYARD_URL, or http://127.0.0.1:8080
        token   what the node lets one in by; by default $REELYARD_TOKEN
        holder  how this program is called where nothing else is said; by default host and process
        context an ssl.SSLContext for https
        """
        url = url or os.environ.get("REELYARD_URL") or "http://127.0.0.1:8080"
        parts = urllib.parse.urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise ValueError("%r: http://host:port is wanted" % url)
        self._parts = parts
        self._token = token if token is not None else os.environ.get("REELYARD_TOKEN")
        self._holder = holder
        self._context = context

    def hold(self, pool, ttl=None, wait=0, holder=None, priority=0, count=1, request_id=None):
        """Boxes to be held: a context manager that takes them as it is entered. See ``acquire``."""
        return _Holding(
            self,
            pool,
            ttl=ttl,
            wait=wait,
            holder=holder,
            priority=priority,
            count=count,
            request_id=request_id,
        )

    def held(self, pool, argument="held", **terms):
        """A decorator: the function runs with boxes, which it is given by this name."""

        def decorate(function):
            kinds = inspect.iscoroutinefunction, inspect.isgeneratorfunction, inspect.isasyncgenfunction
            if any(is_of_kind(function) for is_of_kind in kinds):
                # Called, it only makes something that runs later.
                why = "%s: a coroutine or generator would leave before it has run"
                raise TypeError(why % getattr(function, "__name__", function))

            @functools.wraps(function)
            def with_boxes(*args, **kwargs):
                with self.hold(pool, **terms) as held:
                    kwargs[argument] = held
                    return function(*args, **kwargs)

            return with_boxes

        return decorate

    def acquire(self, pool, ttl=None, wait=0, holder=None, priority=0, count=1, request_id=None):
        """Takes boxes, all of them or none, and keeps them until they are released.

        ttl         how long they last without a renewal, in seconds; by default as the pool says
        wait        for how long to wait for them, in seconds; 0 tries once
        priority    the higher the more urgent
        count       how many
        request_id  names one attempt, as in "job-17/2": asked for again under the same name, also by
                    another process after this one died, the same boxes are answered; once their
                    leases have ended the name is refused

        Answers ``Held``. Raises ``NoBoxInTime``, ``Refused`` or ``Unreachable``. An answer that is lost is
        asked for again: nothing is taken twice. Ctrl-C, or whatever else a signal raises, leaves the queue.
        """
        wait = _seconds(wait)
        until = time.monotonic() + wait
        wanted = {
            "holder": holder or self._holder or "%s/%d" % (socket.gethostname(), os.getpid()),
            "priority": priority,
            "count": count,
            "request_id": request_id or str(uuid.uuid4()),
        }
        if ttl is not None:
            wanted["ttl"] = _span(_seconds(ttl))
        try:
            return self._acquire(pool, wanted, until)
        except BoxError:
            raise
        except BaseException:
            # Whatever a signal raised: it may have come between the answer and its being known here.
            self._withdraw(pool, wanted)
            raise

    def _acquire(self, pool, wanted, until):
        lost = None
        for pause in _pauses():
            asked = time.monotonic()
            left = max(0.0, until - asked)
            try:
                most = left + PREPARING + ANSWER_TIMEOUT
                answer = self._post(_pool_path(pool), dict(wanted, wait=_span(left)), most)
                return Held(self, pool, answer["leases"], asked)
            except Refused as refused:
                if refused.kind == "no-box-in-time":
                    raise NoBoxInTime(str(refused)) from refused
                error = refused
            except Unreachable as unreachable:
                error = unreachable
            if not error.is_passing:
                raise error
            if error.may_have_been_done:
                # A box may have been granted that nobody knows of.
                lost = lost or time.monotonic()
                until = max(until, lost + ANSWER_LOST)
            if time.monotonic() + pause >= until:
                raise error
            time.sleep(max(pause, min(error.retry_after or 0, until - time.monotonic())))

    def _withdraw(self, pool, wanted):
        """Gives back what an interrupted request was granted: asks once more under the same name."""
        until = time.monotonic() + WITHDRAW_FOR
        try:
            answer = self._post(_pool_path(pool), dict(wanted, wait="0ms"), WITHDRAW_FOR)
            for told in answer["leases"]:
                left = max(SHORTEST_TRY, until - time.monotonic())
                self._post(_lease_path(told["lease_id"], "release"), {"token": told["token"]}, left)
        except Exception as error:
            # Its term ends what was granted, if anything was.
            _log.debug("what was asked of pool %s is not taken back: %s", pool, error)

    def verify(self, lease_id, token):
        """Whether a lease is live and has this token: for whoever guards what a box is for."""
        try:
            self._post(_lease_path(lease_id, "verify"), {"token": token})
            return True
        except Refused as refused:
            if refused.kind in _ENDED:
                return False
            raise

    def _post(self, path, body, timeout=ANSWER_TIMEOUT):
        """One call. The connection is closed however this ends, which a waiting node notices."""
        until = time.monotonic() + timeout
        connection, was_asked = None, False
        headers = {"Content-Type": "application/json", "Accept": "application/json"}
        if self._token:
            headers["Authorization"] = "Bearer " + self._token
        try:
            # This fails, too, where the system's certificates cannot be read.
            connection = self._connect(min(CONNECT_TIMEOUT, timeout))
            connection.connect()
            _keep_alive(connection.sock)
            connection.sock.settimeout(max(0.01, until - time.monotonic()))
            was_asked = True
            connection.request("POST", self._parts.path.rstrip("/") + path, json.dumps(body), headers)
            response = connection.getresponse()
            text = response.read()
        except (OSError, http.client.HTTPException) as error:
            unreachable = Unreachable("%s: %s" % (self._parts.netloc, error or type(error).__name__))
            unreachable.may_have_been_done = was_asked
            raise unreachable from error
        finally:
            if connection is not None:
                connection.close()
        try:
            answer = json.loads(text)
        except ValueError:
            answer = None
        if response.status >= 400:
            after = response.getheader("Retry-After") or ""
            problem = answer if isinstance(answer, dict) else {}
            raise Refused(response.status, problem, float(after) if after.isdigit() else None)
        if response.status >= 300 or not isinstance(answer, dict) or "lease_id" not in answer:
            # Somebody who stands between says something else.
            unknown = Unreachable("%s: it is no node that answers" % self._parts.netloc)
            unknown.may_have_been_done = True
            raise unknown
        return answer

    def _connect(self, timeout):
        host, port = self._parts.hostname, self._parts.port
        if self._parts.scheme == "https":
            context = self._context or ssl.create_default_context()
            return http.client.HTTPSConnection(host, port, timeout=timeout, context=context)
        return http.client.HTTPConnection(host, port, timeout=timeout)


def _pool_path(pool):
    return "/api/v1/pools/%s/leases" % urllib.parse.quote(pool, safe="")


def _lease_path(lease_id, verb):
    return "/api/v1/leases/%s/%s" % (urllib.parse.quote(str(lease_id), safe=""), verb)


def _keep_alive(sock):
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


def _one_try(left):
    """How long one try may take where so much is left for all: one connection that hangs is not to cost
    everything."""
    return min(max(left / 3, SHORTEST_TRY), ANSWER_TIMEOUT)


def _pauses():
    """How long to wait before each repetition: twice as long each time, and never quite the same."""
    pause = FIRST_PAUSE
    while True:
        yield pause * random.uniform(0.5, 1.0)
        pause = min(pause * 2, LONGEST_PAUSE)


class Lease:
    """One box, and until when it is ours by this machine's own clock."""

    def __init__(self, told, asked, now):
        self.lease_id = told["lease_id"]
        self.box = told["box"]
        self.token = told["token"]
        # What took long was waited for: the term began at some time meanwhile, and nobody here knows when.
        # By its arrival is the best there is, until the answer to a renewal tells more, which is asked for
        # at once. All else is counted from when it was asked for: the node does from later on.
        is_old = now - asked > _of_span(told["left"]) / 10
        self.last(told, now if is_old else asked)
        self._is_old = is_old

    def last(self, told, since):
        """It lasts for as long as was told, counted from ``since`` by a clock that nobody sets."""
        self.expires_at = told["expires_at"]
        self._lasts = _of_span(told["left"])
        self.until = since + self._lasts
        self._is_old = False

    @property
    def due(self):
        """When it is to be renewed: after a third of its term."""
        if self._is_old:
            return time.monotonic()
        return self.until - self._lasts * 2 / 3

    def __repr__(self):
        return "<box %s, token %s>" % (self.box, self.token)


class Held:
    """Boxes in one's hands, renewed by a thread until they are released or lost.

    box, token, lease_id   of the first box
    leases                 all of them, if several were asked for
    lost                   a threading.Event: set once a lease has ended against one's will

    They are the process's that took them: in a forked child nothing renews them, and whatever happens
    there gives nothing back.
    """

    def __init__(self, boxes, pool, told, asked):
        self._keeper = keeper = _Keeper(boxes, pool, told, asked)
        self.pool, self.leases, self.lost = pool, keeper.leases, keeper.lost
        self._releasing = threading.RLock()
        self._is_released = False
        # The thread knows the keeper only: whatever loses sight of this object, as an exception does that
        # a signal raises before a block is entered, has its boxes given back.
        weakref.finalize(self, keeper.abandon)
        self._thread = threading.Thread(target=keeper.run, name="reelyard-boxes", daemon=True)
        try:
            self._thread.start()
        except BaseException:
            keeper.abandon()
            keeper.release()
            raise

    box = property(lambda self: self.leases[0].box, doc="The id of the first box.")
    token = property(lambda self: self.leases[0].token, doc="The fencing token of the first box.")
    lease_id = property(lambda self: self.leases[0].lease_id, doc="The lease of the first box.")

    def __enter__(self):
        return self

    def __exit__(self, kind, error, trace):
        self.release()
        # A forked child knows nothing of later renewals.
        if kind is None and self._keeper.is_own():
            self.check()

    def __repr__(self):
        return "<%s of pool %s>" % (self.leases, self.pool)

    def check(self):
        """Raises ``LeaseLost`` if the boxes may be somebody else's by now."""
        if self.lost.is_set():
            raise LeaseLost("the boxes of pool %s are lost: %s" % (self.pool, self._keeper.why))
        # This thread may have slept longer than the lease lasts, and the renewing one with it.
        is_over = self._keeper.over.is_set()
        if not is_over and time.monotonic() >= min(one.until for one in self.leases):
            raise LeaseLost("the boxes of pool %s were not renewed in time" % self.pool)

    def release(self):
        """Gives the boxes back. Once is enough; what ended already is left as it is. Interrupted, it can be
        called again. In a forked child it does nothing: the boxes are its parent's."""
        # Before the lock, which another thread of the parent may have held as it forked.
        if not self._keeper.is_own():
            return
        with self._releasing:
            if self._is_released:
                return
            # The thread is not waited for: a call of its own may take long, and what it is told from now on
            # counts for nothing.
            self._keeper.over.set()
            self._keeper.release()
            self._is_released = True


class _Keeper:
    """What keeps leases: it renews them, and knows when they are lost."""

    def __init__(self, boxes, pool, told, asked):
        now = time.monotonic()
        self.boxes, self.pool = boxes, pool
        self.leases = [Lease(one, asked, now) for one in told]
        self.lost, self.over = threading.Event(), threading.Event()
        self.why = None
        self._is_abandoned = False
        self._process = os.getpid()

    def is_own(self):
        """Whether this is the process that took the boxes, and no child that it forked."""
        return os.getpid() == self._process

    def abandon(self):
        """Nobody has the boxes in hand any more."""
        if not self.is_own():
            return
        self._is_abandoned = True
        self.over.set()

    def run(self):
        try:
            self._renew()
        except Exception as error:
            # Whatever it is: nobody renews them any more, which their holder is to know.
            self._lose(error)
            _log.exception("boxes of pool %s are not renewed any more", self.pool)
        if self._is_abandoned:
            self.release()

    def release(self):
        """Gives them back, each until that is done or the time for all is over."""
        until = time.monotonic() + RELEASE_FOR
        left = [(lease, None) for lease in self.leases]
        for pause in _pauses():
            tried = [(lease, self._try_release(lease, until)) for lease, _ in left]
            left = [(lease, why) for lease, why in tried if why is not None]
            now = time.monotonic()
            again = [why for lease, why in left if why.is_passing and now + pause < lease.until]
            if not again or now + pause >= until:
                break
            time.sleep(pause)
        for lease, why in left:
            _log.warning("box %s of pool %s is not given back, its term ends it: %s", lease.box, self.pool, why)

    def _try_release(self, lease, until):
        """Why it is not given back; None if it is, or has ended by itself."""
        try:
            path, most = _lease_path(lease.lease_id, "release"), _one_try(until - time.monotonic())
            self.boxes._post(path, {"token": lease.token}, most)
        except Refused as refused:
            if refused.kind not in _ENDED:
                return refused
            # One whose first answer was lost is told as released, which it is.
            if refused.kind != "lease-released":
                self._lose(refused)
        except Unreachable as error:
            return error
        return None

    def _lose(self, why):
        self.why = self.why or why
        self.lost.set()

    def _renew(self):
        """Renews each lease after a third of its term, and gives up when its term is over."""
        while not self.lost.is_set():
            due = min(lease.due for lease in self.leases)
            if self.over.wait(max(0.0, due - time.monotonic())):
                return
            for lease in self.leases:
                if lease.due <= time.monotonic():
                    self._renew_one(lease)

    def _renew_one(self, lease):
        for pause in _pauses():
            asked = time.monotonic()
            # An answer that comes after its end is of no use.
            timeout = max(0.01, min(_one_try(lease.until - asked), lease.until - asked))
            try:
                path = _lease_path(lease.lease_id, "renew")
                # By when it was asked for: the node counts from later on.
                lease.last(self.boxes._post(path, {"token": lease.token}, timeout), asked)
                return
            except Refused as refused:
                if refused.kind in _ENDED:
                    # What was given back meanwhile is not lost.
                    if not self.over.is_set():
                        self._lose(refused)
                    return
                if not refused.is_passing:
                    # One that is held for as long as it may be lasts until its end all the same.
                    self._last_until(lease, refused)
                    return
            except Unreachable as error:
                if time.monotonic() + pause >= lease.until:
                    self._last_until(lease, error)
                    return
            if self.over.wait(max(0.0, min(pause, lease.until - time.monotonic()))):
                return
            if time.monotonic() >= lease.until:
                self._lose("it was not renewed in time")
                return

    def _last_until(self, lease, why):
        if not self.over.wait(max(0.0, lease.until - time.monotonic())):
            self._lose(why)


class _Holding:
    """Boxes that are taken as a block is entered. It may be entered again, one time after another."""

    def __init__(self, boxes, pool, **terms):
        self._boxes = boxes
        self._pool = pool
        self._terms = terms
        self._held = None

    def __enter__(self):
        self._held = self._boxes.acquire(self._pool, **self._terms)
        return self._held

    def __exit__(self, kind, error, trace):
        held, self._held = self._held, None
        return held.__exit__(kind, error, trace)
