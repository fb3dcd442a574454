// Package ops is what the file of package api would be if directories were a protocol of
// ours: their operations, as values. It is a package only because a file of tests cannot be
// imported; of api it uses what every other file there has. Nothing that is linked into intercom
// imports it.
package ops

import (
	"path/filepath"
	"time"

	"github.com/tmux-intercom/tmux-intercom/sidecar/api"
	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
)

// Serve has a directory be a peer from now on, also after a restart.
var Serve = api.Op[ServeRequest, message.Peer]{
	Name: "directory/serve",
	Check: func(req ServeRequest) error {
		if !filepath.IsAbs(req.Path) {
			return api.Errorf(api.CodeUsage, "directory %q: the path must be absolute", req.Path)
		}
		return nil
	},
	Again: func(req ServeRequest, _ time.Duration) ServeRequest { return req }, // one that is served already is
}

// Directories lists those that are served, oldest first.
var Directories = api.Op[api.None, []Directory]{Name: "directories", Reads: true, Whole: func(all []Directory) []Directory {
	return append([]Directory{}, all...)
}}

// ServeRequest names a directory.
type ServeRequest struct {
	Path string `json:"path"`
}

// Directory is one that is served.
type Directory struct {
	Session message.ID `json:"session"`
	Name    string     `json:"name"`
	Path    string     `json:"path"`
}
