// Package snippets reads the programs and commands that a document shows, so that tests can run what readers copy.
//
// What it promises:
//
//   - A block's text is what a reader copies, to the byte.
//   - A block whose first line is a comment with a file's name and nothing else is that file.
package snippets
