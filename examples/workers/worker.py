#!/usr/bin/env python3
"""A Postbus worker in Python. It prints a label for each order. Copy it, and put your work in the place of print_label.

    pip install 'psycopg[binary]'          # or Debian's python3-psycopg
    DATABASE_URL=postgres://... python3 worker.py labels

Start as many as you like, anywhere: no job is in two workers' hands at once. The names of kinds are its arguments.
The contract is in docs/work.md.
"""

import json
import os
import select
import signal
import socket
import sys
import time

import psycopg

KINDS = sys.argv[1:]
WORKER = f"python-{socket.gethostname()}-{os.getpid()}"  # the panel shows it
LEASE = float(os.environ.get("LEASE", "30"))  # seconds that a job is ours without a word from us
PRINTER = os.environ.get("PRINTER", "labels.log")  # the world outside of the database

LEASE_LOST, ASKED_TO_STOP = "PB001", "PB002"  # SQLSTATEs
stopping = False


class Discard(Exception):
    """No further attempt would help."""


class Snooze(Exception):
    """It is too early; come back after so many seconds. Spends no attempt."""

    def __init__(self, seconds):
        self.seconds = seconds


class LetGo(Exception):
    """This worker is to stop: another one shall have the job."""


def print_label(job, keep):
    """The work. Any other exception than those above is a failed attempt, which comes back after a pause."""
    event = job["event"]  # None where the job is not a subscription's but was enqueued: then all is in job["args"]
    order = event["data"]
    if order["lines"] < 1:
        raise Discard("an order without lines")
    if order.get("not_before", 0) > time.time():
        raise Snooze(order["not_before"] - time.time())
    if order.get("jam") and job["attempt"] == 1:
        raise RuntimeError("paper jam")
    for _ in range(order["lines"]):
        time.sleep(0.02)
        keep()  # between two steps: say that we are alive

    # What is done outside of the database cannot be undone by it. A worker that dies after this line and before the commit
    # does it again: the same event id is printed twice, and whoever reads the labels can tell by it. See docs/work.md.
    with open(PRINTER, "a") as printer:
        printer.write(f"{event['id']}\n")


def work(conn, job):
    said = time.monotonic()

    def keep():
        nonlocal said
        if stopping:
            raise LetGo
        if time.monotonic() - said > LEASE / 3:
            conn.execute("select postbus.extend_work(%s, make_interval(secs => %s))", (job["id"], LEASE))
            said = time.monotonic()

    try:
        print_label(job, keep)
        # Our own row and the job's end are one transaction: both are there, or neither. Where the lease was lost meanwhile
        # complete_work fails and takes the row with it. So the row is there exactly once, whatever dies when.
        with conn.transaction():
            conn.execute("insert into labels (kind, event_id, worker) values (%s, %s, %s)", (job["kind"], job["event"]["id"], WORKER))
            conn.execute("select postbus.complete_work(%s, %s)", (job["id"], json.dumps({"printed_by": WORKER})))
    except Discard as reason:
        fail(conn, job, str(reason), "discard")
    except Snooze as nap:
        fail(conn, job, "", "snooze", nap.seconds)
    except LetGo:
        fail(conn, job, "", "snooze", 0)
    except Exception as err:
        if conn.broken:
            raise  # nothing can be said any more; the lease ends by itself
        fail(conn, job, f"{type(err).__name__}: {err}", "retry", state=sqlstate(err))


def fail(conn, job, error, how, wait=None, state=None):
    if state == LEASE_LOST:
        print(f"job {job['job']}: the lease is lost, somebody else has it now", file=sys.stderr)
        return
    # A job that was asked to stop (ASKED_TO_STOP) is failed like any other: Postbus makes it cancelled.
    try:
        conn.execute("select postbus.fail_work(%s, %s, %s, make_interval(secs => %s))", (job["id"], error, how, wait))
    except psycopg.Error as err:
        if sqlstate(err) != LEASE_LOST:
            raise


def sqlstate(err):
    return err.diag.sqlstate if isinstance(err, psycopg.Error) else None


def stop(*_):
    global stopping
    stopping = True  # the job in hand is let go of at its next step


def main():
    signal.signal(signal.SIGTERM, stop)
    signal.signal(signal.SIGINT, stop)
    with psycopg.connect(os.environ["DATABASE_URL"], autocommit=True, row_factory=psycopg.rows.dict_row) as conn:
        news = []
        conn.add_notify_handler(news.append)
        conn.execute("listen postbus_work")  # a kind's name whenever it has a new job
        while not stopping:
            news.clear()
            jobs = conn.execute(
                "select * from postbus.claim_work(%s, %s, 1, make_interval(secs => %s))", (KINDS, WORKER, LEASE)
            ).fetchall()
            for job in jobs:
                work(conn, job)
            if not jobs and not news:
                # Nobody tells of a job whose pause or whose worker's lease has ended: look once a second.
                select.select([conn], [], [], 1)


if __name__ == "__main__":
    main()
