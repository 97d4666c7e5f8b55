// Package indexing is what the notebook declares on the bus: the row capture on the notes, the subscription that keeps
// the search index up to date, and the receipt that tells a writer whether its note is findable yet.
//
// What it promises:
//
//   - Every change of a note's text, by whatever program, becomes an event, and every event a run of notebook.index.
//   - A run reads the note as it stands now and writes that, or its deletion, to the search service with its version,
//     which the service compares: runs of one note may overlap and end in any order.
//   - While the service is down, notes are written as ever, their jobs back off (1 s, doubling to 30 s, 1,000 attempts:
//     over 8 hours) and none is discarded. Where even that ran out, or an index was lost, notebook.reconcile, made at
//     every boot, indexes what the service lacks.
package indexing
