// Package building is the notebook's site: a page for each published note, rendered by a worker in another language. Begin at
// Declare; the worker is ../builder/build.mjs.
//
// What it promises:
//
//   - Each change of a published note is a job of the subscription notebook.build, which a builder claims through package work. Page,
//     build and the job's end are one transaction: a builder that is killed loses nothing and builds no event twice.
//   - A build that settles is an event site.build.settled in that transaction. Two subscribers follow: site.publish serves what was
//     built, site.assets notes what the page shows from elsewhere. An older build never replaces a newer one.
//   - A Wait in any process is answered as soon as a build of its owner settles. At most 64 wait in a process; one more is answered
//     at once.
package building
