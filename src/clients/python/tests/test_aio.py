"""Tests of the asyncio client with a real node."""

import asyncio
import gc
import time
import unittest
import unittest.mock

from node import PATIENCE, URL, Pool, Stub, call, lease
from reelyard_boxes import _wire
from reelyard_boxes.aio import Boxes, LeaseLost, NoBoxInTime, Refused, Unreachable


async def until(condition, holds):
    """Waits for a condition."""
    end = time.monotonic() + PATIENCE
    while not holds():
        assert time.monotonic() < end, "not in time: " + condition
        await asyncio.sleep(0.01)


class BoxesCase(Pool, unittest.IsolatedAsyncioTestCase):
    def setUp(self):
        self.create_pool()
        self.boxes = Boxes(URL, holder="a test")


class Holding(BoxesCase):
    async def test_a_block_has_a_box_and_releases_it(self):
        async with self.boxes.hold(self.pool) as held:
            self.assertEqual(held.box, 40)
            self.assertEqual([lease["token"] for lease in self.leases()], [held.token])
            self.assertTrue(await self.boxes.verify(held.lease_id, held.token))
            self.assertFalse(await self.boxes.verify(held.lease_id, held.token + 1))
            held.check()
        self.assertEqual(self.leases(), [])
        self.assertFalse(await self.boxes.verify(held.lease_id, held.token))
        await held.release()
        self.assertEqual(self.pool_state()["totals"]["released"], 1)

    async def test_an_exception_releases_the_box_and_continues(self):
        with self.assertRaises(ZeroDivisionError):
            async with self.boxes.hold(self.pool):
                1 / 0
        self.assertEqual(self.leases(), [])

    async def test_a_coroutine_function_runs_with_a_box(self):
        @self.boxes.held(self.pool, ttl=30)
        async def job(number, held=None):
            """Does the job."""
            self.assertEqual(len(self.leases()), 1)
            return number + held.box

        self.assertEqual(await job(2), 42)
        self.assertEqual(job.__doc__, "Does the job.")
        self.assertEqual(self.leases(), [])
        with self.assertRaises(TypeError):
            self.boxes.held(self.pool)(lambda held: None)

    async def test_renewals_keep_a_box_longer_than_its_term(self):
        async with self.boxes.hold(self.pool, ttl=2) as held:
            await until("it is renewed", lambda: self.leases()[0]["renewals"] >= 2)
            held.check()
            self.assertGreater(held.leases[0].until, time.monotonic())

    async def test_a_revoked_lease_is_lost(self):
        with self.assertRaises(LeaseLost) as raised:
            async with self.boxes.hold(self.pool, ttl=2) as held:
                call("POST", "/leases/%s/revoke" % held.lease_id, {"reason": "maintenance"})
                await asyncio.wait_for(held.lost.wait(), PATIENCE)
                with self.assertRaises(LeaseLost):
                    held.check()
        self.assertIn("maintenance", str(raised.exception))

    async def test_a_dropped_object_releases_its_box(self):
        held = await self.boxes.acquire(self.pool)
        self.assertEqual(len(self.leases()), 1)
        del held
        gc.collect()
        await until("the box is released", lambda: self.leases() == [])


