package policyset

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tmux-intercom/tmux-intercom/scripting"
	"github.com/tmux-intercom/tmux-intercom/scripting/policy"
	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
	"github.com/tmux-intercom/tmux-intercom/sidecar/relay"
)

// A file saved during the trial of an earlier save is used too.
func TestL9_SavedWhileASetIsTried(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.save("init.lua", letsGo)
	r.begin()
	saved := make(chan struct{})
	r.recent = func() []relay.Question { // the set is being tried
		select {
		case <-saved:
		default:
			r.save("init.lua", asks)
			close(saved)
		}
		return nil
	}
	r.runs()
	r.save("init.lua", letsGo+"\n-- a comment")
	<-saved
	r.within(time.Minute, "what was saved last is in use", func() bool { return r.decides().Verb == message.VerbAsk })
	assert.Empty(t, r.Status().Error)
}

// An unreadable directory is not the same as one without policies.
func TestL9_DirectoryThatCannotBeRead(t *testing.T) {
	t.Parallel()
	guard := `intercom.on("guard", function() return intercom.hold { reason = "careful" } end)`
	for name, c := range map[string]struct{ file, link string }{
		"policies": {"policies/10-guard.lua", "policies"},
		"init.lua": {"init.lua", "init.lua"},
		"all":      {"init.lua", ""},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t)
			elsewhere := filepath.Join(t.TempDir(), "dotfiles")
			r.write(filepath.Join(elsewhere, c.file), guard)
			link := filepath.Join(r.o.Config, c.link)
			require.NoError(t, os.MkdirAll(filepath.Dir(link), 0o700))
			require.NoError(t, os.Symlink(filepath.Join(elsewhere, c.link), link))
			r.begin()
			require.Equal(t, message.VerbHold, r.decides().Verb)
			require.NoError(t, os.Rename(elsewhere, elsewhere+" unmounted"))
			r.changed(r.Context())
			assert.Equal(t, message.VerbHold, r.decides().Verb, "what was in use stays in use")
			assert.NotEmpty(t, r.Problem(), "and a person is told")
		})
	}
}

// A file that is a link, for example into a directory of dotfiles, comes into use as soon as its target is saved, even
// by an editor that replaces the target.
func TestL9_LinkedFile(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	dotfile := filepath.Join(t.TempDir(), "init.lua")
	r.write(dotfile, letsGo)
	require.NoError(t, os.MkdirAll(r.o.Config, 0o700))
	require.NoError(t, os.Symlink(dotfile, filepath.Join(r.o.Config, "init.lua")))
	r.begin()
	r.every = time.Hour
	r.runs()
	for i, text := range []string{asks, letsGo, asks} {
		r.write(dotfile+"~", text)
		if i == 0 {
			r.write(dotfile, text)
		} else {
			require.NoError(t, os.Rename(dotfile+"~", dotfile))
		}
		want := map[string]message.Verb{asks: message.VerbAsk, letsGo: message.VerbDeliver}[text]
		r.within(time.Minute, "it is in use", func() bool { return r.decides().Verb == want })
	}
}

// A new directory is noticed like a file, at any depth.
func TestL9_DirectoryThatComes(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.o.Config = filepath.Join(r.o.Config, "one", "two")
	r.begin()
	r.every = time.Hour
	beside := filepath.Join(filepath.Dir(filepath.Dir(filepath.Dir(r.o.Config))), "something else")
	r.write(beside, "")
	assert.True(t, r.foreignTo(beside))
	assert.False(t, r.foreignTo(filepath.Dir(r.o.Config)))
	assert.False(t, r.foreignTo(filepath.Join(r.o.Config, "init.lua")))
	r.runs()
	r.save("policies/10.lua", asks)
	r.within(time.Minute, "it is in use", func() bool { return r.decides().Verb == message.VerbAsk })
}

// A worker that cannot be started for a moment is started again later.
func TestL9_WorkerThatIsLate(t *testing.T) {
	t.Parallel()
	there := filepath.Join(t.TempDir(), "there")
	r := newRig(t, "/bin/sh", "-c", `[ -e "$0" ] && exec "$1" policy-worker; exit 1`, there, os.Args[0])
	r.begin()
	v, err := r.Decide(t.Context(), question("hello"))
	require.NoError(t, err)
	require.Equal(t, message.VerbHold, v.Verb)
	require.True(t, v.Unfiltered, "nor can any filter be asked: no yes lets it go, and it is decided anew")
	require.NotEmpty(t, r.Problem())
	r.runs()
	require.NoError(t, os.WriteFile(there, nil, 0o600))
	r.within(time.Minute, "it can be started now", func() bool { return r.decides().Verb == message.VerbDeliver })
	r.within(time.Minute, "nothing is wrong any more", func() bool { return r.Problem() == "" })
}

