// Command notebook is the reference application of Postbus: notes in Postgres, full-text search beside them, and the bus
// between the two.
//
//	notebook demo    the pages, on a private Postgres or on --database-url
//	notebook search  the search service alone, to be shared by several processes
//
// Where to look for what:
//
//	note/      the table and its migration; nothing in it knows the bus
//	indexing/  what is declared on the bus: capture, subscription, receipt, reconcile
//	search/    the search service (bleve) and its client
//	importer/  a folder of Markdown files as notes
//	console/   events → jobs → done
//	web/       pages and JSON
//
// The exit status is 0 when all went well, 1 when something failed, 2 when it was called in a wrong way.
package main
