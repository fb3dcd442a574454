package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/user"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/tmux-intercom/tmux-intercom/sidecar/api"
	"github.com/tmux-intercom/tmux-intercom/sidecar/daemon"
	"github.com/tmux-intercom/tmux-intercom/sidecar/own"
	"github.com/tmux-intercom/tmux-intercom/sidecar/process"
	"github.com/tmux-intercom/tmux-intercom/sidecar/tmux"
)

const (
	// journalFile is the beginning of the names of a journal's files, also of one that was set aside.
	journalFile = "journal.db"
	// muchLog is how many bytes of log are worth a note: rotation keeps the log far below that.
	muchLog = 64 << 20
)

// socketPath checks whether the places can be computed at all: a socket's path has a maximum length.
func socketPath(_ context.Context, x *patient) []finding {
	const id = "socket_path"
	if x.pathsErr != nil {
		return []finding{{ID: id, Level: problem, Text: x.pathsErr.Error(), Hint: hintOf(x.pathsErr)}}
	}
	return []finding{{ID: id, Level: fine, Text: "the sidecar's socket is " + x.paths.Socket}}
}

func runtimeDirectory(_ context.Context, x *patient) []finding {
	if x.pathsErr != nil {
		return nil
	}
	found := directory("runtime_dir", "the directory of sockets", x.paths.Runtime)
	if who, err := user.Current(); err == nil && takenAtLogout(x.paths.Runtime, who.Username, "/") {
		found = append(found, finding{
			ID: "runtime_dir", Level: note,
			Text: filepath.Dir(x.paths.Runtime) + " is removed when your last login session ends; the chats of a tmux server that keeps running then stand still",
			Hint: "loginctl enable-linger keeps it; without it, they go on after your next login",
		})
	}
	return found
}

// takenAtLogout reports whether logind removes a runtime directory with the user's last session; top is the root of the
// file system.
func takenAtLogout(runtime, name, top string) bool {
	return filepath.Dir(runtime) == fmt.Sprintf("/run/user/%d", os.Geteuid()) &&
		exists(filepath.Join(top, "run/systemd/users")) && !exists(filepath.Join(top, "var/lib/systemd/linger", name))
}

func stateDirectory(_ context.Context, x *patient) []finding {
	if x.pathsErr != nil {
		return nil
	}
	return directory("state_dir", "the directory of the journal", x.paths.State)
}

// directory checks that a directory is ours alone, and that it is writable.
func directory(id, what, dir string) []finding {
	err := api.CheckPrivate(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		if err := writable(existing(dir)); err != nil {
			return []finding{{ID: id, Level: problem, Text: fmt.Sprintf("%s, %s, cannot be created: %v", what, dir, err), Hint: placesHint}}
		}
		return []finding{{ID: id, Level: fine, Text: fmt.Sprintf("%s, %s, is created when needed", what, dir)}}
	case err != nil:
		f := finding{ID: id, Level: problem, Text: fmt.Sprintf("%s is not safe: %v", what, err), Hint: hintOf(err)}
		var ours []string // directories whose mode is ours to change
		if parent := filepath.Dir(dir); filepath.Base(parent) == fmt.Sprintf("intercom-%d", os.Geteuid()) && onlyModeIsWrong(parent) {
			ours = append(ours, parent) // nobody else gives a directory that name
		}
		if onlyModeIsWrong(dir) {
			ours = append(ours, dir)
		}
		if len(ours) > 0 {
			f.mend = func(context.Context) error {
				for _, dir := range ours {
					if err := os.Chmod(dir, 0o700); err != nil {
						return err
					}
				}
				err := api.CheckPrivate(dir)
				if errors.Is(err, fs.ErrNotExist) {
					return nil // it is made when it is needed
				}
				return err
			}
		}
		return []finding{f}
	}
	if err := writable(dir); err != nil {
		return []finding{{ID: id, Level: problem, Text: fmt.Sprintf("%s cannot be written into: %v", what, err), Hint: placesHint}}
	}
	return []finding{{ID: id, Level: fine, Text: fmt.Sprintf("%s, %s, is yours alone", what, dir)}}
}

const placesHint = "set XDG_RUNTIME_DIR and XDG_STATE_HOME to directories of your own"