// rolledBack returns a rig whose set asks, after a person went back to it from one that delivers everything.
func rolledBack(t *testing.T, project string) *rig {
	t.Helper()
	r := newRig(t)
	if project != "" {
		r.write(filepath.Join(project, scripting.ProjectFile), `intercom.on("guard", function() end)`)
		r.moves("id-Ada", project)
	}
	r.save("init.lua", asks)
	r.begin()
	_, err := r.Rollback(r.Context(), false)
	require.ErrorIs(t, err, ErrNoOther, "nobody is asked in vain")
	r.save("init.lua", letsGo)
	r.changed(r.Context())
	asked, err := r.Rollback(r.Context(), false)
	require.NoError(t, err)
	require.Equal(t, message.VerbDeliver, r.decides().Verb, "nobody was sure")
	require.WithinDuration(t, asked.Since, asked.Earlier.Until, time.Minute, "it was in use until the other one was")
	done, err := r.Rollback(r.Context(), true)
	require.NoError(t, err)
	require.Equal(t, asked.Earlier.Set, done.Generation, "one set has one name")
	require.Zero(t, done.Kept[1].Until, "it is in use")
	require.NotZero(t, done.Kept[0].Until)
	require.Equal(t, message.VerbAsk, r.decides().Verb)
	r.changed(r.Context())
	require.Equal(t, message.VerbAsk, r.decides().Verb, "the files stay out of use until they are changed")
	return r
}

// Until a person changes their own files, nothing undoes their rollback: neither a project, nor a start at which nobody
// knows yet which session works where.
func TestL9_L12_NothingUndoesARollback(t *testing.T) {
	t.Parallel()
	for name, happens := range map[string]func(*rig){
		"a project comes": func(r *rig) { r.moves("id-Ben", r.project("-- nothing at all")) },
		"a project's file is changed": func(r *rig) {
			r.write(filepath.Join(r.places["id-Ada"].Project, scripting.ProjectFile), `intercom.on("guard", function() end) -- !`)
		},
		"a project goes": func(r *rig) { r.moves("id-Ada", "") },
		"a start": func(r *rig) {
			r.End()
			workplaces := r.places
			r.places = nil
			r.begin()
			r.places = workplaces
		},
	} {
		t.Run(name, func(t *testing.T) {
			r := rolledBack(t, t.TempDir())
			happens(r)
			r.look()
			r.changed(r.Context())
			assert.Equal(t, message.VerbAsk, r.decides().Verb, "the person's files were not changed")
			assert.True(t, r.Left())
			assert.Empty(t, r.Problem(), "that is no error")
			r.save("init.lua", letsGo+" -- anew")
			r.changed(r.Context())
			assert.Equal(t, message.VerbDeliver, r.decides().Verb, "now they were")
			assert.False(t, r.Left())
		})
	}
}

// An error in a file is reported until the file is mended or gone, even while the other files are left for earlier
// ones. Afterwards those are left again, without an error.
func TestL9_NoErrorOfAFileThatIsGone(t *testing.T) {
	t.Parallel()
	r := rolledBack(t, "")
	assert.True(t, r.Left())
	assert.Empty(t, r.Problem(), "a person wanted it")
	r.save("policies/10.lua", "not Lua")
	r.changed(r.Context())
	assert.Contains(t, r.Problem(), "policies/10.lua")
	assert.False(t, r.Left(), "these are other files")
	require.NoError(t, os.Remove(filepath.Join(r.Config, "policies", "10.lua")))
	r.changed(r.Context())
	assert.Empty(t, r.Problem())
	assert.True(t, r.Left())
	assert.Equal(t, message.VerbAsk, r.decides().Verb, "they are those that were left")
}

// If the files are changed into those in use, they are in use: none are left any more, and a start finds the same.
func TestTake_filesMadeWhatIsInUse(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	var failed []string
	r.o.Failed = func(problem string) { failed = append(failed, problem) }
	r.save("init.lua", asks)
	r.begin()
	r.save("init.lua", letsGo)
	r.changed(r.Context())
	_, err := r.Rollback(r.Context(), true)
	require.NoError(t, err)
	require.True(t, r.Left())
	r.save("init.lua", asks)
	r.changed(r.Context())
	assert.False(t, r.Left())
	assert.Empty(t, r.Problem())
	assert.Equal(t, "", failed[len(failed)-1], "nor does the status line say so")
	r.End()
	r.begin()
	assert.False(t, r.Left())
	r.save("init.lua", letsGo)
	r.changed(r.Context())
	assert.Equal(t, message.VerbDeliver, r.decides().Verb, "and what was left is a change")
}

