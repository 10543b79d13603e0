"""The client for threads. See the package."""

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
from typing import Any, Callable, Dict, List, Optional, Tuple, Type, TypeVar

from . import _wire
from ._errors import ENDED, BoxError, CallFailed, Refused
from ._wire import Asking, Duration, Lease, Node, Told, lease_path, one_try, pauses

_Answer = TypeVar("_Answer")


class Boxes:
    """A node's boxes. Threads and forked children may share it: it keeps no connection."""

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
        """Boxes to be held: a context manager that takes them as it is entered. See ``acquire``."""
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
        """A decorator: the function runs with boxes, which it is given by this name. See ``acquire`` for
        the terms."""

        def decorate(function: Callable[..., _Answer]) -> Callable[..., _Answer]:
            kinds = inspect.iscoroutinefunction, inspect.isgeneratorfunction, inspect.isasyncgenfunction
            if any(is_of_kind(function) for is_of_kind in kinds):
                # Called, it only makes something that runs later.
                why = "%s: a coroutine or generator would leave before it has run"
                raise TypeError(why % getattr(function, "__name__", function))

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
        asked for again: nothing is taken twice. Ctrl-C, or whatever else a signal raises, leaves the queue.
        """
        terms = (ttl, wait, holder, priority, count)
        asking = Asking(self._node, pool, *terms, request_id, take_over)
        try:
            return self._acquire(asking)
        except BoxError:
            raise
        except BaseException:
            # Whatever a signal raised: it may have come between the answer and its being known here.
            self._withdraw(asking)
            raise

    def _acquire(self, asking: Asking) -> "Held":
        pausing = pauses()
        while True:
            asked = time.monotonic()
            wanted, timeout = asking.now(asked)
            try:
                answer = self._post(asking.path, wanted, timeout)
                return Held(self, asking.pool, answer["leases"], asked)
            except CallFailed as error:
                pause = asking.pause_after(error, next(pausing))
            time.sleep(pause)

    def _withdraw(self, asking: Asking) -> None:
        """Gives back what an interrupted request was granted: asks once more under the same name."""
        until = time.monotonic() + _wire.WITHDRAW_FOR
        try:
            answer = self._post(asking.path, asking.at_once(), _wire.WITHDRAW_FOR)
            for told in answer["leases"]:
                left = max(_wire.SHORTEST_TRY, until - time.monotonic())
                self._post(lease_path(told["lease_id"], "release"), {"token": told["token"]}, left)
        except Exception as error:
            # Its term ends what was granted, if anything was.
            _wire.log.debug("cannot cancel the request to pool %s: %s", asking.pool, error)

    def verify(self, lease_id: str, token: int) -> bool:
        """Whether a lease is live and has this token: for a program that guards the use of a box."""
        try:
            self._post(lease_path(lease_id, "verify"), {"token": token})
            return True
        except Refused as refused:
            if refused.kind in ENDED:
                return False
            raise

    def _post(self, path: str, body: Told, timeout: Optional[float] = None) -> Told:
        """One call. The connection is closed however this ends, which a waiting node notices."""
        timeout = _wire.ANSWER_TIMEOUT if timeout is None else timeout
        until = time.monotonic() + timeout
        connection: Optional[http.client.HTTPConnection] = None
        was_asked = False
        try:
            # This fails, too, where the system's certificates cannot be read.
            connection = self._connect(min(_wire.CONNECT_TIMEOUT, timeout))
            connection.connect()
            sock: socket.socket = connection.sock
            _wire.keep_alive(sock)
            sock.settimeout(max(0.01, until - time.monotonic()))
            was_asked = True
            headers = self._node.headers()
            connection.request("POST", self._node.base + path, json.dumps(body), headers)
            response = connection.getresponse()
            text = response.read()
        except (OSError, http.client.HTTPException) as error:
            raise self._node.unreachable(error, was_asked) from error
        finally:
            if connection is not None:
                connection.close()
        return self._node.read(response.status, response.getheader("Retry-After"), text)

    def _connect(self, timeout: float) -> http.client.HTTPConnection:
        host, port = self._node.host, self._node.port
        if self._node.is_https:
            context = self._node.context()
            return http.client.HTTPSConnection(host, port, timeout=timeout, context=context)
        return http.client.HTTPConnection(host, port, timeout=timeout)


class Held:
    """Boxes in one's hands, renewed by a thread until they are released or lost.

    box, token, lease_id   of the first box
    leases                 all of them, if several were asked for
    lost                   a threading.Event: set once a lease has ended against one's will

    They are the process's that took them: in a forked child nothing renews them, and whatever happens
    there gives nothing back.
    """

    def __init__(self, boxes: Boxes, pool: str, told: List[Told], asked: float) -> None:
        self._keeper = keeper = _Keeper(boxes, pool, told, asked)
        self.pool, self.leases, self.lost = pool, keeper.leases, keeper.lost
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

    def __enter__(self) -> "Held":
        return self

    def __exit__(
        self,
        kind: Optional[Type[BaseException]],
        error: Optional[BaseException],
        trace: Optional[TracebackType],
    ) -> None:
        self.release()
        # A forked child knows nothing of later renewals.
        if kind is None and self._keeper.is_own():
            self.check()

    def __repr__(self) -> str:
        return "<%s of pool %s>" % (self.leases, self.pool)

    def check(self) -> None:
        """Raises ``LeaseLost`` if the boxes may have another holder by now."""
        keeper = self._keeper
        _wire.check(self.pool, self.leases, keeper.over.is_set(), self.lost.is_set(), keeper.why)

    def release(self) -> None:
        """Gives the boxes back. Once is enough; what ended already is left as it is. Interrupted, it goes on
        in the thread. In a forked child it does nothing: the boxes are its parent's."""
        # Before any lock, which another thread of the parent may have held as it forked.
        if self._keeper.is_own():
            # From here on the thread gives them back, whatever is raised here.
            self._keeper.abandon()
            # The thread may be in the midst of a renewal that hangs: it is not waited for.
            self._keeper.release()


