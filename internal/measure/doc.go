// Package measure counts what the rooms of one process do, and tells two audiences: OpenTelemetry instruments, and the table
// postbus.stats, where the counts of all processes add up minute by minute.
//
// What it promises:
//
//   - A nil [Measures] counts nothing and allocates nothing. Reporting never fails and never waits for the database.
//   - Counts wait in memory for at most about ten seconds and are added to the table by one statement; Stop adds the rest. A flush
//     that failed keeps its counts for the next one. A process that dies loses what it had not flushed. A flush whose answer was
//     lost after the database had committed it counts twice.
//   - Both memory and table are bounded: at most 10,000 counts wait, a process tells at most 100 kinds of job apart (the others
//     are one, "(other)"), minutes go after 30 days. What did not fit is said in the log.
//   - Latencies are counted in buckets with the fixed bounds of [Bounds]; quantiles read from them are estimates within a bucket.
//   - Gauges are read from the database when a reader asks, at most every ten seconds and for at most two seconds. While the
//     database does not answer they are left out.
//   - Labels are kinds of job, outcomes, states and names of alerts: no owner, no id, no data.
package measure
