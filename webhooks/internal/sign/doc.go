// Package sign signs outgoing webhooks in the Standard Webhooks 1.0.0 format, which package verify describes, and makes
// and checks the keys it takes.
//
//	whsec_  and the base64 of 24 to 64 bytes   [Secret], shared with the receiver, signs "v1,…" by HMAC-SHA256
//	whsk_   and the base64 of 64 or 32 bytes   [PrivateKey], the sender's alone, signs "v1a,…" by Ed25519
//	whpk_   and the base64 of 32 bytes         the public key of a PrivateKey, for the receiver
//
// What it promises:
//
//   - A key is checked when it comes in, never when it is used: [ParseKey] refuses what no receiver could share.
//     Only standard base64 with its padding is taken, and one spelling of it.
//   - Nothing that prints, logs or encodes a key shows it, and no error text holds a part of it. Reveal gives it.
//   - [Header] signs with every key, so that a receiver may change from one to the next, and refuses to leave a message
//     unsigned or to sign an id with a "." in it, which would make what was signed ambiguous.
package sign
