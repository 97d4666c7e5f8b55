// Package publishing is what the notebook declares for webhooks: the event type that may leave, the row capture that records
// it, the endpoint, and where its key and secret are kept.
//
// What it promises:
//
//   - Every change of a published note (its publication, an edit, its withdrawal or deletion), by whatever program, is an event
//     notebook.note_published in the transaction of the change. A note that is not published leaves no such event, and the
//     type notebook.note_changed is internal: it never leaves.
//   - There is one endpoint for each database, however often and in however many processes the notebook is started. Its address
//     follows the receiver.
//   - The key that seals the endpoint's secret and the secret, which the receiver reads, are files of the data folder that
//     their user alone can read. They are in no log, on no command line and on no page.
//   - Webhooks may reach this machine itself and public addresses, nothing else inside the network.
//   - While the receiver is away deliveries back off (1 s, doubling to 30 s, then every 10 min, for more than 10 hours), those of
//     one note one after the other. What was given up is sent again when the notebook starts.
package publishing
