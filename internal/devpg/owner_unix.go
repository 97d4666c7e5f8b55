//go:build unix

package devpg

import (
	"errors"
	"fmt"
	"os"
	"os/user"
	"path/filepath"
	"strconv"
	"syscall"
)

// owner is the user that runs the server.
type owner struct {
	name     string
	uid, gid uint32
	switched bool // we are root and become this user
}

// findOwner returns ourselves, or an unprivileged user when we are root.
func findOwner() (owner, error) {
	if os.Geteuid() != 0 {
		return owner{}, nil
	}
	for _, name := range []string{"postgres", "nobody"} {
		account, err := user.Lookup(name)
		if err != nil {
			continue
		}
		uid, uidErr := strconv.ParseUint(account.Uid, 10, 32)
		gid, gidErr := strconv.ParseUint(account.Gid, 10, 32)
		if uidErr != nil || gidErr != nil || uid == 0 {
			continue
		}
		return owner{name: name, uid: uint32(uid), gid: uint32(gid), switched: true}, nil
	}
	return owner{}, errors.New("devpg: Postgres refuses to run as root, and there is no user postgres or nobody: run as another user")
}

// processAttributes make a process of this user, in a group of its own: a Ctrl-C at the terminal
// is for us, who then stop the server in order.
func (o owner) processAttributes() *syscall.SysProcAttr {
	attributes := &syscall.SysProcAttr{Setpgid: true}
	if o.switched {
		attributes.Credential = &syscall.Credential{Uid: o.uid, Gid: o.gid}
	}
	return attributes
}

// own gives dir to the user.
func (o owner) own(dir string) error {
	if !o.switched {
		return nil
	}
	if err := os.Chown(dir, int(o.uid), int(o.gid)); err != nil {
		return fmt.Errorf("devpg: %w", err)
	}
	return nil
}

// reaches says whether the user may pass through dir and every folder above it.
func (o owner) reaches(dir string) error {
	if !o.switched {
		return nil
	}
	for {
		info, err := os.Stat(dir)
		if err != nil {
			return err
		}
		if !o.mayPass(info) {
			return fmt.Errorf("the user %s, who runs Postgres when we are root, may not enter %s", o.name, dir)
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			return nil
		}
		dir = parent
	}
}

func (o owner) mayPass(info os.FileInfo) bool {
	status, ok := info.Sys().(*syscall.Stat_t)
	switch mode := info.Mode().Perm(); {
	case !ok:
		return true
	case status.Uid == o.uid:
		return mode&0o100 != 0
	case status.Gid == o.gid:
		return mode&0o010 != 0
	default:
		return mode&0o001 != 0
	}
}

// killGroup ends the supervisor and the server at once; the server's own children notice and end.
func (p *process) killGroup() error { return syscall.Kill(-p.cmd.Process.Pid, syscall.SIGKILL) }
