"""Tests of both clients with several addresses. The nodes are stand-ins; the tests of Reelyard use real ones."""

import asyncio
import time
import unittest
import unittest.mock

from node import Stub, lease, until
from reelyard_boxes import Boxes, Refused, Unreachable, _wire, aio
from reelyard_boxes._nodes import Address, Nodes

NOBODY = "http://127.0.0.1:9"


def granted(path, body):
    return 200, lease("10m")


def not_leader(path, body):
    return 503, {"type": "urn:reelyard:problem:not-leader", "detail": "no node leads"}


def unknown_refusal(path, body):
    return 503, {"type": "urn:reelyard:problem:moving", "detail": "the yard moves"}


def leases_of(stub):
    return [body["request_id"] for path, body in stub.calls if path.startswith("/pools")]


class Cluster(unittest.TestCase):
    def stub(self, answer, head=""):
        stub = Stub(answer, head)
        self.addCleanup(stub.close)
        return stub

    def both(self, act):
        """Runs ``act`` with the client of threads, and with the one of asyncio."""
        act(lambda url: Boxes(url, token=""))

        class Waiting:
            def __init__(self, url):
                self._boxes = aio.Boxes(url, token="")

            def acquire(self, *args, **more):
                async def acquire():
                    held = await self._boxes.acquire(*args, **more)
                    await held.release()
                    return held

                return asyncio.run(acquire())

        act(Waiting)

    def test_a_call_goes_to_the_first_node_that_answers(self):
        for answer in (not_leader, unknown_refusal, None):
            def act(boxes):
                first = self.stub(answer) if answer else None
                second = self.stub(granted)
                url = "%s,%s" % (first.url if first else NOBODY, second.url)
                self.assertEqual(boxes(url).acquire("p").box, 7)
                if first:
                    self.assertEqual(leases_of(first), leases_of(second))

            self.both(act)

    def test_the_next_node_gets_the_request_of_a_silent_one(self):
        def act(boxes):
            first, second = self.stub(granted), self.stub(granted)
            first.is_paused = True
            began = time.monotonic()
            self.assertEqual(boxes("%s, %s" % (first.url, second.url)).acquire("p").box, 7)
            self.assertLess(time.monotonic() - began, 30)
            self.assertEqual(len(leases_of(first)), 1)
            self.assertEqual(leases_of(first), leases_of(second))

        with unittest.mock.patch.multiple(_wire, LOOK_INTERVAL=0.05, LOOK_TIMEOUT=0.2):
            self.both(act)


    def test_members_are_learned_and_hold_a_lease_when_the_node_dies(self):
        second = self.stub(lambda path, body: (200, lease("60s")))
        head = "Reelyard-Members: %s, https://other.example\r\n" % second.url
        first = self.stub(lambda path, body: (200, lease("3s")), head)
        held = Boxes(first.url, token="").acquire("p")
        first.close()
        with self.assertLogs("reelyard_boxes", "WARNING") as logged:
            until("it is renewed elsewhere", lambda: held.leases[0].until > time.monotonic() + 5)
        self.assertIn("going on at", logged.output[0])
        held.check()
        self.assertEqual([path for path, _ in second.calls], ["/leases/x/renew"])
        held.release()

    def test_each_address_has_its_failure(self):
        def act(boxes):
            with self.assertRaises(Unreachable) as raised:
                boxes(NOBODY + ",http://127.0.0.1:10").acquire("p")
            for part in ("127.0.0.1:9", "127.0.0.1:10", "[Errno 111]", "Start one of them"):
                self.assertIn(part, str(raised.exception))
            with self.assertRaises(Refused) as raised:
                boxes("%s,%s" % (NOBODY, self.stub(not_leader).url)).acquire("p")
            self.assertEqual(raised.exception.kind, "not-leader")

        self.both(act)

    def test_a_token_goes_to_no_node_with_less_protection(self):
        nodes = Nodes("https://a:1", "", None, None)
        nodes.learn(Address("https://a:1"), "http://b:1, https://127.0.0.1:1, https://c:1, nonsense")
        self.assertEqual([str(address) for address in nodes.in_order()], ["a:1", "c:1"])
        with self.assertRaises(ValueError):
            Boxes("http://a:1,ftp://b:1")


if __name__ == "__main__":
    unittest.main()
