// Command notebook is the reference application of Postbus: notes in Postgres, full-text search beside them, webhooks of what
// is published, and the bus between them.
//
//	notebook demo     the pages, on a private Postgres or on --database-url, with a receiver of webhooks as a process beside
//	notebook search   the search service alone, to be shared by several processes
//	notebook receive  the receiver alone
//
// Where to look for what:
//
//	note/        the tables and their migrations; nothing in it knows the bus
//	indexing/    what is declared on the bus for search: capture, subscription, receipt, reconcile
//	publishing/  what is declared for webhooks: capture, event type, endpoint, key and secret
//	receiver/    what takes the webhooks: verifies, keeps each once, says what it has
//	search/      the search service (bleve) and its client
//	importer/    a folder of Markdown files as notes
//	console/     events → jobs → done
//	web/         pages and JSON
//
// The exit status is 0 when all went well, 1 when something failed, 2 when it was called in a wrong way.
package main