class _Keeper:
    """What keeps leases: it renews them, and knows when they are lost."""

    def __init__(self, boxes: Boxes, pool: str, told: List[Told], asked: float) -> None:
        now = time.monotonic()
        self.boxes, self.pool = boxes, pool
        self.leases = [Lease(one, asked, now) for one in told]
        self.lost, self.over = threading.Event(), threading.Event()
        self.why: object = None
        self._releasing, self._is_released = threading.Lock(), False
        self._process = os.getpid()

    def is_own(self) -> bool:
        """Whether this is the process that took the boxes, and no child that it forked."""
        return os.getpid() == self._process

    def abandon(self) -> None:
        """Nobody has the boxes in hand any more: the thread gives them back."""
        if self.is_own():
            self.over.set()

    def run(self) -> None:
        _running.add(self)
        try:
            self._renew()
        except Exception as error:
            # Whatever it is: nobody renews them any more, which their holder is to know.
            self._lose(error)
            _wire.log.exception("boxes of pool %s are not renewed any more", self.pool)
        if self.over.is_set():
            self.release()
        _running.discard(self)

    def release(self) -> None:
        """Gives them back once, each until that is done or the time for all is over."""
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
                why for lease, why in left if why and why.is_passing and now + pause < lease.until
            ]
            if not again or now + pause >= until:
                break
            time.sleep(pause)
        for lease, why in left:
            _wire.log.warning("box %s of pool %s is not given back, its term ends it: %s", lease.box, self.pool, why)

    def _try_release(self, lease: Lease, until: float) -> Optional[CallFailed]:
        """Why it is not given back; None if it is, or has ended by itself."""
        try:
            path, most = lease_path(lease.lease_id, "release"), one_try(until - time.monotonic())
            self.boxes._post(path, {"token": lease.token}, most)
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

    def _renew(self) -> None:
        """Renews each lease after a third of its term, and gives up when its term is over."""
        while not self.lost.is_set():
            due = min(lease.due for lease in self.leases)
            if self.over.wait(max(0.0, due - time.monotonic())):
                return
            for lease in self.leases:
                if lease.due <= time.monotonic():
                    self._renew_one(lease)

    def _renew_one(self, lease: Lease) -> None:
        for pause in pauses():
            asked = time.monotonic()
            # An answer that comes after its end is of no use.
            timeout = max(0.01, min(one_try(lease.until - asked), lease.until - asked))
            try:
                path = lease_path(lease.lease_id, "renew")
                # By when it was asked for: the node counts from later on.
                lease.last(self.boxes._post(path, {"token": lease.token}, timeout), asked)
                return
            except Refused as refused:
                if refused.kind in ENDED:
                    # What was given back meanwhile is not lost.
                    if not self.over.is_set():
                        self._lose(refused)
                    return
                if not refused.is_passing:
                    # One that is held for as long as it may be lasts until its end all the same.
                    self._last_until(lease, refused)
                    return
            except CallFailed as error:
                if time.monotonic() + pause >= lease.until:
                    self._last_until(lease, error)
                    return
            if self.over.wait(max(0.0, min(pause, lease.until - time.monotonic()))):
                return
            if time.monotonic() >= lease.until:
                self._lose("it was not renewed in time")
                return

    def _last_until(self, lease: Lease, why: CallFailed) -> None:
        if not self.over.wait(max(0.0, lease.until - time.monotonic())):
            self._lose(why)


class Holding:
    """Boxes that are taken as a block is entered. It may be entered again, one time after another."""

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


#: Those whose thread runs.
_running: "weakref.WeakSet[_Keeper]" = weakref.WeakSet()


def _give_back_at_exit() -> None:
    """Gives back what an interruption left to threads, which end with the program. What is still held is
    abandoned before: finalizers that are registered later run earlier."""
    for keeper in list(_running):
        if keeper.is_own() and keeper.over.is_set():
            keeper.release()


atexit.register(_give_back_at_exit)
