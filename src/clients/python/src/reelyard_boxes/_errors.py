"""The exceptions of the package."""

import warnings
from typing import Any, Mapping, Optional

#: Statuses and problems after which a client may repeat the call.
_RETRYABLE_STATUS = {429, 502, 503, 504, 507}
_RETRYABLE = {"changed-meanwhile", "not-ready"}

#: Statuses and problems after which the node may have done the work. A proxy that lost the node answers with
#: these statuses, too.
_UNCERTAIN_STATUS = {502, 504}
_UNCERTAIN = {"leader-changed", "stopped"}

#: Problems of a node that did nothing and cannot answer now. Another node may answer the same call.
_OF_THIS_NODE = {"not-leader", "no-leader", "starting", "deposed", "behind", "stale"}

#: The other problems with the status 503. A later version may have more: then another node is asked.
_KNOWN_UNAVAILABLE = _OF_THIS_NODE | _UNCERTAIN | {"busy", "host-silent", "too-many-listeners", "unreadable"}

#: The problems of a lease that has ended or never existed.
ENDED = {
    "unknown-lease",
    "wrong-token",
    "lease-released",
    "lease-expired",
    "lease-revoked",
    "lease-never-held",
}


class BoxError(Exception):
    """The base class of all errors of this package."""


class CallFailed(BoxError):
    """A call to the node failed."""

    #: The pause in seconds that the node asked for before the next attempt.
    retry_after: Optional[float] = None

    @property
    def is_retryable(self) -> bool:
        """True if a client may repeat the same call."""
        return True

    @property
    def is_passing(self) -> bool:
        """The old name of ``is_retryable``."""
        warnings.warn("use is_retryable instead of is_passing", DeprecationWarning, stacklevel=2)
        return self.is_retryable

    @property
    def may_have_been_done(self) -> bool:
        """True if the node may have done the work although the call failed."""
        raise NotImplementedError


class Unreachable(CallFailed):
    """No node answered."""

    def __init__(self, message: str, may_have_been_done: bool = False) -> None:
        self._may_have_been_done = may_have_been_done
        super().__init__(message)

    @property
    def may_have_been_done(self) -> bool:
        return self._may_have_been_done


class Refused(CallFailed):
    """The node refused the call.

    ``kind`` is the last part of the problem's type. Later versions keep these words.
    """

    def __init__(
        self, status: int, problem: Mapping[str, Any], retry_after: Optional[float] = None
    ) -> None:
        self.status = status
        self.kind = str(problem.get("type", "")).rsplit(":", 1)[-1]
        self.detail = str(problem.get("detail") or problem.get("title") or "the answer gives no reason")
        self.retry_after = retry_after
        #: True if another node may have done the work before this refusal.
        self.was_asked_before = False
        super().__init__(self.detail)

    @property
    def is_retryable(self) -> bool:
        return self.status in _RETRYABLE_STATUS or self.kind in _RETRYABLE

    @property
    def may_have_been_done(self) -> bool:
        is_uncertain = self.status in _UNCERTAIN_STATUS or self.kind in _UNCERTAIN
        is_unknown = self.status == 503 and self.kind not in _KNOWN_UNAVAILABLE
        return self.was_asked_before or is_uncertain or is_unknown

    @property
    def is_of_this_node(self) -> bool:
        """True if another node may answer the same call."""
        return self.kind in _OF_THIS_NODE or self.may_have_been_done


class NoBoxInTime(BoxError):
    """No box was free within ``wait``."""


class LeaseLost(BoxError):
    """The lease ended while the program used the box. The box may have another holder."""
