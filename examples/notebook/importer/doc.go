// Package importer brings a folder of Markdown files into the notebook.
//
// What it promises: each file is one transaction, so that a run that is broken off has done some files wholly and the
// others not at all; running it again goes on. A file that cannot be a note (too large, not UTF-8, a NUL, unreadable)
// is reported with its reason and counted, and costs no other file. Files that are gone do not take their notes with them.
package importer
