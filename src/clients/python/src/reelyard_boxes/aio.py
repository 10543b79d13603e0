"""The client for asyncio.

    from reelyard_boxes.aio import Boxes

    boxes = Boxes()
    async with boxes.hold("judge", ttl=30, wait=300) as held:
        await judge(box=held.box, token=held.token)

The client uses no threads: any number of tasks can wait and hold boxes on one event loop. A task that is
cancelled during its wait leaves the queue. A task that is cancelled in its block releases its box.
"""

import asyncio
import functools
import http.client
import inspect
import json
import os
import ssl
import time
import weakref
from types import TracebackType
from typing import Any, Awaitable, Callable, Dict, List, Optional, Set, Tuple, Type, TypeVar, Union, cast

from . import _wire
from ._errors import (
    ENDED,
    BoxError,
    CallFailed,
    LeaseLost,
    NoBoxInTime,
    Refused,
    Unreachable,
)
from ._nodes import Address, Attempts, Nodes, check_length, unreachable
from ._wire import AcquireRequest, Duration, Json, Lease, lease_path, pauses, try_timeout

__all__ = [
    "Boxes",
    "Held",
    "Lease",
    "BoxError",
    "Unreachable",
    "Refused",
    "NoBoxInTime",
    "LeaseLost",
]

_Job = TypeVar("_Job", bound=Callable[..., Awaitable[Any]])


