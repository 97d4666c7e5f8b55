// Package figure turns measured values into a figure with a verdict.
//
// What it promises:
//
//   - The value of a figure is the median of its values: one per interleaved pair, or one per repeat.
//   - Its interval holds the true median in at least 93 of 100 runs, whatever the values' distribution; with fewer than
//     five values, which cannot promise that, it is all that was seen.
//   - A miss is only said where the interval's better end falls short of the target. Where there was too little to judge
//     by, the verdict is smoke: the figure was run, and says nothing.
//   - [Figure.Line] prints NAME VALUE UNIT TARGET VERDICT, each without white space.
package figure
