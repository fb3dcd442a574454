package policyset

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/tmux-intercom/tmux-intercom/scripting"
	"github.com/tmux-intercom/tmux-intercom/scripting/policy"
)

// files are the files of a set, apart from the shipped ones.
type files struct {
	own policy.Files // the person's, the only ones that are kept, refused and gone back to
	err error        // why those cannot be read
	// projects are the files of the projects in which sessions work, as they are now and with the trust that they have
	// now. An error in one affects that file alone.
	projects []policy.Source
	dirs     []string           // directories of those projects
	tests    []scripting.Beside // tests of the person's own files
	testsErr error              // why those cannot be read
	lonely   []policy.Problem   // warnings about tests without a policy
}

// read reads the current files.
func (p *Live) read() (f files) {
	f.own, f.err = scripting.Read(p.Config)
	f.tests, f.testsErr = scripting.ReadTests(p.Config)
	if lonely, ok := errors.AsType[scripting.LonelyError](f.testsErr); ok {
		for _, tests := range lonely {
			f.lonely = append(f.lonely, policy.Problem{File: tests, Text: "there is no policy beside these tests", Warning: true})
		}
	}
	f.dirs = directories(p.workplaces(), Workplace.project)
	f.projects = scripting.ReadProjects(f.dirs, func(hash string) bool {
		return p.trusted(scripting.ProjectFile, hash)
	})
	return f
}

// beside returns other files of the person together with the current files of projects.
func (f files) beside(own policy.Files) files {
	return files{own: own, projects: f.projects, dirs: f.dirs, lonely: f.lonely}
}

func (f files) same(as files) bool { return f.stamp() == as.stamp() }

// stamp returns a text that changes when the files, their tests or the trust in them change.
func (f files) stamp() string {
	text := fmt.Sprint(f.own.Generation(), f.err, policy.Files{Sources: f.projects}.Generation(), f.dirs, f.testsErr)
	for _, t := range f.tests {
		text += t.Tests.Name + t.Tests.Hash()
	}
	return text
}

// restless is how long to wait for files that keep changing.
const restless = time.Second

var errRestless = errors.New("the files keep changing")

// still reads the files until two readings are equal. If files keep changing, the person's own count as unreadable, and
// a project's as unusable. A file in use that is now gone or empty may be about to be written: still waits equally long
// for it.
func (p *Live) still(ctx context.Context) (files, error) {
	for before, until := p.read(), p.Now().Add(restless); ; {
		if !sleep(ctx, quiet) {
			return before, ctx.Err()
		}
		now := p.read()
		if now.same(before) && !lacks(now.own, p.files.own) {
			return now, nil
		}
		if p.Now().After(until) {
			if now.err == nil && now.own.Generation() != before.own.Generation() {
				now.err = errRestless
			}
			for i, s := range now.projects {
				if !slices.Contains(before.projects, s) {
					now.projects[i] = s.Unusable(errRestless.Error())
				}
			}
			return now, nil
		}
		before = now
	}
}

// lacks reports whether one of the files in use is gone or empty now.
func lacks(now, used policy.Files) bool {
	filled := map[string]bool{}
	for _, s := range slices.Concat(now.Sources, now.Modules) {
		filled[s.Name] = strings.TrimSpace(s.Text) != ""
	}
	return slices.ContainsFunc(slices.Concat(used.Sources, used.Modules), func(s policy.Source) bool {
		return !filled[s.Name] && strings.TrimSpace(s.Text) != ""
	})
}

// passing is an error that is not the fault of the files: another try may succeed.
type passing struct{ error }

func (p passing) Unwrap() error { return p.error }

// compile makes a set of files, followed by the shipped ones. A project's file that cannot be compiled is included as
// unusable.
func (p *Live) compile(ctx context.Context, f files) (*scripting.Set, error) {
	f.projects = slices.Clone(f.projects)
	for {
		whole := f.own.With(f.projects, p.Shipped)
		if err := whole.Validate(); err != nil {
			return nil, err
		}
		set, err := p.engine.Compile(ctx, whole)
		problems, ofFiles := errors.AsType[scripting.ProblemsError](err)
		switch {
		case err != nil && !ofFiles:
			return nil, passing{err}
		case err == nil || !f.excuse(problems):
			return set, err
		}
	}
}

// excuse marks the files of projects that have problems as unusable, and reports whether there were any.
func (f files) excuse(problems []policy.Problem) (found bool) {
	for _, problem := range problems {
		for i, s := range f.projects {
			if s.Name == problem.File && s.Broken == "" && !problem.Warning {
				f.projects[i], found = s.Unusable(problem.String()), true
			}
		}
	}
	return found
}