class Waiting(BoxesCase):
    size = 4

    async def test_sixty_four_tasks_share_four_boxes_on_one_loop(self):
        using, most = set(), 0

        async def job():
            nonlocal most
            async with self.boxes.hold(self.pool, wait=PATIENCE) as held:
                self.assertNotIn(held.box, using)
                using.add(held.box)
                most = max(most, len(using))
                await asyncio.sleep(0)
                using.remove(held.box)

        began = time.monotonic()
        await asyncio.gather(*(job() for _ in range(64)))
        self.assertLess(time.monotonic() - began, PATIENCE)
        self.assertEqual(self.leases(), [])
        totals = self.pool_state()["totals"]
        self.assertEqual((totals["granted"], totals["released"]), (64, 64))

    async def test_a_cancelled_task_leaves_the_queue(self):
        held = await self.boxes.acquire(self.pool, count=4)
        waiters = [asyncio.ensure_future(self.boxes.acquire(self.pool, wait=600)) for _ in range(2)]
        await until("both wait", lambda: self.waiting() == 2)
        waiters[0].cancel()
        with self.assertRaises(asyncio.CancelledError):
            await waiters[0]
        await until("one has left", lambda: self.waiting() == 1)
        await held.release()
        await (await waiters[1]).release()
        self.assertEqual(self.leases(), [])

    async def test_a_grant_to_a_cancelled_task_is_released(self):
        class Cancelled(Boxes):
            async def _post(self, path, *args):
                answer = await super()._post(path, *args)
                if "/pools/" in path and not task.cancelling_began:
                    task.cancelling_began = True
                    raise asyncio.CancelledError
                return answer

        class Began:
            cancelling_began = False

        task = Began()
        with self.assertRaises(asyncio.CancelledError):
            await Cancelled(URL).acquire(self.pool)
        self.assertEqual(self.leases(), [])
        self.assertEqual(self.pool_state()["totals"]["released"], 1)

    async def test_a_task_cancelled_in_its_block_releases_the_box(self):
        entered = asyncio.Event()

        async def job():
            async with self.boxes.hold(self.pool):
                entered.set()
                await asyncio.sleep(PATIENCE)

        task = asyncio.ensure_future(job())
        await entered.wait()
        task.cancel()
        # A second cancellation comes during the release.
        await asyncio.sleep(0)
        task.cancel()
        with self.assertRaises(asyncio.CancelledError):
            await task
        await until("the box is released", lambda: self.leases() == [])
        self.assertEqual(self.pool_state()["totals"]["released"], 1)

    async def test_an_acquisition_waits_only_if_asked_to(self):
        async with self.boxes.hold(self.pool, count=4):
            for wait in (0, 0.2):
                with self.assertRaises(NoBoxInTime):
                    await self.boxes.acquire(self.pool, wait=wait)

    async def test_a_program_releases_its_boxes_at_its_end(self):
        def program():
            async def main():
                async def job():
                    async with self.boxes.hold(self.pool):
                        await asyncio.sleep(PATIENCE)

                asyncio.ensure_future(job())
                await until("it has a box", lambda: len(self.leases()) == 1)

            asyncio.run(main())

        await asyncio.get_running_loop().run_in_executor(None, program)
        self.assertEqual(self.leases(), [])


class Failing(unittest.IsolatedAsyncioTestCase):
    def stub(self, answer):
        stub = Stub(answer)
        self.addCleanup(stub.close)
        return stub, Boxes(stub.url, token="")

    async def test_no_node_answers(self):
        with self.assertRaises(Unreachable):
            await Boxes("http://127.0.0.1:9").acquire("p")

    async def test_a_refusal_has_its_reason(self):
        with self.assertRaises(Refused) as raised:
            await Boxes(URL).acquire("there-is-none", wait=60)
        self.assertEqual((raised.exception.status, raised.exception.kind), (404, "no-pool"))

    async def test_a_request_with_an_uncertain_answer_is_repeated(self):
        def answer(path, body):
            if len(stub.calls) == 1:
                return 504, {"type": "urn:reelyard:problem:outcome-unknown"}
            return 200, lease("10m")

        stub, boxes = self.stub(answer)
        await (await boxes.acquire("p")).release()
        names = [body["request_id"] for path, body in stub.calls if path == "/pools/p/leases"]
        self.assertEqual(names, names[:1] * 2)

    async def test_a_release_ends_although_the_node_hangs(self):
        stub, boxes = self.stub(
            lambda path, body: (200, lease("10m")) if path.startswith("/pools/") else None
        )
        with unittest.mock.patch.object(_wire, "RELEASE_FOR", 2.0):
            with self.assertLogs("reelyard_boxes", "WARNING"):
                began = time.monotonic()
                held = await boxes.acquire("p")
                await held.release()
        self.assertLess(time.monotonic() - began, _wire.ANSWER_TIMEOUT / 2)
        self.assertGreater(len(stub.calls), 2)

    async def test_a_lease_without_renewals_is_lost_by_the_monotonic_clock(self):
        _, boxes = self.stub(
            lambda path, body: None if path.endswith("/renew") else (200, lease("1s"))
        )
        held = await boxes.acquire("p")
        await asyncio.wait_for(held.lost.wait(), PATIENCE)
        self.assertGreaterEqual(time.monotonic(), held.leases[0].until)
        with self.assertRaises(LeaseLost):
            held.check()

    async def test_another_program_is_no_node(self):
        _, boxes = self.stub(lambda path, body: (200, ["something else"]))
        with unittest.mock.patch.object(_wire, "LOST_ANSWER_RETRY", 0.0):
            with self.assertRaises(Unreachable):
                await boxes.acquire("p")


if __name__ == "__main__":
    unittest.main()
