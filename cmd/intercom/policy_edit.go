package main

import (
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/spf13/cobra"

	"github.com/tmux-intercom/tmux-intercom/scripting"
	"github.com/tmux-intercom/tmux-intercom/scripting/policy"
	"github.com/tmux-intercom/tmux-intercom/scripting/worker"
	"github.com/tmux-intercom/tmux-intercom/sidecar/api"
	"github.com/tmux-intercom/tmux-intercom/sidecar/atomicfile"
	"github.com/tmux-intercom/tmux-intercom/sidecar/own"
)

// initTemplate is the beginning of a new init.lua.
//
//go:embed init.lua
var initTemplate string

// editReply is what `policy edit` prints with --json.
type editReply struct {
	File        string     `json:"file"`        // "": it was not there, and nobody wrote it
	Annotations string     `json:"annotations"` // the definitions for editors
	Luarc       string     `json:"luarc"`       // the file that leads language servers there
	Check       checkReply `json:"check"`       // of all policies, after the last edit

	changed bool // the file has changed
}

// policyName matches the name of a policy, without its extension.
var policyName = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$`) })

func (a *app) policyEdit() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "edit [NAME]",
		Short: "Open init.lua, or a policy, in your editor, and check it",
		Long: `Open init.lua, or policies/NAME.lua, in $VISUAL or $EDITOR, and check all
policies when the editor exits; if there is an error you are asked whether to
edit again.

