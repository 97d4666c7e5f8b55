// Command cmd is "make chaos": it runs package chaos for some minutes, prints what it found and says by its exit status whether all
// of it is zero.
package main