// If a person goes back to a set that equals the current files, those are in use, not left.
func TestRollback_toTheFilesThatAreThere(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.save("init.lua", asks)
	r.begin()
	r.save("init.lua", letsGo)
	r.changed(r.Context())
	require.NoError(t, r.lock(r.Context())) // as one that was good comes back for one that fails
	require.NoError(t, r.back(r.Context(), r.kept.Sets[1], failedTooOften))
	r.kept.add(r.files.own, r.running.Generation, r.Now())
	r.unlock()
	require.True(t, r.Left())
	require.NotEmpty(t, r.Problem())
	status, err := r.Rollback(r.Context(), true)
	require.NoError(t, err)
	assert.Equal(t, message.VerbDeliver, r.decides().Verb)
	assert.Empty(t, status.RolledBack)
	assert.False(t, r.Left())
	assert.Empty(t, r.Problem())
	r.End()
	r.begin()
	assert.False(t, r.Left())
	assert.Equal(t, message.VerbDeliver, r.decides().Verb)
}

// A save that puts left files into use again names them.
func TestL12_FilesInUseAgainAreNamed(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	var shown []string
	r.o.Shown = func(text string) { shown = append(shown, text) }
	r.save("init.lua", "-- first")
	r.begin()
	r.save("policies/50-quiet-hours.lua", asks)
	r.changed(r.Context())
	_, err := r.Rollback(r.Context(), true)
	require.NoError(t, err)
	require.Empty(t, shown)
	r.save("init.lua", "-- second")
	r.changed(r.Context())
	require.Equal(t, message.VerbAsk, r.decides().Verb)
	assert.Equal(t, []string{"policy: init.lua is in use as it is now, policies/50-quiet-hours.lua is in use again"}, shown)
	r.save("init.lua", "-- third")
	r.changed(r.Context())
	assert.Len(t, shown, 1, "nothing was left")
}

// trusting returns a rig whose project is trusted, with an earlier set to go back to.
func trusting(t *testing.T) *rig {
	t.Helper()
	r := newRig(t)
	r.moves("id-Ada", r.project(letsGo))
	r.trust[policy.Source{Text: letsGo}.Hash()] = true
	r.save("init.lua", "-- first")
	r.begin()
	r.save("init.lua", "-- second")
	r.changed(r.Context())
	require.Equal(t, message.VerbDeliver, r.decides().Verb)
	require.Contains(t, r.decides().By, scripting.ProjectFile, "it is the project's that decides")
	return r
}

func (r *rig) revoke() {
	r.mu.Lock()
	defer r.mu.Unlock()
	clear(r.trust)
}

// A revoked trust stays revoked: after a rollback, and after a start with files that cannot be used.
func TestL12_RevokedTrustStaysRevoked(t *testing.T) {
	t.Parallel()
	for name, happens := range map[string]func(*rig){
		"back": func(r *rig) {
			r.revoke()
			r.changed(r.Context())
			require.NotContains(r, r.decides().By, scripting.ProjectFile)
			_, err := r.Rollback(r.Context(), true)
			require.NoError(r, err)
		},
		"start": func(r *rig) {
			r.End()
			r.revoke()
			r.save("init.lua", "not Lua")
			r.begin()
		},
	} {
		t.Run(name, func(t *testing.T) {
			r := trusting(t)
			happens(r)
			assert.Equal(t, policy.BuiltIn, r.decides().By, "whom nobody trusts decides nothing")
		})
	}
}

const holds = `intercom.on("guard", function() return intercom.hold { reason = "not out of this project" } end)`

