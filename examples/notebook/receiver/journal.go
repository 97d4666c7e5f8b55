package receiver

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync"
	"syscall"
)

// journal keeps messages in a file, one a line, and in memory. It belongs to one process.
type journal struct {
	mu      sync.Mutex
	file    *os.File
	size    int64 // of what is whole
	byID    map[string]*Message
	ordered []*Message
}

// openJournal reads what is kept already.
func openJournal(path string) (*journal, error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return nil, fmt.Errorf("the receiver's folder: %w: choose another with --data", err)
	}
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("the receiver's file: %w: choose another folder with --data", err)
	}
	j := &journal{file: file, byID: map[string]*Message{}}
	if err := j.begin(); err != nil {
		_ = file.Close()
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return j, nil
}

func (j *journal) begin() error {
	err := syscall.Flock(int(j.file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if errors.Is(err, syscall.EWOULDBLOCK) {
		return errors.New("another receiver keeps its messages here: choose another folder with --data")
	}
	if err != nil {
		return fmt.Errorf("lock: %w", err)
	}
	if err := j.load(); err != nil {
		return err
	}
	return j.cut()
}

// load reads whole lines. What is behind the last of them was being written when a process ended, and was not answered.
func (j *journal) load() error {
	in := bufio.NewReader(j.file)
	for n := 1; ; n++ {
		line, err := in.ReadBytes('\n')
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		var m Message
		if err := json.Unmarshal(line, &m); err != nil || m.ID == "" {
			return fmt.Errorf("line %d is no message: move the file away, or take the line out", n)
		}
		j.size += int64(len(line))
		j.add(m)
	}
}

// cut takes away what is behind the last whole line.
func (j *journal) cut() error {
	if err := j.file.Truncate(j.size); err != nil {
		return err
	}
	_, err := j.file.Seek(j.size, io.SeekStart)
	return err
}

func (j *journal) add(m Message) {
	j.byID[m.ID] = &m
	j.ordered = append(j.ordered, &m)
}

// keep writes a message and syncs, unless it is there already. It answers the message with its repeats.
func (j *journal) keep(m Message) (Message, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if known := j.byID[m.ID]; known != nil {
		known.Repeats++
		m.Repeats = known.Repeats
		return m, nil
	}
	line, err := json.Marshal(m)
	if err != nil {
		return m, err
	}
	line = append(bytes.TrimSpace(line), '\n')
	if _, err = j.file.Write(line); err == nil {
		err = j.file.Sync()
	}
	if err != nil {
		return m, errors.Join(err, j.cut())
	}
	j.size += int64(len(line))
	j.add(m)
	return m, nil
}

// messages are copies of what is kept, in the order in which it came; those of one subject where it is not "".
func (j *journal) messages(subject string) []Message {
	j.mu.Lock()
	defer j.mu.Unlock()
	var out []Message
	for _, m := range j.ordered {
		if subject == "" || m.Subject == subject {
			out = append(out, *m)
		}
	}
	return out
}

func (j *journal) close() error { return j.file.Close() }
