// Package password hashes the passwords of accounts with argon2id (RFC 9106) and checks them.
//
// What it promises:
//
//   - A hash is a PHC string with all that a check needs: $argon2id$v=19$m=19456,t=2,p=1$salt$key, salt and key in base64 without
//     padding. Two hashes of one password differ.
//   - Keys are compared in constant time. A check against Decoy costs what a check against a fresh hash costs, and always fails.
//   - Hashes with other parameters are still checked; Outdated says that they should be made again, which a login can do.
//
// The parameters are 19 MiB, two passes and one lane: the minimum that the OWASP Password Storage Cheat Sheet gives for argon2id. The second recommended option of RFC 9106, section 4 (64 MiB, three passes, four lanes) is more than
// a small machine has to spare while others log in. Salt (16 bytes) and key (32 bytes) are RFC 9106's.
package password