A new file starts with a template, and stays only if you write it. Definitions
of everything that policies can use are written to $XDG_DATA_HOME/intercom/lua,
or ~/.local/share/intercom/lua, and a .luarc.json beside init.lua points
language servers there, unless you have one.`,
		Example: `  intercom policy edit
  intercom policy edit 50-reviews`,
		Args: between(0, 1, "a name, or nothing"),
		RunE: withCode(func(cmd *cobra.Command, args []string) (code int, err error) {
			err = do(a, func(cmd *cobra.Command, args []string) (editReply, error) {
				name := ""
				if len(args) > 0 {
					name = args[0]
				}
				r, err := a.editPolicy(cmd.Context(), name)
				if err == nil && !r.Check.OK {
					code = api.CodeFailed.Exit()
				}
				return r, err
			}, func(r editReply) {
				a.showCheck(r.Check)
				if r.Check.OK {
					a.noteUnused(cmd.Context(), r.changed)
				}
			})(cmd, args)
			return code, err
		}),
	}
	return cmd
}

// editHere lets a person edit init.lua in a popup, and reports the outcome.
func (a *app) editHere(ctx context.Context, _ origin) (string, error) {
	r, err := a.editPolicy(ctx, "")
	switch {
	case err != nil:
		return "", err
	case !r.Check.OK:
		return "", api.Errorf(api.CodeFailed, "%s", firstError(r.Check.Problems)).WithHint("fix it; until then the previous policies stay in use: intercom status")
	}
	if r.File == "" {
		return "nothing was written", nil
	}
	if left := a.leftFor(ctx); left != nil && !r.changed {
		return "nothing was changed: " + leftSays(left.Since), nil
	}
	if used, why := a.savedInUse(ctx); !used {
		return "", api.Errorf(api.CodeFailed, "what you saved is not in use: %s", why).WithHint("intercom policy log shows what is")
	}
	return "the policies are fine, and in use as they are saved", nil
}

// noteUnused notes that a person's files are correct but not in use. If they were changed, it waits for the sidecar to
// use them.
func (a *app) noteUnused(ctx context.Context, changed bool) {
	if !changed {
		if left := a.leftFor(ctx); left != nil {
			a.note("%s", leftSays(left.Since))
		}
		return
	}
	if used, why := a.savedInUse(ctx); !used {
		a.note("what you saved is not in use: %s; intercom policy log shows what is", why)
	}
}

// savedInUse reports whether the sidecar uses the policies as they are saved, and if not, why. A check does not tell
// that: it neither runs the tests of the policies nor tries them with the last messages.
func (a *app) savedInUse(ctx context.Context) (used bool, why string) {
	config, err := a.configDir()
	if err != nil {
		return false, err.Error()
	}
	saved, err := scripting.Read(config)
	if err != nil {
		return false, err.Error()
	}
	return a.takenInto(ctx, func(s policy.Status) bool { return uses(s, saved.Generation()) })
}

// uses reports whether the person's files of a generation are in use.
func uses(s policy.Status, generation string) bool {
	return s.Error == "" && s.RolledBack == "" && slices.ContainsFunc(s.Kept, func(k policy.Kept) bool {
		return k.Generation == generation && k.Until.IsZero()
	})
}

// numbered returns the policy that name means: the one with exactly that name, else the only one with a number before
// it, such as 50-reviews for reviews.
func numbered(config, name string) (string, bool) {
	dir := filepath.Join(config, "policies")
	if _, err := os.Lstat(filepath.Join(dir, name+".lua")); err == nil {
		return name, true
	}
	found := own.Glob(dir, "[0-9]*-"+name+".lua") // the name has no special characters of a pattern
	if len(found) != 1 {
		return "", false
	}
	return strings.TrimSuffix(filepath.Base(found[0]), ".lua"), true
}

// mostOfAPolicy is how many bytes of a policy are compared with those before: far more than one has.
const mostOfAPolicy = 1 << 20

// editPolicy lets a person edit a policy until nothing is wrong with it, or they stop.
func (a *app) editPolicy(ctx context.Context, name string) (r editReply, err error) {
	config, err := a.configDir()
	if err != nil {
		return r, err
	}
	r.File = filepath.Join(config, "init.lua")
	template := initTemplate
	if name = strings.TrimSuffix(strings.TrimPrefix(name, "policies/"), ".lua"); name != "" && name != "init" {
		if !policyName().MatchString(name) {
			return r, api.Errorf(api.CodeUsage, "%q is not the name of a policy", name).WithHint("1 to 64 of A-Z a-z 0-9 . _ - make one: 50-reviews")
		}
		if one, ok := numbered(config, name); ok {
			name = one
		}
		r.File = filepath.Join(config, "policies", name+".lua")
		template = "-- intercom policy test runs " + name + "_test.lua beside this; intercom policy explain --all shows what comes of it.\n"
	}
	tty, err := terminal()
	if err != nil {
		return r, err
	}
	tty.Close()
	if err := a.personOnly(ctx, "edit policies"); err != nil {
		return r, err
	}
	var luarc, file offered
	defer func() { // a person who leaves the editor without writing wants no file
		if file.takeBack() {
			luarc.takeBack()
			r.File, r.Luarc = "", ""
		}
	}()
	if r.Annotations, luarc, err = a.annotate(config); err != nil {
		return r, err
	}
	r.Luarc = luarc.path
	if file, err = offer(r.File, template); err != nil {
		return r, err
	}
	before, _ := own.Read(r.File, mostOfAPolicy)
	for {
		if err := a.edit(ctx, r.File); err != nil {
			return r, err
		}
		file.takeBack()
		now, _ := own.Read(r.File, mostOfAPolicy)
		r.changed = file.made != nil && !file.gone || string(now) != string(before)
		if r.Check, err = a.check(ctx, nil); err != nil || r.Check.OK {
			return r, err
		}
		var wrong strings.Builder
		for _, p := range r.Check.Problems {
			fmt.Fprintln(&wrong, plainLine(problemLine(p)))
		}
		switch err := a.confirm(ctx, wrong.String()+"\nEdit again?"); {
		case ctx.Err() != nil:
			return r, ctx.Err()
		case err != nil:
			return r, nil // the person has had enough; the problems are reported
		}
	}
}

// offered is a file that was created for a person to write.
type offered struct {
	path string
	made fs.FileInfo // as it was then; nil if it was there before
	gone bool
}

// offer creates a file, unless there is one.
func offer(path, text string) (offered, error) {
	switch err := created(path, text); {
	case errors.Is(err, fs.ErrExist):
		return offered{path: path}, nil
	case err != nil:
		return offered{}, err
	}
	made, err := os.Lstat(path)
	if err != nil {
		return offered{}, fmt.Errorf("a policy: %w", err)
	}
	return offered{path: path, made: made}, nil
}

// takeBack removes a file that nobody has written since it was created, and reports whether it is gone.
func (o *offered) takeBack() bool {
	if o.made == nil || o.gone {
		return o.gone
	}
	now, err := os.Lstat(o.path)
	untouched := err == nil && os.SameFile(now, o.made) && now.ModTime().Equal(o.made.ModTime()) && now.Size() == o.made.Size()
	o.gone = errors.Is(err, fs.ErrNotExist) || untouched && os.Remove(o.path) == nil
	return o.gone
}

// annotate writes the definitions that editors need for policies, and the file that leads editors there.
func (a *app) annotate(config string) (annotations string, luarc offered, err error) {
	data, err := a.dataDir()
	if err != nil {
		return "", luarc, err
	}
	dir := filepath.Join(data, "lua")
	annotations = filepath.Join(dir, "intercom.d.lua")
	for _, d := range []string{dir, config} {
		if err := os.MkdirAll(d, 0o700); err != nil {
			return "", luarc, fmt.Errorf("annotations: %w", err)
		}
	}
	if err := atomicfile.Write(annotations, []byte(worker.Annotations()), 0o600); err != nil {
		return "", luarc, fmt.Errorf("annotations: %w", err)
	}
	text, err := json.MarshalIndent(map[string]any{
		"runtime.version":           "Lua 5.1",
		"runtime.builtin":           map[string]string{"coroutine": "disable", "debug": "disable", "io": "disable", "os": "disable", "package": "disable"},
		"runtime.path":              []string{"policies/lib/?.lua"},
		"workspace.library":         []string{dir},
		"workspace.checkThirdParty": false,
	}, "", "  ")
	if err != nil {
		return "", luarc, fmt.Errorf("annotations: %w", err)
	}
	luarc, err = offer(filepath.Join(config, ".luarc.json"), string(text)+"\n")
	return annotations, luarc, err
}
