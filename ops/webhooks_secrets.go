package ops

import (
	"context"
	"time"

	"github.com/postbus/postbus/webhooks"
)

// SecretRotation replaces an endpoint's secret.
type SecretRotation struct {
	EndpointID
	Secret         string `json:"secret,omitempty" doc:"A new secret that the receiver has already, whsec_…; made here when left out"`
	Asymmetric     bool   `json:"asymmetric,omitempty" doc:"Replace the Ed25519 key in place of the secret, or give the endpoint one"`
	OverlapSeconds *int   `json:"overlap_seconds,omitempty" doc:"How long the previous ones stay valid beside it; 0 ends them now, the configured time when left out" minimum:"0" maximum:"604800"`
}

// RotatedSecret is what a rotation made.
type RotatedSecret struct {
	Secret        string    `json:"secret,omitempty" doc:"Shown here and never again; left out where the Ed25519 key was replaced"`
	PublicKey     string    `json:"public_key,omitempty" doc:"The new one, where the Ed25519 key was replaced"`
	PreviousEndAt time.Time `json:"previous_end_at" doc:"When the previous ones end at the latest"`

	owner string
}

// AuditOwner makes the rotation a line of the endpoint's owner's.
func (r RotatedSecret) AuditOwner() string { return r.owner }

// PublicKeys verify an endpoint's asymmetric signatures.
type PublicKeys struct {
	Keys []PublicKey `json:"keys" doc:"The newest first, at most 5; none where there are no asymmetric signatures"`
}

// PublicKey verifies asymmetric signatures.
type PublicKey struct {
	Key       string     `json:"key" doc:"whpk_ and base64"`
	CreatedAt time.Time  `json:"created_at"`
	ExpiresAt *time.Time `json:"expires_at,omitempty" doc:"When it ends after a rotation"`
}

func declareSecrets(r *Registry) error {
	return firstError(
		add(r, Op[SecretRotation, RotatedSecret]{
			Name: "webhooks.rotate_secret", Summary: "Replace an endpoint's signing secret; the new one is shown once", Access: Act, Run: rotateSecret,
		}),
		add(r, Op[EndpointID, PublicKeys]{
			Name: "webhooks.public_keys", Summary: "Show the public keys that verify an endpoint's signatures", Access: Read, Run: publicKeys,
		}),
	)
}

func rotateSecret(ctx context.Context, c *Call, in SecretRotation) (RotatedSecret, error) {
	hooks, endpoint, err := c.endpoint(ctx, in.ID)
	if err != nil {
		return RotatedSecret{}, err
	}
	spec := webhooks.RotateSpec{Secret: in.Secret, Asymmetric: in.Asymmetric}
	if in.OverlapSeconds != nil {
		overlap := time.Duration(*in.OverlapSeconds) * time.Second
		spec.Overlap = &overlap
	}
	rotated, err := hooks.RotateSecret(ctx, in.ID, spec)
	return RotatedSecret{
		Secret: rotated.Secret, PublicKey: rotated.PublicKey, PreviousEndAt: rotated.PreviousEndAt, owner: endpoint.OwnerID,
	}, err
}

func publicKeys(ctx context.Context, c *Call, in EndpointID) (PublicKeys, error) {
	hooks, _, err := c.endpoint(ctx, in.ID)
	if err != nil {
		return PublicKeys{}, err
	}
	keys, err := hooks.PublicKeys(ctx, in.ID)
	out := PublicKeys{Keys: make([]PublicKey, len(keys))}
	for i, key := range keys {
		out.Keys[i] = PublicKey{Key: key.Key, CreatedAt: key.CreatedAt, ExpiresAt: key.ExpiresAt}
	}
	return out, err
}
