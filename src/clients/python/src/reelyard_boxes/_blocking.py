"""The client for programs with threads."""

import atexit
import functools
import http.client
import inspect
import json
import os
import socket
import ssl
import threading
import time
import weakref
from types import TracebackType
from typing import Any, Callable, Dict, List, Optional, Tuple, Type, TypeVar, Union

from . import _wire
from ._errors import ENDED, BoxError, CallFailed, Refused, Unreachable
from ._nodes import Address, Attempts, Nodes, check_length, unreachable
from ._wire import AcquireRequest, Duration, Json, Lease, lease_path, pauses, try_timeout

_Answer = TypeVar("_Answer")


class Boxes:
    """The boxes of a cluster, or of a node that runs alone. Threads and forked children may share it, because it keeps no connection."""

    def __init__(
        self,
        url: Optional[str] = None,
        token: Optional[str] = None,
        holder: Optional[str] = None,
        context: Optional[ssl.SSLContext] = None,
    ) -> None:
        """
        url     the address of the node, or those of several nodes of one cluster with commas between them; by
                default $REELYARD_URL, or http://127.0.0.1:8080
        token   the token of the API; by default $REELYARD_TOKEN
        holder  the name of this program as a holder of boxes; by default host name and process id
        context an ssl.SSLContext for https
        """
        self._nodes = Nodes(url, token, holder, context)

    def hold(
        self,
        pool: str,
        ttl: Optional[Duration] = None,
        wait: Duration = 0,
        holder: Optional[str] = None,
        priority: int = 0,
        count: int = 1,
        request_id: Optional[str] = None,
        take_over: bool = False,
    ) -> "Holding":
        """Returns a context manager that holds boxes during its block. ``acquire`` describes the arguments."""
        return Holding(
            self,
            pool,
            ttl=ttl,
            wait=wait,
            holder=holder,
            priority=priority,
            count=count,
            request_id=request_id,
            take_over=take_over,
        )

    def held(
        self, pool: str, argument: str = "held", **terms: Any
    ) -> Callable[[Callable[..., _Answer]], Callable[..., _Answer]]:
        """Returns a decorator that holds boxes while the function runs.

        The function gets them as the keyword argument with the name ``argument``. ``acquire`` describes
        ``terms``.
        """

        def decorate(function: Callable[..., _Answer]) -> Callable[..., _Answer]:
            kinds = inspect.iscoroutinefunction, inspect.isgeneratorfunction, inspect.isasyncgenfunction
            if any(is_of_kind(function) for is_of_kind in kinds):
                # A call of such a function only creates an object, and the code runs later.
                name = getattr(function, "__name__", function)
                raise TypeError("%s: a coroutine or generator would run after the release of its box" % name)

            @functools.wraps(function)
            def with_boxes(*args: Any, **kwargs: Any) -> _Answer:
                with self.hold(pool, **terms) as held:
                    kwargs[argument] = held
                    return function(*args, **kwargs)

            return with_boxes

        return decorate

    def acquire(
        self,
        pool: str,
        ttl: Optional[Duration] = None,
        wait: Duration = 0,
        holder: Optional[str] = None,
        priority: int = 0,
        count: int = 1,
        request_id: Optional[str] = None,
        take_over: bool = False,
    ) -> "Held":
        """Takes boxes and renews their leases until they are released.

        pool        the name of the pool
        ttl         the term of the lease without a renewal, in seconds; by default the one of the pool
        wait        the longest wait for a box, in seconds; with 0 there is one attempt
        holder      the name of the holder; by default the one of ``Boxes``
        priority    a request with a higher number comes first
        count       the number of boxes; the caller gets all of them or none
        request_id  the idempotency key of one attempt, such as "job-17/2". The same holder gets the
                    same boxes again under the same key. The node refuses the key after their leases
                    have ended.
        take_over   continues the lease of another holder with the same key, which must have ended.
                    Without it the node refuses the request.

        Returns ``Held``. Raises ``NoBoxInTime``, ``Refused`` or ``Unreachable``. The client repeats a
        request with a lost answer, and the node grants it only once. An exception from a
        signal handler, such as Ctrl-C, ends the wait and leaves the queue.
        """
        terms = (ttl, wait, holder, priority, count)
        request = AcquireRequest(self._nodes, pool, *terms, request_id, take_over)
        try:
            return self._acquire(request)
        except BoxError:
            raise
        except BaseException:
            # The exception may have come just after the answer.
            self._withdraw(request)
            raise

    def _acquire(self, request: AcquireRequest) -> "Held":
        retry_pauses = pauses()
        if request.waits():
            self._learn_members()
        while True:
            sent_at = time.monotonic()
            try:
                answer = self._post(request.path, request.body, request.timeout())
                return Held(self, request.pool, answer["leases"], sent_at)
            except CallFailed as error:
                pause = request.pause_after(error, next(retry_pauses))
            time.sleep(pause)

    def _withdraw(self, request: AcquireRequest) -> None:
        """Releases boxes that an interrupted request may have got. It repeats the request to learn them."""
        until = time.monotonic() + _wire.WITHDRAW_FOR
        try:
            answer = self._post(request.path, request.body_without_wait(), _wire.WITHDRAW_FOR)
            for lease in answer["leases"]:
                left = max(_wire.SHORTEST_TRY, until - time.monotonic())
                self._post(lease_path(lease["lease_id"], "release"), {"token": lease["token"]}, left)
        except Exception as error:
            # A granted lease then expires.
            _wire.log.debug("cannot cancel the request to pool %s: %s", request.pool, error)

    def verify(self, lease_id: str, token: int) -> bool:
        """Returns whether a lease is live and has this fencing token. For services that guard a resource."""
        try:
            self._post(lease_path(lease_id, "verify"), {"token": token})
            return True
        except Refused as refused:
            if refused.kind in ENDED:
                return False
            raise

    def _post(
        self,
        path: str,
        body: "Union[Json, Callable[[], Json]]",
        timeout: Optional[float] = None,
        until: Optional[float] = None,
    ) -> Json:
        """Sends one call to one node after the other, until one answers. Each gets ``timeout`` seconds.

        After ``until`` an answer is useless. The connection is always closed at the end, and a waiting node notices
        that.
        """
        timeout = _wire.ANSWER_TIMEOUT if timeout is None else timeout
        attempts = Attempts(self._nodes)
        for address in attempts:
            left = timeout if until is None else min(timeout, max(0.01, until - time.monotonic()))
            try:
                text = json.dumps(body() if callable(body) else body)
                answer = self._nodes.read(address, self._exchange(address, "POST", path, text, left))
                if "lease_id" not in answer:
                    raise Unreachable("the program at %s is not a Reelyard node" % address, True)
                attempts.answered(address)
                return answer
            except CallFailed as error:
                attempts.failed(address, error)
            if until is not None and time.monotonic() >= until:
                break
        raise attempts.error()

    def _learn_members(self) -> None:
        """Learns the members before a call that may wait long. The call has the same failures."""
        if not self._nodes.has_answered:
            address = self._nodes.in_order()[0]
            try:
                timeout = _wire.LOOK_INTERVAL + _wire.LOOK_TIMEOUT
                answer = self._exchange(address, "GET", "/api/v1/whoami", None, timeout)
                self._nodes.read(address, answer)
                self._nodes.use(address, [])
            except CallFailed as error:
                _wire.log.debug("the members of the cluster are not known: %s", error)

    def _exchange(
        self, address: Address, method: str, path: str, body: Optional[str], timeout: float
    ) -> bytes:
        """Sends a request to one node. Returns its whole answer with its head."""
        until = time.monotonic() + timeout
        connection: Optional[http.client.HTTPConnection] = None
        was_sent = False
        try:
            # Unreadable certificates of the system raise an OSError here, too.
            connection = self._connect(address, self._connect_timeout(timeout))
            connection.connect()
            sock: socket.socket = connection.sock
            _wire.keep_alive(sock)
            sock.settimeout(max(0.01, until - time.monotonic()))
            was_sent = True
            connection.request(method, address.base + path, body, self._nodes.headers())
            return self._read_all(address, sock, until)
        except (OSError, http.client.HTTPException) as error:
            raise unreachable(address, error, was_sent) from error
        finally:
            if connection is not None:
                connection.close()

    def _connect_timeout(self, timeout: float) -> float:
        longest = _wire.CONNECT_TIMEOUT
        if self._nodes.has_others():
            longest = _wire.LOOK_INTERVAL + _wire.LOOK_TIMEOUT
        return min(longest, timeout)

    def _read_all(self, address: Address, sock: socket.socket, until: float) -> bytes:
        """Reads until the node closes the connection. Looks at a node that takes long, if another one is known."""
        answer = bytearray()
        silence: Optional[Exception] = None
        while True:
            left = until - time.monotonic()
            if left <= 0:
                raise socket.timeout("it does not answer")
            is_watched = self._nodes.has_others()
            wait = min(left, _wire.LOOK_INTERVAL) if is_watched else left
            # The answer may have come during a look without an answer.
            sock.settimeout(0.01 if silence else wait)
            try:
                more = sock.recv(1 << 16)
            except socket.timeout:
                if silence:
                    raise silence from None
                if is_watched and time.monotonic() < until:
                    silence = self._silence(address)
                continue
            silence = None
            if not more:
                return bytes(answer)
            answer += more
            check_length(answer)

    def _silence(self, address: Address) -> Optional[Exception]:
        """Looks at a node. Returns an error if it does not answer a short call."""
        try:
            self._look(address)
        except socket.timeout:
            return socket.timeout("it does not answer")
        except (OSError, http.client.HTTPException) as error:
            return error
        return None

    def _look(self, address: Address) -> None:
        until = time.monotonic() + _wire.LOOK_TIMEOUT
        connection = self._connect(address, _wire.LOOK_TIMEOUT)
        try:
            connection.connect()
            connection.sock.settimeout(max(0.01, until - time.monotonic()))
            connection.request("HEAD", address.base + "/healthz")
            connection.getresponse()
        finally:
            connection.close()

    def _connect(self, address: Address, timeout: float) -> http.client.HTTPConnection:
        host, port = address.host, address.port
        if address.is_https:
            context = self._nodes.context()
            return http.client.HTTPSConnection(host, port, timeout=timeout, context=context)
        return http.client.HTTPConnection(host, port, timeout=timeout)


