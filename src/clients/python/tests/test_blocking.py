"""Tests of the blocking client with a real node."""

import gc
import os
import signal
import socket
import subprocess
import sys
import textwrap
import threading
import time
import unittest
import unittest.mock

import reelyard_boxes
from node import PATIENCE, URL, Pool, Stub, call, lease, run, until
from reelyard_boxes import Boxes, LeaseLost, NoBoxInTime, Refused, Unreachable, _wire


class BoxesCase(Pool, unittest.TestCase):
    def setUp(self):
        self.create_pool()
        self.boxes = Boxes(URL, holder="a test")


class Holding(BoxesCase):
    def test_a_block_has_a_box_and_releases_it(self):
        with self.boxes.hold(self.pool) as held:
            self.assertEqual(held.box, 40)
            self.assertEqual([lease["token"] for lease in self.leases()], [held.token])
            self.assertTrue(self.boxes.verify(held.lease_id, held.token))
            self.assertFalse(self.boxes.verify(held.lease_id, held.token + 1))
            held.check()
        self.assertEqual(self.leases(), [])
        self.assertFalse(self.boxes.verify(held.lease_id, held.token))

    def test_an_exception_releases_the_box_and_continues(self):
        with self.assertRaises(ZeroDivisionError):
            with self.boxes.hold(self.pool):
                1 / 0
        self.assertEqual(self.leases(), [])

    def test_tokens_grow_and_a_context_manager_can_be_reused(self):
        holding, tokens = self.boxes.hold(self.pool), []
        for _ in range(3):
            with holding as held:
                tokens.append(held.token)
        self.assertEqual(tokens, sorted(set(tokens)))

    def test_a_function_runs_with_a_box(self):
        @self.boxes.held(self.pool, ttl=30)
        def job(number, held=None):
            """Does the job."""
            self.assertEqual(len(self.leases()), 1)
            return number + held.box

        self.assertEqual(job(2), 42)
        self.assertEqual(job.__doc__, "Does the job.")
        self.assertEqual(self.leases(), [])

    def test_coroutines_and_generators_are_refused(self):
        async def coroutine():
            pass

        def generator():
            yield

        async def asynchronous_generator():
            yield

        for job in (coroutine, generator, asynchronous_generator):
            with self.assertRaises(TypeError):
                self.boxes.held(self.pool)(job)

    def test_a_second_release_does_nothing(self):
        held = self.boxes.acquire(self.pool)
        held.release()
        with self.boxes.hold(self.pool) as other:
            held.release()
            self.assertTrue(self.boxes.verify(other.lease_id, other.token))

    def test_renewals_keep_a_box_longer_than_its_term(self):
        with self.boxes.hold(self.pool, ttl=6) as held:
            until("it is renewed three times", lambda: self.leases()[0]["renewals"] >= 3)
            held.check()
            self.assertGreater(held.leases[0].until, time.monotonic())


class Forking(BoxesCase):
    def parent_keeps_its_box(self, end_of_child):
        script = """
            import os, sys
            from reelyard_boxes import Boxes
            with Boxes(%r).hold(%r) as held:
                child = os.fork()
                if child == 0:
                    %s
                else:
                    os.waitpid(child, 0)
                    held.check()
                    assert Boxes(%r).verify(held.lease_id, held.token), "the child released the box"
        """ % (URL, self.pool, end_of_child, URL)
        run([sys.executable, "-c", textwrap.dedent(script)], stderr=subprocess.DEVNULL)
        self.assertEqual(self.leases(), [], "the parent did not release the box")

    def test_a_forked_child_that_ends_leaves_the_box_to_its_parent(self):
        self.parent_keeps_its_box("sys.exit()")

    def test_a_forked_child_that_fails_leaves_the_box_to_its_parent(self):
        self.parent_keeps_its_box("raise ZeroDivisionError")

    def test_a_release_in_a_forked_child_leaves_the_box_to_its_parent(self):
        self.parent_keeps_its_box("held.release(); del held; sys.exit()")


class Interrupted(Boxes):
    """The first answer is followed by an interruption."""

    is_over = False

    def _post(self, *args, **more):
        answer = super()._post(*args, **more)
        if not self.is_over:
            self.is_over = True
            raise KeyboardInterrupt
        return answer


