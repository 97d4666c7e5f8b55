// Command bench measures Postbus beside what people would use in its place, on one machine and in one run. It prints one
// line a figure (NAME VALUE UNIT TARGET VERDICT) and keeps every measured value as JSON. README.md says what each figure
// means, how it is measured and how to read a miss.
//
//	go run . [-quick] [-pairs N] [-only REGEX] [-out FILE]
//
// It needs nothing running: Postgres is its own, durable and gone at the end.
package main
