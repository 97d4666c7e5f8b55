package main

const (
	insertNoteSQL  = `insert into bench.notes (owner_id, title) values ($1, $2)`
	insertPlainSQL = `insert into bench.plain (type, owner_id, subject, data) values ($1, $2, $3, $4)`

	// onDutySQL is what a busy relay holds: see the trigger postbus.wake_relay.
	onDutySQL = `select pg_advisory_lock(5287002951004850)`

	// fillSQL records a backlog in one statement; nobody is woken for it.
	fillSQL = `
insert into postbus.events (type, owner_id, subject, data)
select $2, 'owner', 'note-' || i, json_build_object('note', i, 'title', 'Note ' || i, 'body', $3::text)
from generate_series(1, $1) as i`
	lastSeqSQL  = `select max(seq) from postbus.events`
	isFannedSQL = `select fanned_out_at is not null from postbus.events where seq = $1`
	unfannedSQL = `select count(*) from postbus.events where fanned_out_at is null and poisoned_at is null`
	jobsSQL     = `select count(*) from postbus.river_job where kind like $1`

	// busBehindSQL and riverBehindSQL ask whether anything is left to do, jobs that the clock makes left out.
	busBehindSQL = `
select exists (select from postbus.events where fanned_out_at is null and poisoned_at is null)
or exists (select from postbus.river_job where state <> 'completed' and kind = $1)`
	riverBehindSQL = `select exists (select from riverdirect.river_job where state <> 'completed' and kind = $1)`

	pinSQL = `begin isolation level repeatable read`
	// snapshotSQL takes the transaction's snapshot, which pins xmin until it ends.
	snapshotSQL = `select count(*) from bench.notes`

	recordManySQL = `
select count(postbus.record('owner', $2, 'note-' || i, json_build_object('note', i, 'title', 'Note ' || i, 'body', $3::text)))
from generate_series(1, $1) as i`
	plainManySQL = `
insert into bench.plain (type, owner_id, subject, data)
select $2, 'owner', 'note-' || i, json_build_object('note', i, 'title', 'Note ' || i, 'body', $3::text)
from generate_series(1, $1) as i`
)
