package repository

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/tmux-intercom/tmux-intercom/sidecar/aea"
	"github.com/tmux-intercom/tmux-intercom/sidecar/foreign"
	"github.com/tmux-intercom/tmux-intercom/sidecar/plain"
)

// Finding is something that keeps messages from being sent, found or processed.
type Finding struct {
	File  string `json:"file"` // relative to the repository
	What  string `json:"what"`
	Fixed bool   `json:"fixed,omitempty"` // it was put right
	Fix   string `json:"fix,omitempty"`   // how to put it right
}

// maxFindings is the most findings about single messages.
const maxFindings = 100

// Examine looks for findings. With fix it puts right what it can: permissions, and whatever Install makes.
// program is as for Install.
func Examine(path, program string, fix bool) ([]Finding, error) {
	d, err := Open(path)
	if err != nil {
		return nil, err
	}
	e := &examination{Dir: d, fix: fix, all: []Finding{}}
	for _, dir := range []string{"", processed, "scripts", "prompts", archived, filepath.Join(archived, processed)} {
		e.directory(dir)
	}
	for _, t := range d.templates(program) {
		e.template(t)
	}
	e.log()
	e.config()
	e.messages()
	return e.all, nil
}

type examination struct {
	Dir
	fix bool
	all []Finding
}

// found records a finding and, with fix, calls repair.
func (e *examination) found(name, what, how string, repair func() error) {
	f := Finding{File: filepath.Join(folder, name), What: what, Fix: how}
	if e.fix && repair != nil {
		if err := repair(); err == nil {
			f.Fixed, f.Fix = true, ""
		} else {
			f.What += "; " + because(err)
		}
	}
	e.all = append(e.all, f)
}

func (e *examination) directory(name string) {
	path := e.at(name)
	err := e.check(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		if name != archived && name != filepath.Join(archived, processed) {
			e.found(name, "it is missing", "intercom aea doctor --fix", func() error { return os.Mkdir(path, 0o755) })
		}
		return
	case err != nil:
		e.found(name, because(err), "", nil)
		return
	}
	info, err := os.Lstat(path)
	if err == nil && info.Mode().Perm()&0o700 != 0o700 {
		e.found(name, lacking(info.Mode(), 0o700), "chmod u+rwx "+plain.ShellWord(path), func() error { return os.Chmod(path, info.Mode().Perm()|0o700) })
	} else if unix.Access(path, unix.W_OK) != nil {
		e.found(name, "it cannot be written to: a file system that is read-only?", "", nil)
	}
	if err == nil && info.Mode().Perm()&0o022 != 0 {
		e.found(name, "others may write there: "+info.Mode().Perm().String(), "chmod go-w "+plain.ShellWord(path), func() error { return os.Chmod(path, info.Mode().Perm()&^0o022) })
	}
}

// lacking says which of the owner's permissions a mode lacks.
func lacking(mode, needed fs.FileMode) string {
	var lacks []string
	for _, p := range []struct {
		bit  fs.FileMode
		done string
	}{{0o400, "read"}, {0o200, "written"}, {0o100, "entered"}} {
		if needed&p.bit&^mode != 0 {
			lacks = append(lacks, p.done)
		}
	}
	return "it cannot be " + strings.Join(lacks, " or ") + ": " + mode.Perm().String()
}

func (e *examination) template(t template) {
	path := e.at(t.name)
	info, err := os.Lstat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		e.found(t.name, "it is missing", "intercom aea install", func() error {
			_, err := e.install(t, false)
			return err
		})
	case err != nil || !info.Mode().IsRegular():
		e.found(t.name, "it is no regular file", "", nil)
	case t.script && info.Mode().Perm()&0o100 == 0 && filepath.Base(t.name) != "intercom.sh":
		e.found(t.name, "it is not executable", "chmod +x "+plain.ShellWord(path), func() error { return os.Chmod(path, info.Mode().Perm()|0o111) })
	}
}

func (e *examination) log() {
	path := e.at(logName)
	info, err := os.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return
	}
	if err == nil && info.Mode().IsRegular() && info.Mode().Perm()&0o600 != 0o600 {
		e.found(logName, lacking(info.Mode(), 0o600), "chmod u+rw "+plain.ShellWord(path), func() error { return os.Chmod(path, info.Mode().Perm()|0o600) })
		return
	}
	f, err := foreign.AppendOurs(path, 0o644)
	if err != nil {
		e.found(logName, because(err), "", nil)
		return
	}
	f.Close()
}

func (e *examination) config() {
	c, err := Read(e.Path)
	switch {
	case errors.Is(err, fs.ErrNotExist): // template reported it
	case err != nil:
		e.found("agent-config.yaml", because(err), "", nil)
	}
	for _, p := range c.Problems {
		if p.Level != aea.Notice {
			e.found("agent-config.yaml", p.String(), "", nil)
		}
	}
}

func (e *examination) messages() {
	all, err := e.List()
	if err != nil {
		e.found("", because(err), "", nil)
		return
	}
	told := 0
	for _, entry := range all {
		if entry.Processed {
			continue
		}
		if _, _, err := e.Dir.Read(entry.Name); err != nil && !errors.Is(err, fs.ErrNotExist) {
			if told++; told > maxFindings {
				e.found("", fmt.Sprintf("more than %d messages cannot be read", maxFindings), "", nil)
				return
			}
			e.found(entry.Name, because(err), "", nil)
		}
	}
}
