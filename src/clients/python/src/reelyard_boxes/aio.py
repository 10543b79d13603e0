"""The client for asyncio.

    from reelyard_boxes.aio import Boxes

    boxes = Boxes()
    async with boxes.hold("judge", ttl=30, wait=300) as held:
        await judge(box=held.box, token=held.token)

No thread waits: any number of tasks may wait and hold on one event loop. A task that is cancelled while it
waits leaves the queue; one that is cancelled in the block gives its box back.
"""

import asyncio
import functools
import http.client
import inspect
import io
import json
import os
import ssl
import time
import weakref
from types import TracebackType
from typing import Any, Awaitable, Callable, Dict, List, Optional, Set, Tuple, Type, TypeVar, cast

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
from ._wire import Asking, Duration, Lease, Node, Told, lease_path, one_try, pauses

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

#: More than any answer of a node to these calls, in bytes.
_LONGEST_ANSWER = 64 << 20

_Job = TypeVar("_Job", bound=Callable[..., Awaitable[Any]])


class Boxes:
    """A node's boxes. Tasks and event loops may share it: it keeps no connection."""

    def __init__(
        self,
        url: Optional[str] = None,
        token: Optional[str] = None,
        holder: Optional[str] = None,
        context: Optional[ssl.SSLContext] = None,
    ) -> None:
        """
        url     where the node is; by default $REELYARD_URL, or http://127.0.0.1:8080
        token   what the node lets one in by; by default $REELYARD_TOKEN
        holder  how this program is called where nothing else is said; by default host and process
        context an ssl.SSLContext for https
        """
        self._node = Node(url, token, holder, context)

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
        """Boxes to be held: an asynchronous context manager that takes them as it is entered. See
        ``acquire``."""
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
        """A decorator: the coroutine function runs with boxes, which it is given by this name. See
        ``acquire`` for the terms."""

        def decorate(function: _Job) -> _Job:
            if not inspect.iscoroutinefunction(function):
                name = getattr(function, "__name__", function)
                raise TypeError("%s: only a coroutine function can be held for here" % name)

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
        """Takes boxes, all of them or none, and keeps them until they are released.

        ttl         how long they last without a renewal, in seconds; by default as the pool says
        wait        for how long to wait for them, in seconds; 0 tries once
        priority    the higher the more urgent
        count       how many
        request_id  names one attempt, as in "job-17/2": asked for again under the same name by the same
                    holder, the same boxes are answered; once their leases have ended the name is
                    refused
        take_over   goes on with the boxes of another holder that asked under the same name, and must
                    have ended; without it that is refused

        Answers ``Held``. Raises ``NoBoxInTime``, ``Refused`` or ``Unreachable``. An answer that is lost is
        asked for again: nothing is taken twice. A task that is cancelled leaves the queue, and what it was
        granted at that moment is given back.
        """
        terms = (ttl, wait, holder, priority, count)
        asking = Asking(self._node, pool, *terms, request_id, take_over)
        try:
            return await self._acquire(asking)
        except BoxError:
            raise
        except BaseException:
            # It may have come between the answer and its being known here.
            await _finish(self._withdraw(asking))
            raise

    async def _acquire(self, asking: Asking) -> "Held":
        pausing = pauses()
        while True:
            asked = time.monotonic()
            wanted, timeout = asking.now(asked)
            try:
                answer = await self._post(asking.path, wanted, timeout)
                return Held(self, asking.pool, answer["leases"], asked)
            except CallFailed as error:
                pause = asking.pause_after(error, next(pausing))
            await asyncio.sleep(pause)

    async def _withdraw(self, asking: Asking) -> None:
        """Gives back what an interrupted request was granted: asks once more under the same name."""
        until = time.monotonic() + _wire.WITHDRAW_FOR
        try:
            answer = await self._post(asking.path, asking.at_once(), _wire.WITHDRAW_FOR)
            for told in answer["leases"]:
                left = max(_wire.SHORTEST_TRY, until - time.monotonic())
                body = {"token": told["token"]}
                await self._post(lease_path(told["lease_id"], "release"), body, left)
        except Exception as error:
            # Its term ends what was granted, if anything was.
            _wire.log.debug("cannot cancel the request to pool %s: %s", asking.pool, error)

    async def verify(self, lease_id: str, token: int) -> bool:
        """Whether a lease is live and has this token: for the guard of what a box is for."""
        try:
            await self._post(lease_path(lease_id, "verify"), {"token": token})
            return True
        except Refused as refused:
            if refused.kind in ENDED:
                return False
            raise

    async def _post(self, path: str, body: Told, timeout: Optional[float] = None) -> Told:
        """One call. The connection is closed however this ends, which a waiting node notices."""
        timeout = _wire.ANSWER_TIMEOUT if timeout is None else timeout
        exchange = _Exchange(self._node, path, body, min(_wire.CONNECT_TIMEOUT, timeout))
        try:
            status, retry_after, text = await _in_time(exchange.run(), timeout)
        except (OSError, asyncio.TimeoutError, http.client.HTTPException) as error:
            raise self._node.unreachable(error, exchange.was_asked) from error
        return self._node.read(status, retry_after, text)


