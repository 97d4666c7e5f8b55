package ops

import (
	"fmt"
	"slices"
)

// Identity is who calls.
type Identity struct {
	// Name is what the audit log says: "account:ann", "token:pb_1a2b", "local:root".
	Name string
	// Scopes are what it may do.
	Scopes []Access
	// Owner binds it to one owner; "" is all owners.
	Owner string
}

// Local is whoever has the database's address: a caller at the command line, who could do everything in SQL anyway.
func Local(name string) Identity { return Identity{Name: "local:" + name, Scopes: []Access{Admin}} }

// May says whether the identity has the access. Read is in Act and both are in Admin; Record and Work are in Admin only, and hold
// nothing else.
func (i Identity) May(access Access) bool {
	if slices.Contains(i.Scopes, Admin) || slices.Contains(i.Scopes, access) {
		return true
	}
	return access == Read && slices.Contains(i.Scopes, Act)
}

// authorise refuses a caller who may not call the operation.
func (o *Operation) authorise(who Identity) error {
	switch {
	case who.Name == "":
		return newError(Unauthenticated, "%s needs a token or a login", o.Name)
	case !who.May(o.Access):
		return newError(Forbidden, "%s needs the scope %q; %s has %v", o.Name, o.Access, who.Name, who.Scopes)
	case o.Global && who.Owner != "":
		return newError(Forbidden, "%s is about all owners; %s is bound to owner %q", o.Name, who.Name, who.Owner)
	}
	return nil
}

// OwnerOr answers the owner to whom the call keeps: the caller's where it is bound to one, else the one asked for, which may
// be "" for all.
func (c *Call) OwnerOr(asked string) (string, error) {
	if c.Who.Owner == "" || asked == c.Who.Owner {
		return asked, nil
	}
	if asked == "" {
		return c.Who.Owner, nil
	}
	return "", newError(Forbidden, "owner_id %q: %s is bound to owner %q; leave owner_id out", asked, c.Who.Name, c.Who.Owner)
}

// Mine hides what is another owner's from a caller who is bound to one: it is not found.
func (c *Call) Mine(owner, what, id string) error {
	c.target.is(owner)
	if c.Who.Owner == "" || c.Who.Owner == owner {
		return nil
	}
	return newError(NotFound, "%s", missing(what, id))
}

func missing(what, id string) string { return fmt.Sprintf("there is no %s %q", what, id) }
