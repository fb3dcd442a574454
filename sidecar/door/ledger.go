package door

import (
	"encoding/json"
	"errors"
	"io/fs"
	"net"
	"os"
	"syscall"

	"github.com/tmux-intercom/tmux-intercom/sidecar/atomicfile"
	"github.com/tmux-intercom/tmux-intercom/sidecar/own"
)

// left is a socket of ours in the ledger.
type left struct {
	Path  string `json:"path"`
	Inode uint64 `json:"inode,omitempty"` // 0: it was about to be created
}

// ours returns the current sockets.
func (h *House) ours() (all []left) {
	for _, a := range h.addresses {
		all = append(all, left{a.path, a.inode})
	}
	return all
}

// write replaces the ledger, or removes it if there is nothing to write.
func (h *House) write(all []left) error {
	if len(all) == 0 {
		if err := os.Remove(h.Ledger); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		return nil
	}
	text, err := json.Marshal(all)
	if err != nil {
		return err
	}
	return atomicfile.Write(h.Ledger, text, 0o600)
}

// sweep removes the sockets that our killed processes left: those in the ledger on which nobody listens and that
// are still the ones created.
func (h *House) sweep() {
	h.swept = true
	text, err := own.Read(h.Ledger, longestRecord)
	if errors.Is(err, fs.ErrNotExist) {
		return
	}
	var all []left
	if err == nil {
		err = json.Unmarshal(text, &all)
	}
	if err != nil {
		h.Log.Warn("read which sockets were left", "ledger", h.Ledger, "err", err)
		return
	}
	for _, one := range all {
		if now, ok := inodeOf(one.Path); !ok || one.Inode != 0 && one.Inode != now {
			continue
		}
		if conn, err := net.Dial("unix", one.Path); err == nil {
			_ = conn.Close() // somebody else uses it by now
			continue
		} else if !errors.Is(err, syscall.ECONNREFUSED) {
			h.Log.Warn("a socket that was left", "socket", one.Path, "err", err)
			continue
		}
		remove(one.Path, one.Inode)
		h.Log.Info("removed a socket that a killed sidecar left", "socket", one.Path)
	}
	if err := h.write(nil); err != nil {
		h.Log.Warn("write down that no socket is left", "err", err)
	}
}

// remove removes a socket of ours if it is still the same one. With inode 0 that is not known, and it only checks
// the owner.
func remove(path string, was uint64) {
	if info, err := os.Lstat(path); err == nil && info.Mode().Type() == fs.ModeSocket && (was == 0 || inode(info) == was) && mine(info) {
		_ = os.Remove(path)
	}
}

func inode(info fs.FileInfo) uint64 {
	stat, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return 0
	}
	return stat.Ino
}

func mine(info fs.FileInfo) bool {
	stat, ok := info.Sys().(*syscall.Stat_t)
	return ok && int(stat.Uid) == os.Geteuid()
}