async def _in_time(work: Awaitable[Any], timeout: float) -> Any:
    """Like ``asyncio.wait_for``, which may lose a cancellation in Python before 3.12."""
    task = asyncio.ensure_future(work)
    try:
        await asyncio.wait({task}, timeout=timeout)
        if not task.done():
            raise asyncio.TimeoutError("no answer within %.1f s" % timeout)
        return task.result()
    finally:
        if not task.done():
            task.cancel()
        # What comes of it now is of no use.
        task.add_done_callback(lambda task: task.cancelled() or task.exception())


#: Tasks that go on although the one that began them is cancelled. The loop knows them only weakly.
_finishing: "Set[asyncio.Future[Any]]" = set()


async def _finish(work: Awaitable[Any]) -> Any:
    """Runs to the end, also if the task that waits for it is cancelled."""
    task = asyncio.ensure_future(work)
    _finishing.add(task)
    task.add_done_callback(_finishing.discard)
    return await asyncio.shield(task)


class _Exchange:
    """One request and its answer, on a connection of its own."""

    def __init__(self, node: Node, path: str, body: Told, connecting: float) -> None:
        self.was_asked = False
        self._node, self._path, self._body, self._connecting = node, path, body, connecting

    async def run(self) -> Tuple[int, Optional[str], bytes]:
        context = self._node.context() if self._node.is_https else None
        connecting = asyncio.open_connection(self._node.host, self._node.port, ssl=context)
        reader, writer = await _in_time(connecting, self._connecting)
        try:
            _wire.keep_alive(writer.get_extra_info("socket"))
            self.was_asked = True
            writer.write(self._request())
            await writer.drain()
            answer = await _read_all(reader)
        finally:
            # At once, without waiting for what is still to be sent.
            writer.transport.abort()
        response = http.client.HTTPResponse(cast(Any, _Answered(answer)), method="POST")
        response.begin()
        return response.status, response.getheader("Retry-After"), response.read()

    def _request(self) -> bytes:
        text = json.dumps(self._body).encode()
        headers = dict(self._node.headers(), Host=self._node.netloc.rpartition("@")[2])
        headers["Content-Length"] = str(len(text))
        headers["Connection"] = "close"
        lines = ["POST %s%s HTTP/1.1" % (self._node.base, self._path)]
        for name, value in headers.items():
            if "\r" in value or "\n" in value:
                raise ValueError("a header cannot hold a line break: %s" % name)
            lines.append("%s: %s" % (name, value))
        return "\r\n".join([*lines, "", ""]).encode("latin-1") + text


async def _read_all(reader: asyncio.StreamReader) -> bytes:
    answer = bytearray()
    while True:
        more = await reader.read(1 << 16)
        answer += more
        if not more:
            return bytes(answer)
        if len(answer) > _LONGEST_ANSWER:
            raise http.client.HTTPException("the answer is too long")


class _Answered:
    """An answer, as http.client reads it."""

    def __init__(self, answer: bytes) -> None:
        self._answer = answer

    def makefile(self, _mode: str) -> io.BytesIO:
        return io.BytesIO(self._answer)


