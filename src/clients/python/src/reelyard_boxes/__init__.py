"""Numbered boxes of a Reelyard node, for programs in which two jobs must never share one.

    from reelyard_boxes import Boxes

    boxes = Boxes()                       # REELYARD_URL and REELYARD_TOKEN say where
    with boxes.hold("judge", ttl=30, wait=300) as held:
        judge(box=held.box, token=held.token)

While the block runs a thread renews the lease. However the block is left, the box is given back. If the
lease is lost meanwhile, because it was revoked or the node could not be reached for as long as it lasts,
``held.lost`` is set, ``held.check()`` raises, and so does the end of the block.

``reelyard_boxes.aio`` has the same for asyncio. Both need the standard library only.
"""

from ._blocking import Boxes, Held
from ._errors import BoxError, LeaseLost, NoBoxInTime, Refused, Unreachable
from ._wire import Lease

__version__ = "0.1.0"

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