// onlyModeIsWrong reports whether dir is a real directory of this user whose mode is not 0700: then the mode is ours to
// change.
func onlyModeIsWrong(dir string) bool {
	info, err := os.Lstat(dir)
	if err != nil || !info.IsDir() || info.Mode().Perm() == 0o700 {
		return false
	}
	st, ok := info.Sys().(*syscall.Stat_t)
	return ok && int(st.Uid) == os.Geteuid()
}

// existing returns dir, or the nearest directory above it that exists.
func existing(dir string) string {
	for dir != filepath.Dir(dir) {
		if _, err := os.Stat(dir); !errors.Is(err, fs.ErrNotExist) {
			break
		}
		dir = filepath.Dir(dir)
	}
	return dir
}

// writable tries to write into dir, which is the only way to know: modes do not tell that a file system is full or
// read-only, and a full one may still take an empty file.
func writable(dir string) error {
	probe, err := os.CreateTemp(dir, ".intercom-doctor-")
	if err != nil {
		return err
	}
	_, err = probe.Write(make([]byte, 4096)) // a page: a file system may store a few bytes beside the file's name
	if err == nil {
		err = probe.Sync() // some file systems find only then that there is no room
	}
	return errors.Join(err, probe.Close(), os.Remove(probe.Name()))
}

// remote names the kinds of file systems that another computer or a program stores, by the number that Linux gives
// each.
var remote = map[uint32]string{
	0x6969: "NFS", 0x517b: "SMB", 0xfe534d42: "SMB", 0xff534d42: "CIFS", 0x65735546: "FUSE",
	0x01021997: "9P", 0x5346414f: "AFS", 0x00c36400: "Ceph",
}

// networkHome checks whether the journal lies on a file system of another computer.
func networkHome(_ context.Context, x *patient) []finding {
	if x.pathsErr != nil {
		return nil
	}
	return onFileSystem(x.paths.State, fileSystem(existing(x.paths.State)))
}

// onFileSystem judges a place by the kind of its file system; "" means that it is not known to be another computer's.
func onFileSystem(dir, kind string) []finding {
	if kind == "" {
		return nil
	}
	return []finding{{
		ID: "network_home", Level: note, Text: fmt.Sprintf("the journal in %s is on %s: another computer, or a program, stores it", dir, kind),
		Hint: "databases and locks may not be safe there; set XDG_STATE_HOME to a directory on a local disk",
	}}
}

// staleSockets looks for sockets in our directory on which nobody listens: a sidecar that was killed leaves its socket.
// The holder of a lock is alive, and is left alone.
func staleSockets(ctx context.Context, x *patient) []finding {
	const id = "socket"
	if x.pathsErr != nil {
		return nil
	}
	var found []finding
	for _, socket := range ours(x.paths.Runtime, ".sock") {
		key := strings.TrimSuffix(filepath.Base(socket), ".sock")
		lock := filepath.Join(x.paths.Runtime, key+".lock")
		if !free(lock) {
			continue
		}
		asking, cancel := context.WithTimeout(ctx, answerTimeout)
		err := (&api.Client{Socket: socket}).Ping(asking)
		cancel()
		switch {
		case err == nil:
			found = append(found, finding{
				ID: id, Level: problem, Text: fmt.Sprintf("a sidecar listens on %s without holding its lock", socket),
				Hint: "its lock was removed; it notices within seconds and ends",
			})
		case absent(err):
			found = append(found, finding{
				ID: id, Level: problem, Text: fmt.Sprintf("nothing listens on %s any more: its sidecar was killed", socket),
				Hint: "the next command that needs a sidecar replaces it",
				mend: func(context.Context) error {
					// Take the lock, so that a sidecar that starts now does not lose its own socket.
					_, err := os.Lstat(lock)
					made := errors.Is(err, fs.ErrNotExist)
					ln, err := api.Listen(x.paths.Runtime, key)
					if err != nil {
						return err
					}
					err = ln.Close()
					if made {
						// Remove the lock file while the lock is held, and after the socket: a process that waits for
						// the lock checks whether its file is still the one at that path.
						err = errors.Join(err, os.Remove(lock))
					}
					return errors.Join(err, ln.Release())
				},
			})
		default:
			found = append(found, finding{ID: id, Level: problem, Text: err.Error(), Hint: hintOf(err)})
		}
	}
	return found
}