class Held:
    """Boxes in one's hands, renewed by a task until they are released or lost.

    box, token, lease_id   of the first box
    leases                 all of them, if several were asked for
    lost                   an asyncio.Event: set once a lease has ended against one's will
    """

    def __init__(self, boxes: Boxes, pool: str, told: List[Told], asked: float) -> None:
        self._keeper = keeper = _Keeper(boxes, pool, told, asked)
        self.pool, self.leases, self.lost = pool, keeper.leases, keeper.lost
        # The task knows the keeper only: what loses sight of this object has its boxes given back.
        weakref.finalize(self, keeper.abandon)
        keeper.start()

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
        """The lease of the first box."""
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
        """Raises ``LeaseLost`` if the boxes may have another holder by now."""
        keeper = self._keeper
        _wire.check(self.pool, self.leases, keeper.over.is_set(), self.lost.is_set(), keeper.why)

    async def release(self) -> None:
        """Gives the boxes back. Once is enough; what ended already is left as it is. If the task is
        cancelled meanwhile, they are given back all the same."""
        if self._keeper.is_own():
            await self._keeper.release()


class _Keeper:
    """What keeps leases: it renews them, and knows when they are lost."""

    def __init__(self, boxes: Boxes, pool: str, told: List[Told], asked: float) -> None:
        now = time.monotonic()
        self.boxes, self.pool = boxes, pool
        self.leases = [Lease(one, asked, now) for one in told]
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
        """Whether this is the process that took the boxes, and no child that it forked."""
        return os.getpid() == self._process

    def abandon(self) -> None:
        """Nobody has the boxes in hand any more: the task gives them back. Any thread may call this."""
        if self.is_own() and not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self.over.set)

    async def _run(self) -> None:
        try:
            await self._renew()
        except asyncio.CancelledError:
            # As the loop ends.
            if not self.over.is_set():
                self._lose("its event loop ended")
            raise
        except Exception as error:
            # Whatever it is: nobody renews them any more, which their holder is to know.
            self._lose(error)
            _wire.log.exception("boxes of pool %s are not renewed any more", self.pool)
        if self.over.is_set():
            await self.release()

    async def release(self) -> None:
        """Gives them back once, each until that is done or the time for all is over."""
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
                why for lease, why in left if why and why.is_passing and now + pause < lease.until
            ]
            if not again or now + pause >= until:
                break
            await asyncio.sleep(pause)
        for lease, why in left:
            text = "box %s of pool %s is not given back, its term ends it: %s"
            _wire.log.warning(text, lease.box, self.pool, why)

    async def _try_release(self, lease: Lease, until: float) -> Optional[CallFailed]:
        """Why it is not given back; None if it is, or has ended by itself."""
        try:
            path, most = lease_path(lease.lease_id, "release"), one_try(until - time.monotonic())
            await self.boxes._post(path, {"token": lease.token}, most)
        except Refused as refused:
            if refused.kind not in ENDED:
                return refused
            # One whose first answer was lost is told as released, which it is.
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
        """Renews each lease after a third of its term, and gives up when its term is over."""
        while not self.lost.is_set():
            due = min(lease.due for lease in self.leases)
            if await self._is_over_within(due - time.monotonic()):
                return
            for lease in self.leases:
                if lease.due <= time.monotonic():
                    await self._renew_one(lease)

    async def _renew_one(self, lease: Lease) -> None:
        for pause in pauses():
            asked = time.monotonic()
            # An answer that comes after its end is of no use.
            timeout = max(0.01, min(one_try(lease.until - asked), lease.until - asked))
            try:
                path = lease_path(lease.lease_id, "renew")
                # By when it was asked for: the node counts from later on.
                lease.last(await self.boxes._post(path, {"token": lease.token}, timeout), asked)
                return
            except Refused as refused:
                if refused.kind in ENDED:
                    # What was given back meanwhile is not lost.
                    if not self.over.is_set():
                        self._lose(refused)
                    return
                if not refused.is_passing:
                    # One that is held for as long as it may be lasts until its end all the same.
                    await self._last_until(lease, refused)
                    return
            except CallFailed as error:
                if time.monotonic() + pause >= lease.until:
                    await self._last_until(lease, error)
                    return
            if await self._is_over_within(min(pause, lease.until - time.monotonic())):
                return
            if time.monotonic() >= lease.until:
                self._lose("it was not renewed in time")
                return

    async def _last_until(self, lease: Lease, why: CallFailed) -> None:
        if not await self._is_over_within(lease.until - time.monotonic()):
            self._lose(why)


class Holding:
    """Boxes that are taken as a block is entered. It may be entered again, one time after another."""

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
