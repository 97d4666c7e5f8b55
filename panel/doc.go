// Package panel is the Tasks panel: an http.Handler with which operators see everything that a bus does and repair it.
//
// What it promises:
//
//   - Every button calls an operation of the registry (package ops) as the person who pressed it: who may do what is decided there
//     and nowhere else, and what was done is in the audit log. What somebody may not do is not shown to them.
//   - What is on the screen is in its URL: views, filters, the job or event that is open. Reloading, going back and sending the
//     address to somebody else shows the same.
//   - It works under any prefix, behind proxies that strip it and those that do not: all its URLs are relative.
//   - Nothing is loaded from elsewhere, and the browser is told to run nothing else (Content-Security-Policy: default-src 'self'; no
//     inline script or style).
//   - It is live: what changes in the database shows without a reload, at most twice a second, and never takes away what somebody
//     has ticked, typed or focused. One stream a browser, fed by one look a process.
package panel