class InterruptedRelease(Boxes):
    """The first release is interrupted."""

    is_over = False

    def _post(self, path, *args, **more):
        if path.endswith("/release") and not self.is_over:
            self.is_over = True
            raise KeyboardInterrupt
        return super()._post(path, *args, **more)


class Releasing(BoxesCase):
    def test_an_interrupted_release_is_finished(self):
        with self.assertRaises(KeyboardInterrupt):
            with InterruptedRelease(URL).hold(self.pool):
                pass
        until("the box is released", lambda: self.leases() == [])
        self.assertEqual(self.pool_state()["totals"]["released"], 1)

    def test_an_interrupted_release_is_finished_before_the_program_ends(self):
        script = """
            import reelyard_boxes
            class Interrupted(reelyard_boxes.Boxes):
                is_over = False
                def _post(self, path, *args, **more):
                    if path.endswith("/release") and not self.is_over:
                        self.is_over = True
                        raise KeyboardInterrupt
                    return super()._post(path, *args, **more)
            with Interrupted(%r).hold(%r):
                pass
        """ % (URL, self.pool)
        command = [sys.executable, "-c", textwrap.dedent(script)]
        ended = subprocess.run(command, stderr=subprocess.PIPE, timeout=PATIENCE)
        self.assertIn(b"KeyboardInterrupt", ended.stderr)
        self.assertEqual(self.leases(), [])


class Waiting(BoxesCase):
    def test_a_grant_to_an_interrupted_call_is_released(self):
        with self.assertRaises(KeyboardInterrupt):
            Interrupted(URL).acquire(self.pool)
        self.assertEqual(self.leases(), [])
        self.assertEqual(self.pool_state()["totals"]["released"], 1)

    def test_an_acquisition_waits_only_if_asked_to(self):
        with self.boxes.hold(self.pool):
            with self.assertRaises(NoBoxInTime):
                self.boxes.acquire(self.pool)
            with self.assertRaises(NoBoxInTime):
                self.boxes.acquire(self.pool, wait=0.2)

    def test_waiters_are_served_in_the_order_of_their_arrival(self):
        held, order, threads = self.boxes.acquire(self.pool), [], []

        def job(number):
            with self.boxes.hold(self.pool, wait=60):
                order.append(number)

        for number in range(5):
            threads.append(threading.Thread(target=job, args=(number,)))
            threads[-1].start()
            until("it waits", lambda: self.waiting() == number + 1)
        held.release()
        for thread in threads:
            thread.join()
        self.assertEqual(order, list(range(5)))

    def test_an_interrupted_program_leaves_the_queue(self):
        script = "from reelyard_boxes import Boxes; Boxes(%r).acquire(%r, wait=600)" % (URL, self.pool)
        for how in (signal.SIGINT, signal.SIGKILL):
            with self.boxes.hold(self.pool):
                process = subprocess.Popen([sys.executable, "-c", script], stderr=subprocess.DEVNULL)
                until("it waits", lambda: self.waiting() == 1)
                process.send_signal(how)
                until("it has left", lambda: self.waiting() == 0)
                process.wait()
            self.boxes.acquire(self.pool).release()


class WaitingLong(BoxesCase):
    size = 2

    def test_a_lease_after_a_long_wait_is_renewed_first(self):
        ttl, got = 18.0, []
        other = self.boxes.acquire(self.pool)
        both = dict(ttl=ttl, wait=600, count=1)
        fresh = self.boxes.acquire(self.pool, holder="fresh", **both)
        waiter = threading.Thread(
            target=lambda: got.append(self.boxes.acquire(self.pool, holder="old", **both))
        )
        waiter.start()
        until("it waits", lambda: self.waiting() == 1)
        began = time.monotonic()
        # More than a tenth of its term, and far less than the third after which the other is due.
        until("it has waited long", lambda: time.monotonic() - began > ttl / 9)
        other.release()
        waiter.join()
        renewals = {}

        def is_renewed():
            renewals.update((lease["holder"], lease["renewals"]) for lease in self.leases())
            return renewals["fresh"] > 0

        until("the fresh one is renewed", is_renewed)
        # One renewal comes at once, and the others as usual.
        self.assertIn(renewals["old"], range(1, 5))
        fresh.release()
        got[0].release()

    def test_a_renewal_is_due_after_a_third_or_at_once(self):
        granted = dict(lease_id="x", box=1, token=1, expires_at="", left="30s")
        fresh = reelyard_boxes.Lease(granted, 100.0, 103.0)
        self.assertAlmostEqual(fresh.due, 110.0)
        self.assertAlmostEqual(fresh.until, 130.0)
        late = reelyard_boxes.Lease(granted, 100.0, 103.1)
        self.assertLessEqual(late.due, time.monotonic())
        self.assertAlmostEqual(late.until, 133.1)
        late.start_term(granted, 200.0)
        self.assertAlmostEqual(late.due, 210.0)


