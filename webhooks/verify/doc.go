// Package verify is for the receivers of webhooks: it checks that a request was signed by whoever shares its secret, is
// recent and arrived unchanged. It needs the standard library only and nothing else of this module.
//
// The wire format is that of Standard Webhooks 1.0.0
// (https://github.com/standard-webhooks/standard-webhooks/blob/main/spec/standard-webhooks.md):
//
//	webhook-id         names the message, the same at every attempt to deliver it
//	webhook-timestamp  when this attempt was made, in whole seconds since 1970
//	webhook-signature  signatures apart by a space, each of id + "." + timestamp + "." + body:
//	                   "v1,"  and the base64 of an HMAC-SHA256, checked by a secret   "whsec_…"
//	                   "v1a," and the base64 of an Ed25519 signature, by a public key "whpk_…"
//
// What it promises:
//
//   - A message is accepted if one signature fits one of the secrets: several secrets let the sender change its own
//     without a gap. Signatures of another version are passed over. At most 32 signatures are read.
//   - A timestamp further from now than [Verifier.Tolerance], either way, is refused with [ErrTimestamp].
//   - HMACs are compared in constant time.
//   - An id with a "." in it is refused: with one, the same signature would fit two messages that are cut differently.
//   - No error text and no print of a [Verifier] holds a secret.
//
// What is left to the receiver: a message may arrive twice, from a sender that saw no answer or from one who listened in
// and repeats it within the tolerance. Keep [Message.ID] with the effect, in the same transaction, and skip what is known.
package verify
