package main

import (
	"cmp"
	"regexp"
	"runtime"
	"runtime/debug"
	"strings"
	"sync"

	"github.com/spf13/cobra"

	"github.com/tmux-intercom/tmux-intercom/sidecar/api"
)

// version is set by the linker in a program that make builds. A program that go install builds knows its version by
// itself.
var version string

// versionReply is what `version --json` prints.
type versionReply struct {
	Version  string `json:"version"`
	Revision string `json:"revision,omitempty"` // of the source, with "+" if it was changed
	Go       string `json:"go"`
	System   string `json:"system"`
	API      string `json:"api"` // of the interface between commands and sidecar
}

func (a *app) version() *cobra.Command {
	return &cobra.Command{
		Use:     "version",
		Short:   "Show the version of this program",
		Example: `  intercom version --json`,
		Args:    between(0, 0, "no arguments"),
		RunE: do(a, func(*cobra.Command, []string) (versionReply, error) { return built(), nil }, func(v versionReply) {
			a.say("intercom %s (%s, %s)", v.Version, v.Go, v.System)
		}),
	}
}

// revisionOf finds the revision in a version, as git describe and the Go toolchain write it:
// 73c0af1, v0.1.0-5-g73c0af1, v0.0.0-20261124043800-73c0af1627df.
var revisionOf = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(?:^|-|-g)([0-9a-f]{7,40})$`) })

// sameBuild reports whether two versions are of the same source, however each was built.
func sameBuild(one, other string) bool {
	if one == other {
		return true
	}
	a, b := revisionOf().FindStringSubmatch(one), revisionOf().FindStringSubmatch(other)
	return a != nil && b != nil && (strings.HasPrefix(a[1], b[1]) || strings.HasPrefix(b[1], a[1]))
}

// built returns what the Go toolchain wrote into the program.
func built() versionReply {
	v := versionReply{Version: "unknown", Go: runtime.Version(), System: runtime.GOOS + "/" + runtime.GOARCH, API: api.Version}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return v
	}
	v.Version = cmp.Or(version, info.Main.Version, v.Version)
	for _, s := range info.Settings {
		switch {
		case s.Key == "vcs.revision":
			v.Revision = s.Value + v.Revision
		case s.Key == "vcs.modified" && s.Value == "true":
			v.Revision += "+"
		}
	}
	return v
}
