#!/usr/bin/env node
// A Postbus worker in Node. It prints a label for each order. Copy it, and put your work in the place of printLabel.
//
//     npm install pg
//     DATABASE_URL=postgres://... node worker.mjs labels
//
// Start as many as you like, anywhere: no job is in two workers' hands at once. The names of kinds are its arguments.
// The contract is in docs/work.md.

import { appendFile } from "node:fs/promises";
import { hostname } from "node:os";
import { setTimeout as sleep } from "node:timers/promises";
import pg from "pg";

const kinds = process.argv.slice(2);
const worker = `node-${hostname()}-${process.pid}`; // the panel shows it
const lease = Number(process.env.LEASE ?? 30); // seconds that a job is ours without a word from us
const printer = process.env.PRINTER ?? "labels.log"; // the world outside of the database

const leaseLost = "PB001"; // SQLSTATE

class Discard extends Error {} // no further attempt would help
class LetGo extends Error {} // this worker is to stop: another one shall have the job
class Snooze extends Error { // it is too early; come back after so many seconds. Spends no attempt
  constructor(seconds) {
    super();
    this.seconds = seconds;
  }
}

// The work. Any other error than those above is a failed attempt, which comes back after a pause. The signal says that the job is
// not ours any more: stop then.
async function printLabel(job, signal) {
  const order = job.event.data; // event is null where the job is not a subscription's but was enqueued: then all is in job.args
  if (order.lines < 1) throw new Discard("an order without lines");
  const early = (order.not_before ?? 0) - Date.now() / 1000;
  if (early > 0) throw new Snooze(early);
  if (order.jam && job.attempt === 1) throw new Error("paper jam");
  for (let line = 0; line < order.lines; line++) {
    await sleep(20);
    signal.throwIfAborted();
  }

  // What is done outside of the database cannot be undone by it. A worker that dies after this line and before the commit does it
  // again: the same event id is printed twice, and whoever reads the labels can tell by it. See docs/work.md.
  await appendFile(printer, job.event.id + "\n");
}

const db = new pg.Client({ connectionString: process.env.DATABASE_URL });
await db.connect(); // a connection that breaks ends the process; what runs it starts it again

let inHand = null; // stops the job that is being worked on
let stopping = false;
let wake = () => {};

async function work(job) {
  const gone = (inHand = new AbortController());
  // The lease is extended three times over while the work goes on. An answer of PB001 (lost) or PB002 (asked to stop) ends the work.
  const extend = setInterval(() => {
    db.query("select postbus.extend_work($1, make_interval(secs => $2))", [job.id, lease]).catch((err) => gone.abort(err));
  }, (lease * 1000) / 3);
  try {
    await printLabel(job, gone.signal);
    clearInterval(extend);
    // Our own row and the job's end are one transaction: both are there, or neither. Where the lease was lost meanwhile
    // complete_work fails and takes the row with it. So the row is there exactly once, whatever dies when.
    await db.query("begin");
    await db.query("insert into labels (kind, event_id, worker) values ($1, $2, $3)", [job.kind, job.event.id, worker]);
    await db.query("select postbus.complete_work($1, $2)", [job.id, { printed_by: worker }]);
    await db.query("commit");
  } catch (err) {
    clearInterval(extend);
    await db.query("rollback");
    await failed(job, err);
  } finally {
    inHand = null;
  }
}

async function failed(job, err) {
  if (err.code === leaseLost) return console.error(`job ${job.job}: the lease is lost, somebody else has it now`);
  if (err instanceof Discard) return fail(job, err.message, "discard");
  if (err instanceof Snooze) return fail(job, "", "snooze", err.seconds);
  if (err instanceof LetGo) return fail(job, "", "snooze", 0);
  // A job that was asked to stop (PB002) is failed like any other: Postbus makes it cancelled.
  return fail(job, String(err), "retry");
}

async function fail(job, error, how, wait = null) {
  try {
    await db.query("select postbus.fail_work($1, $2, $3, make_interval(secs => $4))", [job.id, error, how, wait]);
  } catch (err) {
    if (err.code !== leaseLost) throw err;
  }
}

for (const signal of ["SIGTERM", "SIGINT"]) {
  process.on(signal, () => {
    stopping = true;
    inHand?.abort(new LetGo());
    wake();
  });
}

let news = false;
db.on("notification", () => {
  news = true;
  wake();
});
await db.query("listen postbus_work"); // a kind's name whenever it has a new job

while (!stopping) {
  news = false;
  const { rows } = await db.query("select * from postbus.claim_work($1, $2, 1, make_interval(secs => $3))", [kinds, worker, lease]);
  for (const job of rows) await work(job);
  if (rows.length === 0 && !news && !stopping) {
    // Nobody tells of a job whose pause or whose worker's lease has ended: look once a second.
    await new Promise((resolve) => {
      wake = resolve;
      setTimeout(resolve, 1000);
    });
  }
}
await db.end();