class Several(BoxesCase):
    size = 3

    def test_all_or_none(self):
        with self.boxes.hold(self.pool, count=2) as held:
            self.assertEqual([lease.box for lease in held.leases], [40, 41])
            with self.assertRaises(NoBoxInTime):
                self.boxes.acquire(self.pool, count=2)
            self.assertEqual(len(self.leases()), 2)
        self.assertEqual(self.leases(), [])

    def test_a_repeated_request_is_granted_once(self):
        first = self.boxes.acquire(self.pool, request_id="job 7 " + self.pool)
        again = self.boxes.acquire(self.pool, request_id="job 7 " + self.pool, wait=5)
        self.assertEqual((first.lease_id, first.token), (again.lease_id, again.token))
        self.assertEqual(len(self.leases()), 1)
        first.release()
        again.release()
        self.assertFalse(again.lost.is_set())


class Losing(BoxesCase):
    def test_a_revoked_lease_is_lost(self):
        with self.assertRaises(LeaseLost) as raised:
            with self.boxes.hold(self.pool, ttl=6) as held:
                call("POST", "/leases/%s/revoke" % held.lease_id, {"reason": "maintenance"})
                self.assertTrue(held.lost.wait(PATIENCE))
                with self.assertRaises(LeaseLost):
                    held.check()
        self.assertIn("maintenance", str(raised.exception))

    def test_a_dropped_object_releases_its_box(self):
        held = self.boxes.acquire(self.pool)
        self.assertEqual(len(self.leases()), 1)
        # An exception from a signal handler has the same effect before the block begins.
        del held
        gc.collect()
        until("the box is released", lambda: self.leases() == [])
        self.assertEqual(self.pool_state()["totals"]["released"], 1)

    def test_a_lease_without_renewals_is_lost_by_the_monotonic_clock(self):
        held = self.boxes.acquire(self.pool, ttl=0.5)
        # From here on no node answers.
        held._renewer.boxes = Boxes("http://127.0.0.1:9", token="")
        self.assertTrue(held.lost.wait(PATIENCE))
        self.assertGreaterEqual(time.monotonic(), held.leases[0].until)
        with self.assertRaises(LeaseLost):
            held.check()