class Boxes:
    """The boxes of a cluster, or of a node that runs alone. Tasks and event loops may share it, because it keeps no connection."""

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
        """Returns an asynchronous context manager that holds boxes during its block.

        ``acquire`` describes the arguments.
        """
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

    def held(self, pool: str, argument: str = "held", **terms: Any) -> Callable[[_Job], _Job]:
        """Returns a decorator that holds boxes while the coroutine function runs.

        The function gets them as the keyword argument with the name ``argument``. ``acquire`` describes
        ``terms``.
        """

        def decorate(function: _Job) -> _Job:
            if not inspect.iscoroutinefunction(function):
                name = getattr(function, "__name__", function)
                raise TypeError("%s: not a coroutine function; use the Boxes of reelyard_boxes" % name)

            @functools.wraps(function)
            async def with_boxes(*args: Any, **kwargs: Any) -> Any:
                async with self.hold(pool, **terms) as held:
                    kwargs[argument] = held
                    return await function(*args, **kwargs)

            return cast(_Job, with_boxes)

        return decorate

    async def acquire(
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
        request with a lost answer, and the node grants it only once. A cancelled task leaves the queue
        and releases a box that was granted at that moment.
        """
        terms = (ttl, wait, holder, priority, count)
        request = AcquireRequest(self._nodes, pool, *terms, request_id, take_over)
        try:
            return await self._acquire(request)
        except BoxError:
            raise
        except BaseException:
            # The exception may have come just after the answer.
            await _finish(self._withdraw(request))
            raise

    async def _acquire(self, request: AcquireRequest) -> "Held":
        retry_pauses = pauses()
        if request.waits():
            await self._learn_members()
        while True:
            sent_at = time.monotonic()
            try:
                answer = await self._post(request.path, request.body, request.timeout())
                return Held(self, request.pool, answer["leases"], sent_at)
            except CallFailed as error:
                pause = request.pause_after(error, next(retry_pauses))
            await asyncio.sleep(pause)

    async def _withdraw(self, request: AcquireRequest) -> None:
        """Releases boxes that an interrupted request may have got. It repeats the request to learn them."""
        until = time.monotonic() + _wire.WITHDRAW_FOR
        try:
            answer = await self._post(request.path, request.body_without_wait(), _wire.WITHDRAW_FOR)
            for lease in answer["leases"]:
                left = max(_wire.SHORTEST_TRY, until - time.monotonic())
                body = {"token": lease["token"]}
                await self._post(lease_path(lease["lease_id"], "release"), body, left)
        except Exception as error:
            # A granted lease then expires.
            _wire.log.debug("cannot cancel the request to pool %s: %s", request.pool, error)

    async def verify(self, lease_id: str, token: int) -> bool:
        """Returns whether a lease is live and has this fencing token. For services that guard a resource."""
        try:
            await self._post(lease_path(lease_id, "verify"), {"token": token})
            return True
        except Refused as refused:
            if refused.kind in ENDED:
                return False
            raise

    async def _post(
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
                text = json.dumps(body() if callable(body) else body).encode()
                exchange = _Exchange(self._nodes, address, "POST", path, text)
                answer = self._nodes.read(address, await exchange.within(left))
                if "lease_id" not in answer:
                    raise Unreachable("the program at %s is not a Reelyard node" % address, True)
                attempts.answered(address)
                return answer
            except CallFailed as error:
                attempts.failed(address, error)
            if until is not None and time.monotonic() >= until:
                break
        raise attempts.error()

    async def _learn_members(self) -> None:
        """Learns the members before a call that may wait long. The call has the same failures."""
        if not self._nodes.has_answered:
            address = self._nodes.in_order()[0]
            exchange = _Exchange(self._nodes, address, "GET", "/api/v1/whoami", b"")
            try:
                answer = await exchange.within(_wire.LOOK_INTERVAL + _wire.LOOK_TIMEOUT)
                self._nodes.read(address, answer)
                self._nodes.use(address, [])
            except CallFailed as error:
                _wire.log.debug("the members of the cluster are not known: %s", error)


async def _in_time(work: Awaitable[Any], timeout: float) -> Any:
    """Waits for ``work``. ``asyncio.wait_for`` can lose a cancellation in Python before 3.12."""
    task = asyncio.ensure_future(work)
    try:
        await asyncio.wait({task}, timeout=timeout)
        if not task.done():
            raise asyncio.TimeoutError("it does not answer")
        return task.result()
    finally:
        _end(task)


def _end(task: "asyncio.Future[Any]") -> None:
    """Cancels a task that is not done. A late result is useless, and a late error must not be logged."""
    if not task.done():
        task.cancel()
    task.add_done_callback(lambda task: task.cancelled() or task.exception())


#: Tasks that continue after a cancellation of their creator. The loop keeps only weak references to tasks.
_finishing: "Set[asyncio.Future[Any]]" = set()


async def _finish(work: Awaitable[Any]) -> Any:
    """Runs ``work`` to its end, also if the waiting task is cancelled."""
    task = asyncio.ensure_future(work)
    _finishing.add(task)
    task.add_done_callback(_finishing.discard)
    return await asyncio.shield(task)


class _Exchange:
    """One request to one node, and its answer, on a separate connection."""

    def __init__(self, nodes: Nodes, address: Address, method: str, path: str, body: bytes) -> None:
        self._was_sent = False
        self._nodes, self._address = nodes, address
        self._method, self._path, self._body = method, path, body

    async def within(self, timeout: float) -> bytes:
        """Returns the whole answer with its head. Looks at a node that takes long, if another one is known."""
        until = time.monotonic() + timeout
        running = asyncio.ensure_future(self._run(min(_wire.CONNECT_TIMEOUT, timeout)))
        try:
            while not running.done():
                left = until - time.monotonic()
                if left <= 0:
                    raise asyncio.TimeoutError("it does not answer")
                is_watched = self._nodes.has_others()
                await asyncio.wait({running}, timeout=min(left, _wire.LOOK_INTERVAL) if is_watched else left)
                if is_watched and not running.done() and time.monotonic() < until:
                    await self._look(running)
            return running.result()
        except (OSError, asyncio.TimeoutError, http.client.HTTPException) as error:
            raise unreachable(self._address, error, self._was_sent) from error
        finally:
            _end(running)

    async def _run(self, connect_timeout: float) -> bytes:
        reader, writer = await _in_time(self._connect(), connect_timeout)
        try:
            _wire.keep_alive(writer.get_extra_info("socket"))
            self._was_sent = True
            writer.write(self._request())
            await writer.drain()
            return await _read_all(reader)
        finally:
            # This discards unsent bytes and does not wait.
            writer.transport.abort()

    async def _look(self, running: "asyncio.Future[bytes]") -> None:
        """Raises an error if the node answers neither a short call nor the running one."""
        try:
            await _in_time(self._see(), _wire.LOOK_TIMEOUT)
        except (OSError, asyncio.TimeoutError):
            if not running.done():
                raise

    async def _see(self) -> None:
        reader, writer = await self._connect()
        try:
            head = "HEAD %s/healthz HTTP/1.1\r\nHost: %s\r\nConnection: close\r\n\r\n"
            writer.write((head % (self._address.base, self._address.netloc)).encode("latin-1"))
            if not await reader.read(1):
                raise OSError("it closed the connection")
        finally:
            writer.transport.abort()

    async def _connect(self) -> Tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        context = self._nodes.context() if self._address.is_https else None
        return await asyncio.open_connection(self._address.host, self._address.port, ssl=context)

    def _request(self) -> bytes:
        headers = dict(self._nodes.headers(), Host=self._address.netloc)
        headers["Content-Length"] = str(len(self._body))
        lines = ["%s %s%s HTTP/1.1" % (self._method, self._address.base, self._path)]
        for name, value in headers.items():
            if "\r" in value or "\n" in value:
                raise ValueError("a header cannot hold a line break: %s" % name)
            lines.append("%s: %s" % (name, value))
        return "\r\n".join([*lines, "", ""]).encode("latin-1") + self._body


async def _read_all(reader: asyncio.StreamReader) -> bytes:
    answer = bytearray()
    while True:
        more = await reader.read(1 << 16)
        answer += more
        if not more:
            return bytes(answer)
        check_length(answer)


class Held:
    """Boxes that this program holds. A task renews their leases until they are released or lost.

    box, token, lease_id   the id, the fencing token and the lease of the first box
    leases                 the leases of all boxes
    lost                   an asyncio.Event that is set if a lease ended before its release
    """

    def __init__(self, boxes: Boxes, pool: str, granted: List[Json], sent_at: float) -> None:
        self._renewer = renewer = _Renewer(boxes, pool, granted, sent_at)
        self.pool, self.leases, self.lost = pool, renewer.leases, renewer.lost
        # The task refers only to the renewer. So a program that drops this object releases its boxes.
        weakref.finalize(self, renewer.abandon)
        renewer.start()

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

    async def __aenter__(self) -> "Held":
        return self

    async def __aexit__(
        self,
        kind: Optional[Type[BaseException]],
        error: Optional[BaseException],
        trace: Optional[TracebackType],
    ) -> None:
        await self.release()
        if kind is None:
            self.check()

    def __repr__(self) -> str:
        return "<%s of pool %s>" % (self.leases, self.pool)

    def check(self) -> None:
        """Raises ``LeaseLost`` if the boxes may have another holder."""
        renewer = self._renewer
        _wire.check(self.pool, self.leases, renewer.over.is_set(), self.lost.is_set(), renewer.why)

    async def release(self) -> None:
        """Releases the boxes, also if the task is cancelled meanwhile.

        A second call and an ended lease do no harm.
        """
        if self._renewer.is_own():
            await self._renewer.release()


class _Renewer:
    """Renews leases and notices their loss."""

    def __init__(self, boxes: Boxes, pool: str, granted: List[Json], sent_at: float) -> None:
        now = time.monotonic()
        self.boxes, self.pool = boxes, pool
        self.leases = [Lease(one, sent_at, now) for one in granted]
        self.lost, self.over = asyncio.Event(), asyncio.Event()
        self.why: object = None
        self._loop = asyncio.get_running_loop()
        self._releasing: "Optional[asyncio.Future[Any]]" = None
        self._process = os.getpid()

    def start(self) -> None:
        task = self._loop.create_task(self._run())
        _finishing.add(task)
        task.add_done_callback(_finishing.discard)

    def is_own(self) -> bool:
        """Returns whether this process took the boxes. A forked child did not."""
        return os.getpid() == self._process

    def abandon(self) -> None:
        """Lets the task release the boxes. Any thread may call this."""
        if self.is_own() and not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self.over.set)

    async def _run(self) -> None:
        try:
            await self._renew()
        except asyncio.CancelledError:
            # The event loop ends.
            if not self.over.is_set():
                self._lose("its event loop ended")
            raise
        except Exception as error:
            # The renewal ends here, so the holder must learn that the leases are lost.
            self._lose(error)
            _wire.log.exception("the boxes of pool %s are lost: the renewal failed", self.pool)
        if self.over.is_set():
            await self.release()

    async def release(self) -> None:
        """Releases the boxes once, with retries for at most ``RELEASE_FOR`` seconds."""
        if self._releasing is None:
            self.over.set()
            self._releasing = asyncio.ensure_future(self._release())
            _finishing.add(self._releasing)
            self._releasing.add_done_callback(_finishing.discard)
        await asyncio.shield(self._releasing)

    async def _release(self) -> None:
        until = time.monotonic() + _wire.RELEASE_FOR
        left: List[Tuple[Lease, Optional[CallFailed]]] = [(lease, None) for lease in self.leases]
        for pause in pauses():
            tried = [(lease, await self._try_release(lease, until)) for lease, _ in left]
            left = [(lease, why) for lease, why in tried if why is not None]
            now = time.monotonic()
            again = [
                why for lease, why in left if why and why.is_retryable and now + pause < lease.until
            ]
            if not again or now + pause >= until:
                break
            await asyncio.sleep(pause)
        for lease, why in left:
            text = "cannot release box %s of pool %s, so its lease will expire: %s"
            _wire.log.warning(text, lease.box, self.pool, why)

    async def _try_release(self, lease: Lease, until: float) -> Optional[CallFailed]:
        """Tries to release a lease. Returns the error, or None if the lease has ended."""
        try:
            path = lease_path(lease.lease_id, "release")
            timeout = try_timeout(until - time.monotonic())
            await self.boxes._post(path, {"token": lease.token}, timeout, until)
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

    async def _is_over_within(self, duration: float) -> bool:
        waiting = asyncio.ensure_future(self.over.wait())
        try:
            await asyncio.wait({waiting}, timeout=max(0.0, duration))
        finally:
            waiting.cancel()
        return self.over.is_set()

    async def _renew(self) -> None:
        """Renews each lease after a third of its term. A lease that expires is lost."""
        while not self.lost.is_set():
            due = min(lease.due for lease in self.leases)
            if await self._is_over_within(due - time.monotonic()):
                return
            for lease in self.leases:
                if lease.due <= time.monotonic():
                    await self._renew_one(lease)

    async def _renew_one(self, lease: Lease) -> None:
        for pause in pauses():
            sent_at = time.monotonic()
            left = lease.until - sent_at
            # An answer after the end of the lease is useless.
            timeout = max(0.01, min(try_timeout(left), left))
            try:
                path = lease_path(lease.lease_id, "renew")
                body = {"token": lease.token}
                renewed = await self.boxes._post(path, body, timeout, lease.until)
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
                    await self._last_until(lease, refused)
                    return
            except CallFailed as error:
                if time.monotonic() + pause >= lease.until:
                    await self._last_until(lease, error)
                    return
            if await self._is_over_within(min(pause, lease.until - time.monotonic())):
                return
            if time.monotonic() >= lease.until:
                self._lose("the lease expired because no renewal succeeded")
                return

    async def _last_until(self, lease: Lease, why: CallFailed) -> None:
        if not await self._is_over_within(lease.until - time.monotonic()):
            self._lose(why)


class Holding:
    """Takes boxes at the start of a block and releases them at its end. It may be entered again later."""

    def __init__(self, boxes: Boxes, pool: str, **terms: Any) -> None:
        self._boxes = boxes
        self._pool = pool
        self._terms: Dict[str, Any] = terms
        self._held: Optional[Held] = None

    async def __aenter__(self) -> Held:
        self._held = await self._boxes.acquire(self._pool, **self._terms)
        return self._held

    async def __aexit__(
        self,
        kind: Optional[Type[BaseException]],
        error: Optional[BaseException],
        trace: Optional[TracebackType],
    ) -> None:
        held, self._held = self._held, None
        if held is not None:
            await held.__aexit__(kind, error, trace)
