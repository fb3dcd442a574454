package service

import (
	"context"
	"fmt"
	"log/slog"
	"path/filepath"
	"slices"
	"sync"

	"github.com/tmux-intercom/tmux-intercom/sidecar/api"
	"github.com/tmux-intercom/tmux-intercom/sidecar/filepeertest"
	"github.com/tmux-intercom/tmux-intercom/sidecar/filepeertest/ops"
	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
)

// directories is all that this package would need for a protocol: its operations, and the part that serves its
// peers. The relay, and so the journal, knows which peers these are.
type directories struct {
	Callers *Callers
	Relay   interface {
		present
		filepeertest.Relay
	}
	Dirs  *filepeertest.Dirs
	Log   *slog.Logger
	fresh chan string
}

// Offer registers the operations with a server.
func (s *directories) Offer(server *api.Server) {
	api.Handle(server, ops.Serve, s.Serve)
	api.Handle(server, ops.Directories, s.List)
}

// Run serves the directories until ctx ends, with a goroutine for each.
func (s *directories) Run(ctx context.Context) error {
	var all sync.WaitGroup
	defer all.Wait()
	serve := func(path string) {
		all.Go(func() {
			if err := s.Dirs.Serve(ctx, path); err != nil {
				s.Log.Error("directory", "path", path, "err", err)
			}
		})
	}
	for _, one := range s.list() {
		serve(one.Key)
	}
	for {
		select {
		case <-ctx.Done():
			return nil
		case path := <-s.fresh:
			serve(path)
		}
	}
}

func (s *directories) list() []message.Peer {
	return slices.DeleteFunc(s.Relay.Snapshot().Peers(), func(p message.Peer) bool { return p.Kind != filepeertest.Kind })
}

// Serve makes a directory a peer.
func (s *directories) Serve(ctx context.Context, from api.Caller, req ops.ServeRequest) (message.Peer, error) {
	if err := s.Callers.personOnly(ctx, from, "serve a directory"); err != nil {
		return message.Peer{}, err
	}
	path := filepath.Clean(req.Path)
	all := s.list()
	if i := slices.IndexFunc(all, func(p message.Peer) bool { return p.Key == path }); i >= 0 {
		return all[i], nil
	}
	one, err := s.Relay.Join(ctx, message.Peer{Kind: filepeertest.Kind, Key: path, Name: filepath.Base(path)})
	if err != nil {
		return one, wire(fmt.Errorf("serve %q: %w", path, err))
	}
	select {
	case s.fresh <- path:
	case <-ctx.Done(): // the next life serves it
	}
	return one, nil
}

// List lists the directories that are served.
func (s *directories) List(context.Context, api.Caller, api.None) (all []ops.Directory, _ error) {
	for _, p := range s.list() {
		all = append(all, ops.Directory{Session: p.ID, Name: p.Name, Path: p.Key})
	}
	return all, nil
}