// ours returns the files in our runtime directory with that ending, if it is safe to look there.
func ours(dir, ending string) []string {
	if api.CheckPrivate(dir) != nil {
		return nil
	}
	return own.Glob(dir, "*"+ending)
}

// orphans looks for sidecars that hold their lock and do not answer, and for sidecars that have outlived their tmux
// server. It also reports on the sidecar of this server, and on its guard.
func orphans(ctx context.Context, x *patient) []finding {
	const id = "sidecar"
	if x.pathsErr != nil {
		return nil
	}
	var found []finding
	for _, lock := range ours(x.paths.Runtime, ".lock") {
		look, cancel := context.WithCancel(ctx)
		cancel() // only checks, and does not wait
		held, ok := errors.AsType[*api.HeldError](api.WaitReleased(look, lock))
		if !ok {
			continue
		}
		asking, cancel := context.WithTimeout(ctx, answerTimeout)
		status, err := api.Call(asking, &api.Client{Socket: strings.TrimSuffix(lock, ".lock") + ".sock"}, api.ShowStatus, api.None{})
		cancel()
		if err != nil {
			if why := process.Scarce(held.PID); why != "" {
				found = append(found, finding{ID: id, Level: problem, Text: fmt.Sprintf("the sidecar of process %d does not answer: %s", held.PID, why), Hint: tooScarce})
				continue
			}
			found = append(found, finding{
				ID: id, Level: problem, Text: fmt.Sprintf("the sidecar of process %d holds %s and does not answer", held.PID, lock),
				Hint: fmt.Sprintf("kill -9 %d ends it; what it had accepted is in its journal, and the next one continues from there", held.PID),
			})
			continue
		}
		if status.Server != "" && goneServer(ctx, status.Server) {
			found = append(found, finding{
				ID: id, Level: problem, Text: fmt.Sprintf("the sidecar of process %d serves the tmux server at %q, which is gone", status.PID, status.Server),
				Hint: fmt.Sprintf("a sidecar ends within a second of its server; if this one stays: kill -9 %d", status.PID),
			})
		}
	}
	there, guarded := api.GuardOf(x.paths)
	switch {
	case guarded && x.status == nil && there.Says != "":
		return append(found, finding{ID: id, Level: problem, Text: there.Says, Hint: "intercom up starts it now; the reason may be in " + x.paths.Log})
	case x.status != nil && (x.status.Server != "" || x.app.wanted(x.paths)) && !guarded && x.socket == x.paths.Socket:
		found = append(found, finding{ID: "guard", Level: note, Text: "nothing restarts the sidecar if it dies", Hint: "it starts a guard within seconds; if not, " + x.paths.Log + " says why"})
	case x.status != nil && guarded && there.PID > 0:
		found = append(found, finding{ID: "guard", Level: fine, Text: fmt.Sprintf("process %d restarts the sidecar if it dies", there.PID)})
	}
	if x.status != nil {
		return append([]finding{{ID: id, Level: fine, Text: fmt.Sprintf("the sidecar runs: version %s, process %d", x.status.Version, x.status.PID)}}, found...)
	}
	if len(found) == 0 && exists(uninstalledFile(x.paths)) {
		return []finding{{ID: id, Level: note, Text: "no sidecar runs, and none starts by itself: intercom was uninstalled here", Hint: "intercom up starts it again"}}
	}
	if len(found) == 0 {
		return []finding{{ID: id, Level: fine, Text: "no sidecar runs; the first command that needs one starts it"}}
	}
	return found
}

// tmuxHangs is the hint if tmux does not answer.
const tmuxHangs = "it may have been stopped: kill -CONT with its process number continues it; messages wait until it answers, and nothing is lost"

// tooScarce is the hint if the system gives a sidecar no more resources.
const tooScarce = "raise the limit (ulimit, or that of its container), or end what uses it up: messages wait until then, and nothing is lost"

