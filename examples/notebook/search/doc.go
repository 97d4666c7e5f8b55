// Package search is the notebook's search service: a full-text index behind a small HTTP API, and the client for it.
//
// What it promises:
//
//   - A write that was answered is on disk.
//   - An older version never replaces a newer one, in whatever order they arrive. A deletion has a version too and stays
//     as a tombstone, so that a late write cannot bring the document back.
//   - Writes that arrive together share one batch (at most 100), so that many cost little more than one.
//   - The client asks once. Whoever calls it owns the retry.
//
// The API: PUT /docs/{id}, DELETE /docs/{id}?version=N, GET /docs/{id}, POST /lacking, GET /search?q=&limit=&id=,
// GET /healthz. Bodies are JSON; an error is {"error": "…"}: a 4xx can never succeed as it is, a 5xx may succeed later.
package search
