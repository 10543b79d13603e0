"""The nodes of one cluster: their addresses, the one in use, and the reader of their answers."""

import http.client
import io
import ipaddress
import json
import logging
import os
import socket
import ssl
import urllib.parse
from typing import Any, Dict, Iterator, List, Mapping, Optional, Tuple, cast

from ._errors import CallFailed, Refused, Unreachable

log = logging.getLogger("reelyard_boxes")

#: The header of an answer with the addresses of all members of the cluster.
MEMBERS = "Reelyard-Members"

#: The most members that a client learns from one answer.
_MOST_LEARNED = 32

#: A limit for answers, in bytes. It is more than any answer of a node to these calls.
_LONGEST_ANSWER = 64 << 20


class Address:
    """The address of one node."""

    def __init__(self, url: str) -> None:
        parts = urllib.parse.urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            shown = url.rpartition("@")[2]
            raise ValueError("the address %r is invalid: give http://host:port or https://host:port" % shown)
        if parts.username is not None or parts.password is not None:
            message = "the address of %s has a user name or a password: remove it, and give a token instead"
            raise ValueError(message % parts.hostname)
        self.scheme = parts.scheme
        self.host: str = parts.hostname
        self.netloc = parts.netloc
        self.is_https = parts.scheme == "https"
        self.port = parts.port or (443 if self.is_https else 80)
        self.base = parts.path.rstrip("/")

    def _key(self) -> Tuple[str, str, int, str]:
        return self.scheme, self.host, self.port, self.base

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Address) and self._key() == other._key()

    def __hash__(self) -> int:
        return hash(self._key())

    def __str__(self) -> str:
        return self.netloc

    @property
    def is_loopback(self) -> bool:
        """True if the address names the host of this program."""
        try:
            return self.host == "localhost" or ipaddress.ip_address(self.host).is_loopback
        except ValueError:
            return False


class Nodes:
    """The nodes that a client may call, with the token for them.

    Each attribute changes by one assignment, so threads need no lock. A forked child could find a lock locked.
    """

    def __init__(
        self,
        url: Optional[str],
        token: Optional[str],
        holder: Optional[str],
        context: Optional[ssl.SSLContext],
    ) -> None:
        url = url or os.environ.get("REELYARD_URL") or "http://127.0.0.1:8080"
        self._given = [Address(one.strip()) for one in url.split(",")]
        self._learned: List[Address] = []
        self._current = self._given[0]
        self.has_answered = False
        self._token = token if token is not None else os.environ.get("REELYARD_TOKEN")
        self._holder = holder
        self._context = context

    def in_order(self) -> List[Address]:
        """Returns all nodes in the order in which they are tried: the one in use is the first."""
        every = list(dict.fromkeys(self._given + self._learned))
        current = self._current
        if current not in every:
            # It is no member any more, and answers.
            return [current] + every
        place = every.index(current)
        return every[place:] + every[:place]

    def has_others(self) -> bool:
        """Returns whether a call may go to another node."""
        return len(self.in_order()) > 1

    def learn(self, address: Address, members: Optional[str]) -> None:
        """Replaces the learned members by those that the node at ``address`` names.

        The client sends its token to them, so a member counts only if it has the scheme of that node. A member on
        loopback is meant for the host of the node.
        """
        learned: List[Address] = []
        for text in (members or "").split(",")[:_MOST_LEARNED]:
            try:
                member = Address(text.strip())
            except ValueError:
                continue
            if member.scheme == address.scheme and (address.is_loopback or not member.is_loopback):
                learned.append(member)
        if learned:
            self._learned = learned

    def use(self, address: Address, failed: "List[Tuple[Address, CallFailed]]") -> None:
        """Uses a node that has answered from now on."""
        if failed and address != self._current and self.has_answered:
            log.warning("%s; going on at %s", _in_words(failed), address)
        self._current, self.has_answered = address, True

    def headers(self) -> Dict[str, str]:
        headers = {"Content-Type": "application/json", "Accept": "application/json", "Connection": "close"}
        if self._token:
            headers["Authorization"] = "Bearer " + self._token
        return headers

    def context(self) -> ssl.SSLContext:
        return self._context or ssl.create_default_context()

    def holder(self, holder: Optional[str]) -> str:
        return holder or self._holder or "%s/%d" % (socket.gethostname(), os.getpid())

    def read(self, address: Address, answer: bytes) -> Dict[str, Any]:
        """Reads an answer. Raises ``Refused``, or ``Unreachable`` if the answer is not from a node."""
        response = http.client.HTTPResponse(cast(Any, _AnswerSocket(answer)), method="POST")
        try:
            response.begin()
            text = response.read()
        except http.client.HTTPException as error:
            raise unreachable(address, error, True) from error
        self.learn(address, response.getheader(MEMBERS))
        try:
            read = json.loads(text)
        except ValueError:
            read = None
        if response.status >= 400:
            after = response.getheader("Retry-After") or ""
            problem: Mapping[str, Any] = read if isinstance(read, dict) else {}
            raise Refused(response.status, problem, float(after) if after.isdigit() else None)
        if response.status >= 300 or not isinstance(read, dict):
            # Perhaps a proxy answered.
            raise Unreachable("the program at %s is not a Reelyard node" % address, True)
        return read


class Attempts:
    """The nodes that one call tries, each once."""

    def __init__(self, nodes: Nodes) -> None:
        self._nodes = nodes
        self._order = nodes.in_order()
        self._failed: List[Tuple[Address, CallFailed]] = []

    def __iter__(self) -> Iterator[Address]:
        return iter(self._order)

    def answered(self, address: Address) -> None:
        """Notes a node that has answered the call."""
        self._nodes.use(address, self._failed)

    def failed(self, address: Address, error: CallFailed) -> None:
        """Notes a failure. Raises it if another node would answer the same."""
        if isinstance(error, Refused) and not error.is_of_this_node:
            error.was_asked_before = self._was_asked()
            self._nodes.use(address, self._failed)
            raise error
        self._failed.append((address, error))

    def error(self) -> CallFailed:
        """Returns the error of the whole call, after all nodes have failed."""
        refused = [error for _, error in self._failed if isinstance(error, Refused)]
        if refused:
            refused[-1].was_asked_before = self._was_asked()
            return refused[-1]
        if len(self._failed) == 1:
            return self._failed[0][1]
        text = "%s. Start one of them, or give other addresses" % _in_words(self._failed)
        return Unreachable(text, self._was_asked())

    def _was_asked(self) -> bool:
        return any(error.may_have_been_done for _, error in self._failed)


def _in_words(failed: "List[Tuple[Address, CallFailed]]") -> str:
    return "; ".join(str(error) for _, error in failed)


def unreachable(address: Address, error: BaseException, was_sent: bool) -> Unreachable:
    return Unreachable("no node answers at %s: %s" % (address, error or type(error).__name__), was_sent)


def check_length(answer: bytearray) -> None:
    """Raises an error if an answer is longer than any of a node."""
    if len(answer) > _LONGEST_ANSWER:
        raise http.client.HTTPException("the answer is longer than %d bytes" % _LONGEST_ANSWER)


class _AnswerSocket:
    """Gives the bytes of an answer to ``http.client``, which reads from a socket."""

    def __init__(self, answer: bytes) -> None:
        self._answer = answer

    def makefile(self, _mode: str) -> io.BytesIO:
        return io.BytesIO(self._answer)
