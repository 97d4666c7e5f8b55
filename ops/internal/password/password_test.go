package password

import (
	"regexp"
	"strings"
	"testing"
)

const phrase = "correct horse battery"

// A hash is a PHC string; two hashes of one password differ; only the password fits.
func TestHashFitsItsPasswordOnly(t *testing.T) {
	t.Parallel()
	a, b := Hash(phrase), Hash(phrase)
	form := regexp.MustCompile(`^\$argon2id\$v=19\$m=19456,t=2,p=1\$[A-Za-z0-9+/]{22}\$[A-Za-z0-9+/]{43}$`)
	if a == b || !form.MatchString(a) || strings.Contains(a, phrase) {
		t.Errorf("hashes %q and %q", a, b)
	}
	for given, want := range map[string]bool{phrase: true, "": false, phrase + " ": false, strings.ToUpper(phrase): false} {
		if ok, err := Verify(a, given); ok != want || err != nil {
			t.Errorf("%q: %v, %v", given, ok, err)
		}
	}
	if ok, err := Verify(Decoy(), ""); ok || err != nil {
		t.Errorf("a decoy: %v, %v", ok, err)
	}
	if Outdated(a) || Outdated(Decoy()) {
		t.Error("a fresh hash is outdated")
	}
}

// The reference implementation's vectors are checked, and are outdated: they have other parameters.
func TestOtherParametersAreChecked(t *testing.T) {
	t.Parallel()
	for hash, password := range map[string]string{
		// https://github.com/P-H-C/phc-winner-argon2/blob/master/src/test.c, argon2id, version 0x13
		"$argon2id$v=19$m=256,t=2,p=1$c29tZXNhbHQ$nf65EOgLrQMR/uIPnA4rEsF5h7TKyQwu9U1bMCHGi/4": "password",
		"$argon2id$v=19$m=256,t=2,p=2$c29tZXNhbHQ$bQk8UB/VmZZF4Oo79iDXuL5/0ttZwg2f/5U52iv1cDc": "password",
	} {
		if ok, err := Verify(hash, password); !ok || err != nil {
			t.Errorf("%s: %v, %v", hash, ok, err)
		}
		if ok, err := Verify(hash, "differentpassword"); ok || err != nil {
			t.Errorf("%s with another: %v, %v", hash, ok, err)
		}
		if !Outdated(hash) {
			t.Errorf("%s is not outdated", hash)
		}
	}
}

// What is no argon2id hash, or would eat the machine, is an error and never fits.
func TestUnreadableHashes(t *testing.T) {
	t.Parallel()
	good := "$argon2id$v=19$m=256,t=2,p=1$c29tZXNhbHQ$nf65EOgLrQMR/uIPnA4rEsF5h7TKyQwu9U1bMCHGi/4"
	for _, edit := range [][2]string{
		{"argon2id", "argon2i"}, {"v=19", "v=16"}, {"m=256", "m=4294967295"}, {"m=256", "m=0"}, {"t=2", "t=0"}, {"t=2", "t=101"},
		{"p=1", "p=0"}, {"p=1", "p=300"}, {"p=1", "p=1,x=1"}, {"p=1", "p=01"}, {"c29tZXNhbHQ", "c2"}, {"c29tZXNhbHQ", "c29tZXNhbHQ="},
		{"nf65EOgLrQMR/uIPnA4rEsF5h7TKyQwu9U1bMCHGi/4", ""}, {good, ""}, {good, "password"}, {good, good + "$"},
	} {
		hash := strings.Replace(good, edit[0], edit[1], 1)
		if ok, err := Verify(hash, "password"); ok || err == nil {
			t.Errorf("%q: %v, %v", hash, ok, err)
		}
		if !Outdated(hash) {
			t.Errorf("%q is not outdated", hash)
		}
	}
}
