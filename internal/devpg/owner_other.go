//go:build !unix

package devpg

import (
	"errors"
	"syscall"
)

type owner struct{}

func findOwner() (owner, error) {
	return owner{}, errors.New("devpg: a private Postgres needs a Unix system: start one yourself and give its URL")
}

func (owner) processAttributes() *syscall.SysProcAttr { return nil }
func (owner) own(string) error                        { return nil }
func (owner) reaches(string) error                    { return nil }

func (p *process) killGroup() error { return p.cmd.Process.Kill() }
