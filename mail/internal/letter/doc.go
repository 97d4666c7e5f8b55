// Package letter turns templates and data into what a mail is made of, and lets nothing through that could mean more than text.
//
// It promises:
//
//   - A header is one line: control characters, line breaks and characters that turn the direction of what follows become spaces,
//     and its length is bounded.
//   - An address is one address, of a form that SMTP can carry, or it is refused with the reason.
//   - A template can read the fields of Fields and call the functions of Functions, and nothing else. What it makes is bounded in
//     size, and so is the time that it takes, whatever data it meets.
package letter