// A project's guard holds from the first message that concerns it, even while the person's own files are broken, or
// while a save is being tried.
func TestL12_GuardOfAProjectThatComes(t *testing.T) {
	t.Parallel()
	for name, meanwhile := range map[string]func(*rig){
		"nothing else": func(*rig) {},
		"broken files": func(r *rig) {
			r.save("init.lua", "not Lua")
			r.changed(r.Context())
			require.NotEmpty(r, r.Problem())
		},
		"a save is tried": func(r *rig) {
			tried, asked, over := make(chan struct{}), make(chan struct{}), make(chan struct{})
			r.recent = func() []relay.Question {
				close(tried)
				<-asked
				return nil
			}
			var once sync.Once
			r.Dir = func(message.Peer) string { // the first that Decide wants to know
				once.Do(func() { close(asked) })
				return ""
			}
			r.save("init.lua", letsGo+" -- anew")
			go func() { defer close(over); r.changed(r.Context()) }()
			<-tried
			r.Cleanup(func() { <-over })
		},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t)
			r.save("init.lua", letsGo)
			r.begin()
			require.Equal(t, message.VerbDeliver, r.decides().Verb)
			meanwhile(r)
			r.moves("id-Ada", r.project(holds))
			r.look()
			assert.Equal(t, message.VerbHold, r.decides().Verb)
		})
	}
}

// The policy of a project is asked about messages that scripts route to a session in it. If it cannot be asked, a
// person is: because the project is new, or because the session is named by its id.
func TestDecide_projectOfARoute(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.o.Dir = func(s message.Peer) string { r.mu.Lock(); defer r.mu.Unlock(); return r.places[s.ID].Dir }
	r.save("init.lua", `intercom.on("route", function(msg) return msg.body end) `+letsGo)
	r.begin()
	goes := func(to string) message.Outcome {
		t.Helper()
		v, err := r.Decide(r.Context(), question(to))
		require.NoError(t, err)
		return v.For("id-Dan")
	}
	assert.Equal(t, message.VerbDeliver, goes("Dan").Verb)
	project := r.project(holds)
	r.mu.Lock()
	r.places["id-Dan"] = Workplace{Dir: project, Project: project}
	r.mu.Unlock()
	assert.Equal(t, message.VerbAsk, goes("Dan").Verb)
	r.changed(r.Context())
	assert.Equal(t, message.VerbHold, goes("Dan").Verb)
	assert.Equal(t, message.VerbAsk, goes("id-Dan").Verb)
	qs := []relay.Question{question("Dan"), question("Dan"), question("id-Dan")}
	ahead := r.DecideAhead(r.Context(), qs, time.Minute)
	require.Len(t, ahead, 2, "Decide says what holds for the last")
	assert.Equal(t, message.VerbHold, ahead[1].For("id-Dan").Verb)
}

// If an editor empties or removes a file and writes it a moment later, the person's rules apply all the time.
func TestL9_EmptyForAMoment(t *testing.T) {
	t.Parallel()
	for name, begin := range map[string]func(path string) error{
		"empty": func(path string) error { return os.Truncate(path, 0) },
		"gone":  os.Remove,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			var later, readings atomic.Int64 // the time on the clock, which stands still otherwise; the number of readings of the files
			start := time.Now()
			r.o.Now = func() time.Time { return start.Add(time.Duration(later.Load())) }
			r.o.Trusted = func(string, string) bool { readings.Add(1); return false } // asked about a project's file at each
			r.moves("id-Ada", r.project("-- nothing"))
			r.save("init.lua", letsGo)
			r.save("policies/10-mine.lua", holds)
			r.begin()
			require.Equal(t, message.VerbHold, r.decides().Verb)
			begins := func() (over chan struct{}) {
				t.Helper()
				require.NoError(t, begin(filepath.Join(r.Config, "policies/10-mine.lua")))
				over = make(chan struct{})
				before := readings.Load()
				go func() { defer close(over); r.changed(r.Context()) }()
				require.Eventually(t, func() bool { return readings.Load() > before+5 }, 20*time.Second, time.Millisecond, "it is read time and again")
				require.Equal(t, message.VerbHold, r.decides().Verb)
				return over
			}
			over := begins()
			r.save("policies/10-mine.lua", holds+" -- anew")
			<-over
			assert.Equal(t, message.VerbHold, r.decides().Verb)
			assert.Contains(t, r.files.own.Sources[1].Text, "anew")
			over = begins()
			later.Add(int64(2 * restless))
			<-over
			assert.Equal(t, message.VerbDeliver, r.decides().Verb, "it was meant")
		})
	}
}

