// Package mailbox is the demo's SMTP server: it takes every mail and keeps it in a folder, a file each. Nothing leaves the machine.
package mailbox