class Held:
    """Boxes that this program holds. A thread renews their leases until they are released or lost.

    box, token, lease_id   the id, the fencing token and the lease of the first box
    leases                 the leases of all boxes
    lost                   a threading.Event that is set if a lease ended before its release

    The boxes belong to the process that took them. A forked child neither renews nor releases them.
    """

    def __init__(self, boxes: Boxes, pool: str, granted: List[Json], sent_at: float) -> None:
        self._renewer = renewer = _Renewer(boxes, pool, granted, sent_at)
        self.pool, self.leases, self.lost = pool, renewer.leases, renewer.lost
        # The thread refers only to the renewer. So a program that drops this object releases its boxes. An
        # exception from a signal handler can drop it before the block begins.
        weakref.finalize(self, renewer.abandon)
        self._thread = threading.Thread(target=renewer.run, name="reelyard-boxes", daemon=True)
        try:
            self._thread.start()
        except BaseException:
            renewer.abandon()
            renewer.release()
            raise

    @property
    def box(self) -> int:
        """The id of the first box."""
        return self.leases[0].box

    @property
    def token(self) -> int:
        """The fencing token of the first box."""
        return self.leases[0].token

    @property
    def lease_id(self) -> str:
        """The id of the lease of the first box."""
        return self.leases[0].lease_id

    def __enter__(self) -> "Held":
        return self

    def __exit__(
        self,
        kind: Optional[Type[BaseException]],
        error: Optional[BaseException],
        trace: Optional[TracebackType],
    ) -> None:
        self.release()
        # A forked child does not see later renewals, so its check would be wrong.
        if kind is None and self._renewer.is_own():
            self.check()

    def __repr__(self) -> str:
        return "<%s of pool %s>" % (self.leases, self.pool)

    def check(self) -> None:
        """Raises ``LeaseLost`` if the boxes may have another holder."""
        renewer = self._renewer
        _wire.check(self.pool, self.leases, renewer.over.is_set(), self.lost.is_set(), renewer.why)

    def release(self) -> None:
        """Releases the boxes. A second call and an ended lease do no harm.

        After an interruption the thread finishes the release. In a forked child this does nothing.
        """
        # This comes before the lock: in a forked child a lock may stay locked forever.
        if self._renewer.is_own():
            # From here on the thread releases the boxes if an exception ends this call.
            self._renewer.abandon()
            # This does not wait for the thread: its renewal may hang.
            self._renewer.release()


