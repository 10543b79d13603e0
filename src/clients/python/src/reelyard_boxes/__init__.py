"""Takes numbered boxes of a Reelyard node, for programs in which two jobs must never share a box.

    from reelyard_boxes import Boxes

    boxes = Boxes()                       # the node and its token come from REELYARD_URL and REELYARD_TOKEN
    with boxes.hold("judge", ttl=30, wait=300) as held:
        judge(box=held.box, token=held.token)

A thread renews the lease while the block runs. The box is released at the end of the block, also after an
exception. A lease is lost if an operator revokes it, or if no node answers until it expires. Then ``held.lost``
is set, and ``held.check()`` and the end of the block raise ``LeaseLost``.

``reelyard_boxes.aio`` offers the same for asyncio. Both need only the standard library.
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