// problemHints are the hints for the problems that a sidecar reports about itself.
var problemHints = map[api.ProblemKind]string{
	api.ProblemPolicy: "intercom policy check lists all problems; intercom policy log shows what came of them",
	api.ProblemLeft:   "any change to one of your files, a comment too, has them used, as with intercom policy edit; intercom policy diff tells what that would change",
	api.ProblemTmux:   tmuxHangs,
	api.ProblemDisk:   "free some space there, or make it writable again: everything is held until then, and resumes by itself",
	api.ProblemScarce: tooScarce,
}

// degraded reports what does not work as it should, according to the sidecar itself.
func degraded(_ context.Context, x *patient) []finding {
	if x.status == nil {
		return nil
	}
	var found []finding
	for i, d := range x.status.Degraded {
		hint := "this is shown while this sidecar runs; intercom down, then intercom up, starts another"
		if i < len(x.status.Kinds) {
			hint = cmp.Or(problemHints[x.status.Kinds[i]], hint)
		}
		found = append(found, finding{ID: "degraded", Level: problem, Text: "the sidecar says: " + d, Hint: hint})
	}
	return found
}

// allStopped reports that nothing is typed because a person said so: it could be taken for a fault.
func allStopped(_ context.Context, x *patient) []finding {
	if x.status == nil || !x.status.Stopped {
		return nil
	}
	return []finding{{
		ID: "stopped", Level: note, Text: "everything is stopped: nothing is typed into any pane",
		Hint: resumeAll,
	}}
}

// journalSound checks a journal that nobody has open.
func journalSound(ctx context.Context, x *patient) []finding {
	if x.pathsErr != nil || x.status != nil || !free(x.paths.Lock) {
		return nil
	}
	err := daemon.InspectJournal(ctx, x.paths)
	switch {
	case err == nil:
		return nil
	case errors.Is(err, daemon.ErrJournalHeld):
		return []finding{{ID: "journal_held", Level: problem, Text: err.Error(), Hint: hintOf(err)}}
	case errors.Is(err, daemon.ErrNewerJournal):
		return []finding{{
			ID: "journal_newer", Level: problem, Text: err.Error(),
			Hint: fmt.Sprintf("use the newer program again, or move %s away to start a new journal", filepath.Join(x.paths.State, journalFile)+"*"),
		}}
	}
	return []finding{{
		ID: "journal", Level: problem, Text: err.Error(),
		Hint: "the next sidecar sets a damaged journal aside, deletes nothing, and starts a new one",
	}}
}

// earlierComplaints names the file into which sidecars complain before they have a log.
func earlierComplaints(_ context.Context, x *patient) []finding {
	if x.pathsErr != nil {
		return nil
	}
	file := filepath.Join(x.paths.State, complaintsFile)
	info, err := os.Lstat(file)
	if err != nil || info.Size() == 0 {
		return nil
	}
	return []finding{{
		ID: "complaints", Level: note, Text: fmt.Sprintf("sidecars have reported problems while starting, or crashed, last %s: %s%s", day(info.ModTime()), file, crashed(file)),
		Hint: "they may be old; remove the file once you have read it",
	}}
}

// crashed says how the last sidecar ended that its own runtime ended, for want of memory or of threads; "" if none did.
func crashed(file string) string {
	text, _ := own.Read(file, 1<<20)
	at := lastCrash(text)
	if at < 0 {
		return ""
	}
	why, _, _ := strings.Cut(string(text[at:]), "\n")
	return ", " + plainLine(why)
}

// journalDamaged names the journals that were found damaged and set aside.
func journalDamaged(_ context.Context, x *patient) []finding {
	if x.pathsErr != nil {
		return nil
	}
	var found []finding
	for _, file := range own.Glob(x.paths.State, journalFile+".damaged-*") {
		if strings.HasSuffix(file, "-wal") || strings.HasSuffix(file, "-shm") || strings.HasSuffix(file, "-journal") {
			continue // they belong to the one that is named
		}
		found = append(found, finding{
			ID: "journal_damaged", Level: note, Text: "a damaged journal was set aside: " + file,
			Hint: fmt.Sprintf("inspect it with sqlite3 %s .recover; intercom never deletes it", file),
		})
	}
	return found
}

