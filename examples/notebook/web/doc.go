// Package web is the notebook's face: pages to write, edit, delete and search notes, a JSON API beside them, and a live
// view of the bus.
//
// What it promises:
//
//   - A write answers when it is committed and carries a receipt: indexed, or not yet (after 2 s) with the job that will.
//   - Notes can be written while the search service is down; only searching fails then, and says so.
//   - The page of a note says where its latest webhook stands: pending, delivered, or failed and why.
//   - The pages work without JavaScript; with it the console and pending receipts are live.
//   - Text is escaped, whoever wrote it; a note's Markdown is shown without raw HTML, scripts or foreign images.
//   - A write from another site's page is refused. There are no accounts: it is meant for one's own machine.
//
// JSON: POST /notes, GET, PUT and DELETE /notes/{id}, POST /notes/{id}/publish and /withdraw, GET /search?q=. Errors are {"error": "…"}.
package web
