// Package seal keeps secrets at rest: what is stored is encrypted with a key that the database does not know, so that a
// dump or a read-only account shows nothing.
//
// What it promises:
//
//   - AES-256-GCM, of the standard library. A sealed secret is a random nonce of 12 bytes, then as many bytes as the
//     secret has, then a tag of 16. Random nonces bear 2^32 seals a key (NIST SP 800-38D, 8.3), which a table of secrets
//     does not come near; a key is changed by putting a new one first.
//   - The context, for instance the ids of endpoint and secret, is bound to what is sealed: a sealed secret that is moved
//     to another row does not open.
//   - The first key of a [Ring] seals, all of them open. An old key stays until nothing names its id any more.
//   - A Ring without a key answers everything with [ErrNoKey]: secrets are never stored open.
//   - Nothing that prints, logs or encodes a [Key] or a Ring shows a key, and no error text holds a part of one.
package seal
