// Package gates holds the rules of the tree that a compiler does not know: which room may see which, where a
// transaction begins, who makes goroutines, where SQL is written, what every package and migration must say.
//
// What it promises:
//
//   - A rule looks at the released module: every package, its tests, and files that the build leaves out on this
//     platform. Modules nested in the tree are their own.
//   - There is no list of excused files. Where a rule has rooms of its own, they are part of the rule.
//   - Calls are judged by their types: a renamed import, a method value and an interface of one's own count as well.
//     Code that does not type-check is judged by its names and reported.
//   - A finding names the file and line, the rule and the way out.
//   - A rule can fail: testdata/sample breaks each of them, line by line, and the tests expect every break.
//
// Command gate runs rules by name; scripts/check-*.sh call it.
package gates
