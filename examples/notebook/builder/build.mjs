// The notebook's builder: a worker of the bus that is no Go. It claims the jobs of the subscription notebook.build, renders the
// note that each is about, and writes the page, the build and the job's end in one transaction: all three are there, or none.
// So a builder that dies, whenever it does, loses nothing and builds nothing twice; the job comes back when its lease ends.

import pg from "pg";
import MarkdownIt from "markdown-it";

const kind = "notebook.build";
const name = `builder-${process.pid}`;
const lease = "10 seconds"; // rendering takes milliseconds
const leaseLost = "PB001"; // SQLSTATE

const markdown = new MarkdownIt({ html: false, linkify: true }); // raw HTML stays text

// What the build is of stands in the note, and not in the event: events may have been coalesced, and the text is newer then.
const read = `
select n.owner_id, n.title, n.body, p.version
from notebook.publications as p
inner join notebook.notes as n on n.id = p.note_id
where p.note_id = $1
for share of p`;

const write = `
insert into notebook.site_pages as s (note_id, owner_id, version, title, html, assets)
values ($1, $2, $3, $4, $5, $6)
on conflict (note_id) do update
set version = excluded.version, title = excluded.title, html = excluded.html, assets = excluded.assets
where s.version <= excluded.version`;

// One build for each event, however often its job runs.
const settle = `
insert into notebook.builds (event_id, note_id, owner_id, outcome, version, built_by)
values ($1, $2, $3, $4, $5, $6)
on conflict (event_id) do nothing`;

// render answers the page and what it shows from elsewhere.
function render(title, body) {
  const tokens = markdown.parse(body, {});
  const assets = new Set();
  for (const token of tokens) {
    for (const child of token.children ?? []) {
      if (child.type === "image") assets.add(child.attrGet("src"));
    }
  }
  const heading = `<h1>${markdown.utils.escapeHtml(title)}</h1>\n`;
  return { html: heading + markdown.renderer.render(tokens, markdown.options, {}), assets: [...assets] };
}

async function build(db, job) {
  const note = job.event.subject;
  const { rows } = await db.query(read, [note]);
  let outcome = "withdrawn";
  let version = job.event.data.version;
  if (rows.length > 0) {
    const { owner_id, title, body } = rows[0];
    const page = render(title, body);
    outcome = "built";
    version = rows[0].version;
    await db.query(write, [note, owner_id, version, title, page.html, page.assets]);
  }
  await db.query(settle, [job.event.id, note, job.event.owner_id, outcome, version, name]);
  return { outcome, version: Number(version) };
}

async function work(db, job) {
  try {
    await db.query("begin");
    const result = await build(db, job);
    await db.query("select postbus.complete_work($1, $2)", [job.id, result]);
    await db.query("commit");
    console.log(`built     ${job.event.subject} ${result.outcome}, version ${result.version}`);
  } catch (err) {
    await db.query("rollback");
    if (err.code === leaseLost) return; // somebody else has the job by now
    await db.query("select postbus.fail_work($1, $2)", [job.id, String(err.stack ?? err)]);
    console.log(`builder   ${job.event.subject} failed: ${err.message}`);
  }
}

const db = new pg.Client({ connectionString: process.env.DATABASE_URL });
db.on("error", (err) => {
  console.log(`builder   lost the database: ${err.message}`);
  process.exit(1); // whoever started it starts it again
});
await db.connect();

let stopping = false;
let wake = () => {};
const stop = () => {
  stopping = true;
  wake();
};
process.on("SIGTERM", stop);
process.on("SIGINT", stop);
process.stdin.on("end", stop).resume(); // it closes with the process that started this one, however that ends

// New work is told on this channel. A notification is a hint: a look every second finds what it missed, leases that ended among it.
db.on("notification", ({ payload }) => payload === kind && wake());
await db.query("listen postbus_work");
console.log(`builder   ready, process ${process.pid}`);

while (!stopping) {
  const told = new Promise((resolve) => (wake = resolve));
  const { rows } = await db.query("select * from postbus.claim_work(array[$1], $2, 8, $3)", [kind, name, lease]);
  for (const job of rows) await work(db, job);
  if (rows.length === 0 && !stopping) {
    const look = setTimeout(wake, 1000);
    await told;
    clearTimeout(look);
  }
}
await db.end();