// leftovers lists what the sidecars of other tmux servers have left, if those servers are gone.
func leftovers(ctx context.Context, x *patient) []finding {
	if x.pathsErr != nil {
		return nil
	}
	var found []finding
	entries, _ := own.List(filepath.Dir(x.paths.State))
	for _, entry := range entries {
		dir := filepath.Join(filepath.Dir(x.paths.State), entry.Name())
		if !entry.IsDir() || dir == x.paths.State || api.CheckPrivate(dir) != nil {
			continue
		}
		server, err := own.Read(filepath.Join(dir, serverFile), maxComplaint)
		socket := strings.TrimSuffix(string(server), "\n")
		if err != nil || socket == "" || !goneServer(ctx, socket) {
			continue
		}
		f := finding{ID: "leftovers", Level: note}
		size, journal, foreign := contents(dir)
		if journal || foreign {
			f.Text = fmt.Sprintf("the tmux server at %q is gone; its journal and log are kept in %s (%s)", socket, dir, bytesOf(size))
			f.Hint = "they are used again if a server runs there; otherwise remove the directory when you no longer need them"
		} else {
			f.Text = fmt.Sprintf("the tmux server at %q is gone, and %s holds no journal", socket, dir)
			f.mend = func(context.Context) error { return removeEmpty(dir) }
		}
		found = append(found, f)
	}
	return found
}

// goneServer reports whether no tmux server answers on a socket.
func goneServer(ctx context.Context, socket string) bool {
	if _, err := os.Stat(socket); errors.Is(err, fs.ErrNotExist) {
		return true
	}
	_, err := tmux.Inspect(ctx, tmux.Options{Socket: socket, Deadline: answerTimeout})
	return errors.Is(err, tmux.ErrNoServer)
}

// ownFiles are the files in a state directory beside a journal.
var ownFiles = []string{serverFile, complaintsFile, "sidecar.log"}

// contents returns the size of a state directory, whether a journal is in it, and whether anything is in it besides
// ownFiles.
func contents(dir string) (size int64, journal, foreign bool) {
	entries, err := own.List(dir)
	if err != nil {
		return 0, false, true
	}
	for _, entry := range entries {
		if info, err := entry.Info(); err == nil {
			size += info.Size()
		}
		name := entry.Name()
		journal = journal || strings.HasPrefix(name, journalFile)
		foreign = foreign || !slices.ContainsFunc(ownFiles, func(own string) bool { return name == own || strings.HasPrefix(name, own+".") })
	}
	return size, journal, foreign
}

// removeEmpty removes a state directory, unless it holds a journal or another file that is not of ownFiles by now.
func removeEmpty(dir string) error {
	if _, journal, foreign := contents(dir); journal || foreign {
		return fmt.Errorf("%q is no longer empty", dir)
	}
	entries, err := own.List(dir)
	if err != nil {
		return err
	}
	for _, entry := range entries {
		if err := os.Remove(filepath.Join(dir, entry.Name())); err != nil {
			return err
		}
	}
	return os.Remove(dir) // not RemoveAll: a file that was put there meanwhile stays
}

// logSize reports the size of the logs, and whether they have grown beyond what rotation allows.
func logSize(_ context.Context, x *patient) []finding {
	if x.pathsErr != nil {
		return nil
	}
	files := own.Glob(filepath.Dir(x.paths.Log), filepath.Base(x.paths.Log)+"*")
	var size int64
	for _, file := range files {
		if info, err := os.Lstat(file); err == nil {
			size += info.Size()
		}
	}
	switch {
	case len(files) == 0:
		return nil
	case size > muchLog:
		return []finding{{
			ID: "log", Level: note, Text: fmt.Sprintf("the log has %s: %s", bytesOf(size), x.paths.Log),
			Hint: "something is logged again and again; its last lines say what",
		}}
	}
	return []finding{{ID: "log", Level: fine, Text: fmt.Sprintf("the log has %s: %s", bytesOf(size), x.paths.Log)}}
}

// bytesOf formats a size for people.
func bytesOf(n int64) string {
	switch {
	case n < 1<<10:
		return fmt.Sprintf("%d bytes", n)
	case n < 1<<20:
		return fmt.Sprintf("%d KiB", n>>10)
	}
	return fmt.Sprintf("%d MiB", n>>20)
}
