// Package console shows what the bus does with the notebook's events: event → job → done, with how long it took.
//
// What it promises: the database is asked once per process and interval, however many pages watch; nobody who watches
// can hold it up; and it shows the latest events only, so that a flood of them stays cheap.
package console