class _Renewer:
    """Renews leases and notices their loss."""

    def __init__(self, boxes: Boxes, pool: str, granted: List[Json], sent_at: float) -> None:
        now = time.monotonic()
        self.boxes, self.pool = boxes, pool
        self.leases = [Lease(one, sent_at, now) for one in granted]
        self.lost, self.over = threading.Event(), threading.Event()
        self.why: object = None
        self._releasing, self._is_released = threading.Lock(), False
        self._process = os.getpid()

    def is_own(self) -> bool:
        """Returns whether this process took the boxes. A forked child did not."""
        return os.getpid() == self._process

    def abandon(self) -> None:
        """Lets the thread release the boxes."""
        if self.is_own():
            self.over.set()

    def run(self) -> None:
        _running.add(self)
        try:
            self._renew()
        except Exception as error:
            # The renewal ends here, so the holder must learn that the leases are lost.
            self._lose(error)
            _wire.log.exception("the boxes of pool %s are lost: the renewal failed", self.pool)
        if self.over.is_set():
            self.release()
        _running.discard(self)

    def release(self) -> None:
        """Releases the boxes once, with retries for at most ``RELEASE_FOR`` seconds."""
        with self._releasing:
            if not self._is_released:
                self._release()
                self._is_released = True

    def _release(self) -> None:
        until = time.monotonic() + _wire.RELEASE_FOR
        left: List[Tuple[Lease, Optional[CallFailed]]] = [(lease, None) for lease in self.leases]
        for pause in pauses():
            tried = [(lease, self._try_release(lease, until)) for lease, _ in left]
            left = [(lease, why) for lease, why in tried if why is not None]
            now = time.monotonic()
            again = [
                why for lease, why in left if why and why.is_retryable and now + pause < lease.until
            ]
            if not again or now + pause >= until:
                break
            time.sleep(pause)
        for lease, why in left:
            text = "cannot release box %s of pool %s, so its lease will expire: %s"
            _wire.log.warning(text, lease.box, self.pool, why)

    def _try_release(self, lease: Lease, until: float) -> Optional[CallFailed]:
        """Tries to release a lease. Returns the error, or None if the lease has ended."""
        try:
            path = lease_path(lease.lease_id, "release")
            timeout = try_timeout(until - time.monotonic())
            self.boxes._post(path, {"token": lease.token}, timeout, until)
        except Refused as refused:
            if refused.kind not in ENDED:
                return refused
            # An earlier attempt with a lost answer may have released it.
            if refused.kind != "lease-released":
                self._lose(refused)
        except CallFailed as error:
            return error
        return None

    def _lose(self, why: object) -> None:
        self.why = self.why or why
        self.lost.set()

    def _renew(self) -> None:
        """Renews each lease after a third of its term. A lease that expires is lost."""
        while not self.lost.is_set():
            due = min(lease.due for lease in self.leases)
            if self.over.wait(max(0.0, due - time.monotonic())):
                return
            for lease in self.leases:
                if lease.due <= time.monotonic():
                    self._renew_one(lease)

    def _renew_one(self, lease: Lease) -> None:
        for pause in pauses():
            sent_at = time.monotonic()
            left = lease.until - sent_at
            # An answer after the end of the lease is useless.
            timeout = max(0.01, min(try_timeout(left), left))
            try:
                path = lease_path(lease.lease_id, "renew")
                renewed = self.boxes._post(path, {"token": lease.token}, timeout, lease.until)
                # The term counts from the request, because the node counts from later on.
                lease.start_term(renewed, sent_at)
                return
            except Refused as refused:
                if refused.kind in ENDED:
                    # A lease that the program released is not lost.
                    if not self.over.is_set():
                        self._lose(refused)
                    return
                if not refused.is_retryable:
                    # For example at the longest holding time: the lease still lasts until its end.
                    self._last_until(lease, refused)
                    return
            except CallFailed as error:
                if time.monotonic() + pause >= lease.until:
                    self._last_until(lease, error)
                    return
            if self.over.wait(max(0.0, min(pause, lease.until - time.monotonic()))):
                return
            if time.monotonic() >= lease.until:
                self._lose("the lease expired because no renewal succeeded")
                return

    def _last_until(self, lease: Lease, why: CallFailed) -> None:
        if not self.over.wait(max(0.0, lease.until - time.monotonic())):
            self._lose(why)


class Holding:
    """Takes boxes at the start of a block and releases them at its end. It may be entered again later."""

    def __init__(self, boxes: Boxes, pool: str, **terms: Any) -> None:
        self._boxes = boxes
        self._pool = pool
        self._terms: Dict[str, Any] = terms
        self._held: Optional[Held] = None

    def __enter__(self) -> Held:
        self._held = self._boxes.acquire(self._pool, **self._terms)
        return self._held

    def __exit__(
        self,
        kind: Optional[Type[BaseException]],
        error: Optional[BaseException],
        trace: Optional[TracebackType],
    ) -> None:
        held, self._held = self._held, None
        if held is not None:
            held.__exit__(kind, error, trace)


#: The renewers with a running thread.
_running: "weakref.WeakSet[_Renewer]" = weakref.WeakSet()


def _release_at_exit() -> None:
    """Finishes releases that an interruption left to threads, which end with the program.

    Boxes that are still held are abandoned before, because finalizers run in reverse order.
    """
    for renewer in list(_running):
        if renewer.is_own() and renewer.over.is_set():
            renewer.release()


atexit.register(_release_at_exit)
