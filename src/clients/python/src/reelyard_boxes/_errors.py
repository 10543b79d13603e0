"""What is raised."""

from typing import Any, Mapping, Optional

#: Statuses and problems after which the same call may be made again.
_PASSING_STATUS = {429, 502, 503, 504, 507}
_PASSING = {"changed-meanwhile", "not-ready"}

#: Those after which it may have been done all the same. A proxy that has lost the node answers with these
#: statuses, too.
_UNSURE_STATUS = {502, 504}
_UNSURE = {"leader-changed", "stopped"}

#: What a node answers to the holder of a lease that has ended, or never was one.
ENDED = {
    "unknown-lease",
    "wrong-token",
    "lease-released",
    "lease-expired",
    "lease-revoked",
    "lease-never-held",
}


class BoxError(Exception):
    """Any reason for having no box."""


class CallFailed(BoxError):
    """A call to the node failed."""

    #: Seconds after which the node wants to be asked again, if it said so.
    retry_after: Optional[float] = None

    @property
    def is_passing(self) -> bool:
        """Whether the same may be asked again."""
        return True

    @property
    def may_have_been_done(self) -> bool:
        """Whether the node may have done what it was asked for all the same."""
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
    """The node refused. ``kind`` is the last part of the problem's type, and does not change."""

    def __init__(
        self, status: int, problem: Mapping[str, Any], retry_after: Optional[float] = None
    ) -> None:
        self.status = status
        self.kind = str(problem.get("type", "")).rsplit(":", 1)[-1]
        self.detail = str(problem.get("detail") or problem.get("title") or "no reason was given")
        self.retry_after = retry_after
        super().__init__(self.detail)

    @property
    def is_passing(self) -> bool:
        return self.status in _PASSING_STATUS or self.kind in _PASSING

    @property
    def may_have_been_done(self) -> bool:
        return self.status in _UNSURE_STATUS or self.kind in _UNSURE


class NoBoxInTime(BoxError):
    """No box was free within ``wait``."""


class LeaseLost(BoxError):
    """The lease has ended while it was held: the box may have another holder."""