class Stubbed(unittest.TestCase):
    """Cases that are rare with a real node."""

    def stub(self, answer):
        stub = Stub(answer)
        self.addCleanup(stub.close)
        return stub, Boxes(stub.url, token="")

    def test_a_connection_that_hangs_does_not_lose_the_lease(self):
        renewals = []

        def answer(path, body):
            if not path.endswith("/renew"):
                return 200, lease("6s")
            renewals.append(path)
            return None if len(renewals) == 1 else (200, lease("10m"))

        _, boxes = self.stub(answer)
        with boxes.hold("p") as held:
            before = held.leases[0].until
            until("it is renewed", lambda: held.lost.is_set() or held.leases[0].until > before)
            held.check()

    def test_a_request_with_an_uncertain_answer_is_repeated_also_without_wait(self):
        for status, kind in ((504, "outcome-unknown"), (503, "leader-changed"), (502, "none")):
            def answer(path, body):
                if len(stub.calls) == 1:
                    return status, {"type": "urn:reelyard:problem:" + kind}
                return 200, lease("10m")

            stub, boxes = self.stub(answer)
            boxes.acquire("p").release()
            names = [body["request_id"] for path, body in stub.calls if path == "/pools/p/leases"]
            self.assertEqual(names, names[:1] * 2)

    def test_an_answer_may_take_long_and_a_dead_node_is_noticed(self):
        connections, seen = [], []

        def answer(path, body):
            sock = connections[-1].sock
            is_kept_alive = sock.getsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE)
            seen.append((path, sock.gettimeout(), is_kept_alive))
            return 200, lease("10m")

        _, boxes = self.stub(answer)
        connect = boxes._connect

        def connected(address, timeout):
            connections.append(connect(address, timeout))
            return connections[-1]

        boxes._connect = connected
        boxes.acquire("p", wait=100).release()
        path, timeout, is_kept_alive = seen[0]
        self.assertEqual((path, is_kept_alive), ("/pools/p/leases", 1))
        self.assertGreater(timeout, 100 + 600)

    def test_a_definite_refusal_is_raised_at_once(self):
        stub, boxes = self.stub(lambda path, body: (503, {"type": "urn:reelyard:problem:busy"}))
        with self.assertRaises(Refused) as raised:
            boxes.acquire("p")
        self.assertEqual((raised.exception.kind, len(stub.calls)), ("busy", 1))

    def test_a_release_ends_in_time(self):
        stub, boxes = self.stub(lambda path, body: (200, lease("10m")) if path.startswith("/pools") else None)
        with unittest.mock.patch.object(_wire, "RELEASE_FOR", 2.0):
            with self.assertLogs("reelyard_boxes", "WARNING"):
                began = time.monotonic()
                boxes.acquire("p").release()
        # A single attempt could take the whole timeout of an answer.
        self.assertLess(time.monotonic() - began, _wire.ANSWER_TIMEOUT / 2)
        self.assertGreater(len(stub.calls), 2)

    def test_a_release_does_not_wait_for_a_renewal_that_hangs(self):
        stub, boxes = self.stub(lambda path, body: None if path.endswith("/renew") else (200, lease("90s")))
        held = boxes.acquire("p")
        # The renewal of the second thread is due at once.
        held.leases[0]._is_old = True
        renewing = threading.Thread(target=held._renewer.run, daemon=True)
        renewing.start()
        until("it is renewed", lambda: any(path.endswith("/renew") for path, _ in stub.calls))
        held._thread, began = renewing, time.monotonic()
        held.release()
        self.assertLess(time.monotonic() - began, _wire.ANSWER_TIMEOUT / 2)
        self.assertEqual(stub.calls[-1][0], "/leases/x/release")
        held.check()

    def test_a_lease_is_lost_if_no_connection_can_be_made(self):
        _, boxes = self.stub(lambda path, body: (200, lease("1s")))
        held = boxes.acquire("p")

        def cannot(address, timeout):
            raise OSError("too many open files")

        boxes._connect = cannot
        self.assertTrue(held.lost.wait(PATIENCE))
        self.assertGreaterEqual(time.monotonic(), held.leases[0].until)

    def test_a_lease_is_lost_if_its_thread_ends(self):
        _, boxes = self.stub(lambda path, body: (200, lease("1s")))
        held = boxes.acquire("p")

        def cannot(address, timeout):
            raise ZeroDivisionError

        with self.assertLogs("reelyard_boxes", "ERROR"):
            boxes._connect = cannot
            self.assertTrue(held.lost.wait(PATIENCE))
            held._thread.join()


class Refusing(BoxesCase):
    def test_a_refusal_has_its_reason(self):
        with self.assertRaises(Refused) as raised:
            self.boxes.acquire(self.pool + "-none", wait=60)
        self.assertEqual((raised.exception.status, raised.exception.kind), (404, "no-pool"))
        with self.assertRaises(Refused) as raised:
            self.boxes.acquire(self.pool, count=5)
        self.assertLess(raised.exception.status, 500)

    def test_no_node_answers(self):
        with self.assertRaises(Unreachable):
            Boxes("http://127.0.0.1:9").acquire(self.pool)
        with self.assertRaises(ValueError):
            Boxes("localhost:8080")
        for address in ("http://ci:hidden@127.0.0.1:9", "ftp://ci:hidden@127.0.0.1:9"):
            with self.assertRaises(ValueError) as raised:
                Boxes(address)
            self.assertNotIn("hidden", str(raised.exception))

    def test_durations_of_the_api_are_read(self):
        durations = {"1m 30s": 90.0, "500ms": 0.5, "2h 1s 5ms": 7201.005, "1day": 86400.0, "2years": 63115200.0}
        for text, seconds in durations.items():
            self.assertAlmostEqual(_wire.parse_duration(text), seconds, msg=text)


if __name__ == "__main__":
    unittest.main()