// If a project's file keeps changing, the project's policy is not asked and delays nobody: its guard counts as failed.
func TestL12_RestlessProject(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	project := r.project("-- 0")
	r.moves("id-Ada", project)
	var written atomic.Bool
	n := 0
	r.o.Trusted = func(string, string) bool { // between any two readings
		if written.Load() {
			n++
			r.write(filepath.Join(project, scripting.ProjectFile), fmt.Sprint("-- ", n))
		}
		return false
	}
	r.save("init.lua", letsGo)
	r.begin()
	require.Equal(t, message.VerbDeliver, r.decides().Verb)
	written.Store(true)
	r.save("init.lua", letsGo+" -- an edit")
	r.changed(r.Context())
	assert.Contains(t, r.files.own.Sources[0].Text, "an edit")
	assert.Equal(t, message.VerbHold, r.decides().Verb, "its guard cannot be asked")
	_, err := r.Rollback(r.Context(), true)
	require.NoError(t, err)
	assert.NotContains(t, r.files.own.Sources[0].Text, "an edit")
}

// However large the last messages are, a new set is tried with as many as there is time for, and a new message does not
// wait.
func TestL10_LargeMessages(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	mask := `local secret = intercom.re("s+e+c+r+e+t")
intercom.on("filter", function(msg) return { body = (secret:replace(msg.body, "x")) } end)`
	r.save("init.lua", mask)
	r.begin()
	body := string(make([]byte, message.MaxBody))
	r.recent = func() (all []relay.Question) {
		for range replayed {
			all = append(all, question(body))
		}
		return all
	}
	r.save("init.lua", mask+" -- an edit")
	one := time.Duration(0)
	for range 3 { // a lucky one says little of the others
		began := time.Now()
		_, err := r.Decide(r.Context(), question(body))
		require.NoError(t, err)
		one = max(one, time.Since(began))
	}
	began := time.Now()
	r.changed(r.Context())
	took := time.Since(began)
	var mem runtime.MemStats
	runtime.ReadMemStats(&mem)
	t.Logf("one is decided in %v; saved to active %v, %d MB", one, took, mem.HeapInuse>>20)
	assert.Contains(t, r.files.own.Sources[0].Text, "an edit", r.Problem())
	assert.Less(t, took, replayTime+replayed/8*one, "not with all of them")
}

// Nobody can take the person's newest rules out of force with messages on which policies fail: not if shipped policies
// fail, not if the person's own have proven good, and not, before that, if the failures hold the messages.
func TestLeave_notForMessages(t *testing.T) {
	t.Parallel()
	const fails = `intercom.on("filter", function(msg) if msg.body == "huge" then error("too long") end end)`
	for name, c := range map[string]struct {
		shipped, own string
		good         bool
	}{
		"what is shipped": {shipped: fails},
		"a good set":      {own: fails, good: true},
		"a new filter":    {own: fails},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t)
			r.o.Shipped = []policy.Source{{Name: "shipped/10.lua", Text: c.shipped, Shipped: true}}
			r.save("init.lua", letsGo)
			r.begin()
			proves := func() {
				for range goodAfter {
					r.decides()
				}
				require.Len(t, r.ripe, 1)
				r.proven(r.Context())
			}
			proves()
			r.save("policies/10-own.lua", c.own+"\n"+holds)
			r.changed(r.Context())
			newest := r.Status().Generation
			if c.good {
				proves()
			}
			for range failsInARow {
				v, err := r.Decide(r.Context(), question("huge"))
				require.NoError(t, err)
				require.True(t, v.Unfiltered)
			}
			if len(r.failed) > 0 {
				r.leave(r.Context())
			}
			assert.Equal(t, newest, r.Status().Generation)
			assert.Equal(t, message.VerbHold, r.decides().Verb)
			assert.False(t, r.Left())
		})
	}
}

// The failures of the previous set do not make anybody leave the set in use, nor do its successes make that one good.
func TestLeave_isAboutTheSetThatFailed(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.save("init.lua", letsGo)
	r.begin()
	for range goodAfter {
		r.decides()
	}
	r.proven(r.Context())
	r.save("init.lua", letsGo+` intercom.on("format", function() error("unforeseen") end)`)
	r.changed(r.Context())
	for range failsInARow {
		r.decides()
	}
	require.Len(t, r.failed, 1)
	<-r.failed // it is about to be left
	r.save("init.lua", letsGo+" -- mended")
	r.changed(r.Context())
	mended := r.Status().Generation
	r.leave(r.Context())
	assert.Equal(t, mended, r.Status().Generation)
	assert.False(t, r.Left())
	r.proven(r.Context())
	assert.False(t, r.kept.Sets[r.kept.find(r.files.own.Generation())].Good)
}

// The results of a set say nothing about the set that follows it.
func TestUse_judgesAnew(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.save("init.lua", letsGo)
	r.begin()
	signal(r.failed)
	signal(r.ripe)
	r.save("init.lua", letsGo+" -- anew")
	r.changed(r.Context())
	assert.Empty(t, r.failed)
	assert.Empty(t, r.ripe)
}

// While the person's policies cannot be asked, a notice of another computer waits like a message of its sessions; a
// notice of this sidecar does not.
func TestDecide_unreadANoticeOfAnotherComputerWaits(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.save("init.lua", "not Lua")
	r.begin()
	for trust, want := range map[message.Trust]message.Verb{message.TrustRemote: message.VerbHold, message.TrustVerified: message.VerbDeliver} {
		q := question("its session has ended")
		q.Message.Type, q.Message.Origin, q.Message.Trust = message.KindNotice, message.OriginSystem, trust
		v, err := r.Decide(r.Context(), q)
		require.NoError(t, err)
		assert.Equal(t, want, v.For("id-Ben").Verb, trust)
	}
}

// The set in use is in use again after a start, even if other tests were saved meanwhile: those run before another set
// comes into use.
func TestBegin_noTestTakesAwayWhatWasInUse(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.save("init.lua", letsGo+"\n"+holds)
	r.begin()
	require.Equal(t, message.VerbHold, r.decides().Verb)
	r.End()
	r.save("init_test.lua", `cases("it lets all go", "guard", { { fixture {}, nothing } })`)
	r.begin()
	assert.Equal(t, message.VerbHold, r.decides().Verb)
	assert.NotContains(t, r.decides().Reason, "cannot be asked")
	r.save("init.lua", letsGo)
	r.changed(r.Context())
	assert.Equal(t, message.VerbDeliver, r.decides().Verb, "another set passes them")
	r.save("init.lua", letsGo+"\n"+holds)
	r.changed(r.Context())
	assert.Contains(t, r.Problem(), "init_test.lua:1: it lets all go")
}

// Tests that found no time on a busy machine are run again.
func TestTested_again(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.begin()
	r.Live.tests = time.Nanosecond
	r.save("init.lua", letsGo)
	r.save("init_test.lua", `cases("it lets all go", "decide", { { fixture {}, "deliver" } })`)
	r.changed(r.Context())
	require.Contains(t, r.Problem(), "the tests of all policies took more than")
	require.True(t, r.again.Load())
	r.Live.tests = time.Minute
	r.every = 10 * time.Millisecond
	r.runs()
	r.within(20*time.Second, "they pass", func() bool { return r.Problem() == "" })
}

// A removed policy is not in use any more, whether its tests were removed or not.
func TestTested_withoutTheirPolicy(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.save("init.lua", letsGo)
	r.save("policies/10-mine.lua", holds)
	r.save("policies/10-mine_test.lua", `cases("it holds", "guard", { { fixture {}, "hold" } })`)
	r.begin()
	require.Equal(t, message.VerbHold, r.decides().Verb)
	require.NoError(t, os.Remove(filepath.Join(r.Config, "policies/10-mine.lua")))
	r.changed(r.Context())
	assert.Equal(t, message.VerbDeliver, r.decides().Verb)
	assert.Empty(t, r.Problem())
	assert.Equal(t, []policy.Problem{{File: "policies/10-mine_test.lua", Text: "there is no policy beside these tests", Warning: true}}, r.Status().Warnings)
}

// While the person's policies cannot be asked, no approval releases what their filters have not seen. Once they can be
// asked, it is decided anew.
func TestDecide_unreadIsUnfiltered(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	var used atomic.Int64
	r.o.Used = func(policy.Settings) { used.Add(1) }
	r.save("init.lua", "not Lua")
	r.begin()
	v, err := r.Decide(r.Context(), question("a secret"))
	require.NoError(t, err)
	assert.True(t, v.Unfiltered)
	assert.Equal(t, []any{message.VerbHold, true}, []any{v.For("id-Ben").Verb, v.For("id-Ben").Notify})
	assert.Contains(t, v.For("id-Ben").Reason, "your policies cannot be asked")
	r.save("init.lua", letsGo)
	var late message.Verdict
	r.o.Used = nil
	r.Live.Used = func(policy.Settings) {
		used.Add(1)
		late, err = r.Decide(r.Context(), question("a secret"))
	}
	before := used.Load()
	r.changed(r.Context())
	require.Equal(t, before+1, used.Load(), "once: what it begins to decide anew is not begun again")
	require.NoError(t, err)
	assert.False(t, late.Unfiltered)
	assert.Equal(t, message.VerbDeliver, late.For("id-Ben").Verb)
}
