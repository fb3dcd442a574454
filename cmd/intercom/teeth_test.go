//go:build teeth

package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// teeth lists the gates in front of a pane, each with a test that fails without it. Gates of package pane are checked before tmux
// is asked to type; those of package tmux are facts that the server compares when it types; those of package relay keep messages
// that wait for a person. If several gates prevent the same harm, no test fails without one of them alone, so they are switched
// off together.
var teeth = []struct{ gates, test string }{ // gates as in INTERCOM_GATE_OFF
	{"pane:composer", "TestDraftIsLeftAlone"},
	{"pane:half", "TestDraftThatThePromptHides"},
	{"pane:pending", "TestPendingKeys/Escape"},
	{"pane:pending", "pane.TestCore_stages"},
	{"pane:news", "TestS27_QuestionsAreNotAnswered/German,_a_letter/open"},
	{"pane:news", "TestS27_QuestionsAreNotAnswered/Arabic/before_Enter"},
	{"pane:process,pane:listed", "TestS4_NothingIsTypedIntoTheShellBelow/found_gone"},
	{"pane:process,pane:listed,pane:front,pane:members,pane:again", "TestS4_NothingIsTypedIntoTheShellBelow/killed_before_the_paste"},
	{"pane:pid,pane:process,pane:listed", "TestS9_TheSameProcessOrNone"},
	{"pane:dead,pane:pid,pane:process,pane:listed", "TestS8_H26_PasteMeetsADeadPane"},
	{"pane:mode,pane:composer", "TestS7_H24_H25_ModesHoldAndSynchronisedFails"},
	{"pane:mode,pane:composer,tmux:mode", "TestS7_H24_H25_ModesHoldAndSynchronisedFails"},
	{"pane:synchronised", "TestS7_H24_H25_ModesHoldAndSynchronisedFails"},
	{"pane:inputoff", "TestS21_EachFactChangedInTheGap/.*/.*/inputoff"},
	{"pane:front", "pane.TestGate_eachFact/another_group_in_front"},
	{"pane:front,pane:members,pane:ear", "TestS19_StoppedAgentIsNotTypedTo"},
	{"pane:exec", "TestS26_AnyExecIsAnotherProgram/shell"},
	{"pane:exec", "TestS26_AnyExecIsAnotherProgram/itself"},
	{"pane:members", "TestS19_H28_OnlyTheAgentInFront/shell$"},
	{"pane:front,pane:members,pane:ear", "TestS19_H28_OnlyTheAgentInFront/shell_with_jobs"},
	{"pane:again", "TestS20_WhatTmuxCannotSeeChangesInTheGap"},
	{"pane:alternate,pane:composer", "TestS21_EachFactChangedInTheGap/.*/.*/alternate"},
	{"pane:deaf", "TestS4_NothingIsTypedIntoTheShellBelow/it_shows_.*"},
	{"pane:deaf", "TestS4_ComposerThatNobodyReads"},
	{"pane:size", "TestResized_itsProgramIsNotToldYet"},
	{"pane:resized", "pane.TestCore_resized"},
	{"pane:ear", "TestS19_ChildInTheAgentsPlace"},
	{"pane:taken", "pane.TestCore_stages"},
	{"pane:ahead", "pane.TestAhead_hides"},
	{"pane:ownline", "TestOwnTextThatNobodyReads"},
	{"pane:password", "TestS20_PasswordPromptGetsNothing"},
	{"pane:line", "TestS20_LineLimitOfTheTerminal"},
	{"pane:cooked", "TestV3_PasteThatIsNoLongerTaken"},
	{"pane:pastes", "pane.TestGate_pastesOff/not_yet"},
	{"pane:keys", "pane.TestCore_stages"},
	{"pane:keys", "TestKeysThatNobodyHasRead"},
	{"pane:starting", "pane.TestCore_stages"},
	{"pane:refuse", "TestAdoptionIsRefused"},
	{"pane:sanitise", "TestS10_H9_H10_H11_H13_H14_H15_H16_H17_H18_BodiesPressNoKeys"},
	{"pane:sanitise", "TestS13_H33_ForgedHeadersAreQuoted"},
	{"pane:seen", "TestS21_EnterIsWithheldFromWhatOpensOnThePaste"},
	{"pane:lost", "TestV4_DeafProgram"},
	{"pane:leave", "TestR14_EnterNeedsLeave"},
	{"pane:mark", "TestV8_KilledAtEachStep/entered"},
	{"pane:exact", "TestH32_IdleScreenOfAnOpenTurn"},
	{"pane:exact", "TestH32_StatusFileAgainstAnIdleScreen"},
	{"pane:age", "TestS25_TranscriptIsReplaced/FIFO"},
	{"pane:setup", "TestS25_SettingsThatHang"},
	{"pane:steady", "TestH32_ScreenAloneIsBelievedLate"},
	{"pane:steady", "TestH32_FlickeringScreenIsNotBelieved"},
	{"pane:widths", "TestS29_TextsOfAllScripts/.*/a_full-screen_program_that_nobody_knows"},
	{"pane:seen", "TestS3_H2_DialogBetweenPasteAndEnter"},
	{"pane:composer", "TestS2_H1_H3_OpenDialogsHold"},
	{"pane:composer", "TestS5_H23_DraftOfAPerson"},
	{"pane:members", "TestProgramsOfAnAgent"},
	{"pane:lost", "TestDeafAgent"},
	{"pane:leave", "TestEnterOfAnAgentNeedsLeave"},
	{"pane:mark", "TestV8_KilledWhileOurTextStands"},
	{"pane:process,pane:listed", "TestS4_H27_AgentHasGoneAndAShellIsThere"},
	{"pane:left,pane:drawn", "TestV2_EnterIsNotPressedAgainInDoubt"},
	{"pane:unread", "TestV2_EnterIsNotPressedAgainInDoubt"},
	{"pane:typist", "TestS5_S17_KeysThatAreNotDrawnYet"},
	{"tmux:keys", "TestS5_S17_KeysThatAreNotDrawnYet"},
	{"pane:told", "TestV2_EnterIsNotPressedAgainInDoubt/untold"},
	{"pane:bold", "pane.TestG2_G6_G10_C46_WhenItIsOpen/it_may_act_without_asking"},
	{"pane:bold", "pane.TestG2_G6_G10_C46_WhenItIsOpen/its_mode_is_not_known"},
	{"pane:bold", "pane.TestG2_G6_G10_C46_WhenItIsOpen/its_screen_warns"},
	{"pane:rest", "pane.TestG2_G6_G10_C46_WhenItIsOpen/a_turn_is_open"},
	{"pane:rest", "pane.TestG2_G6_G10_C46_WhenItIsOpen/its_screen_shows_a_dialog"},
	{"pane:anew", "pane.TestG6_LookedAtAnew"},
	{"pane:handed", "pane.TestG4_V14_OneWayOverAnEnd"},
	{"pane:midst", "pane.TestG17_C46_InTheMidstOfATurn/it_works"},
	{"door:peer", "door.TestG6_OnlyTheAgentsOwnInbox/another_process_listens"},
	{"native:peer", "native.TestRun_anotherProcessListens"},
	{"native:once", "native.TestServe_answersNoServerCouldStumbleOver"},
	{"native:sent", "native.TestS23_C47_AWireThatFailsAnywhere"},
	{"native:nul", "native.TestRequest_isOneThatTheStrictestServerTakes"},
	{"native:none", "native.TestRequest_isOneThatTheStrictestServerTakes"},
	{"native:size", "native.TestRequest_longest"},
	{"tmux:mode", "TestS21_EachFactChangedInTheGap/.*/.*/mode"},
	{"tmux:inputoff", "TestS21_EachFactChangedInTheGap/.*/.*/inputoff"},
	{"tmux:synchronised", "TestS21_EachFactChangedInTheGap/.*/.*/synchronised"},
	{"tmux:alternate", "TestS21_EachFactChangedInTheGap/.*/.*/alternate"},
	{"tmux:cursorflag", "TestS21_EachFactChangedInTheGap/.*/.*/cursorflag"},
	{"tmux:cursor", "TestS21_EachFactChangedInTheGap/.*/.*/cursor$"},
	{"tmux:history", "TestS21_EachFactChangedInTheGap/.*/.*/history"},
	{"tmux:width", "TestS21_EachFactChangedInTheGap/.*/.*/width"},
	{"tmux:tail", "TestS21_EachFactChangedInTheGap/.*/.*/tail"},
	{"tmux:pid", "TestS21_EachFactChangedInTheGap/.*/.*/pid"},
	{"tmux:dead,tmux:cursor,tmux:cursorflag,tmux:history", "TestS8_H26_PasteMeetsADeadPane"},
	{"relay:asks", "TestApprove_gate"},
	{"relay:asks", "TestApprove_noPolicyOutwaitsTheChat"},
	{"relay:person", "TestApprove_yes"},
	{"relay:asks", "TestS28_C49_WhatAnUnverifiedCallerSends"},
	{"relay:resume", "TestS12_B1_OnlyAYesResumesWhatIsBraked"},
	{"relay:tokens", "TestB8_ChatPausesAtItsTokens"},
}

// programsOf are the packages whose tests prove gates, by their names here.
var programsOf = map[string]string{
	"daemon": "../../sidecar/daemon", "relay": "../../sidecar/relay", "pane": "../../sidecar/pane",
	"door": "../../sidecar/door", "native": "../../sidecar/tmux/native",
}

// teethAtOnce is how many tests run at the same time: a test that fails spends most of its time waiting.
const teethAtOnce = 5

// TestTeeth_S22_EachGateIsMissed switches off the gates of each row in turn, and wants the row's test to fail.
func TestTeeth_S22_EachGateIsMissed(t *testing.T) {
	for _, gate := range allGates(t) {
		require.True(t, slices.ContainsFunc(teeth, func(tooth struct{ gates, test string }) bool {
			return slices.Contains(strings.Split(tooth.gates, ","), gate)
		}), "no test is named for gate %q", gate)
	}
	teeth := teeth
	if some := os.Getenv("INTERCOM_TEETH"); some != "" {
		of := regexp.MustCompile(some)
		teeth = slices.DeleteFunc(slices.Clone(teeth), func(tooth struct{ gates, test string }) bool {
			return !of.MatchString(tooth.gates + " " + tooth.test)
		})
		require.NotEmpty(t, teeth, "INTERCOM_TEETH=%s picks none", some)
	}
	programs := t.TempDir()
	for dir, path := range programsOf {
		build := exec.Command("go", "test", "-c", "-tags", "teeth", "-o", filepath.Join(programs, dir), path)
		out, err := build.CombinedOutput()
		require.NoError(t, err, "%s", out)
	}

	// First, all tests pass with all gates on.
	green := map[string]string{}
	for _, tooth := range teeth {
		green[tooth.test] = tooth.gates
	}
	each(len(green), func() func(int) {
		tests := make([]string, 0, len(green))
		for test := range green {
			tests = append(tests, test)
		}
		slices.Sort(tests)
		return func(i int) {
			dir, test := missedIn(green[tests[i]], tests[i])
			if came, out := tried(t, filepath.Join(programs, dir), "", test); came != "GREEN" {
				t.Errorf("%s is %s with all gates on:\n%s", tests[i], came, out)
			}
		}
	}())
	if t.Failed() {
		return
	}
	rows := make([]string, len(teeth))
	each(len(teeth), func(i int) {
		tooth := teeth[i]
		dir, test := missedIn(tooth.gates, tooth.test)
		came, out := tried(t, filepath.Join(programs, dir), tooth.gates, test)
		rows[i] = fmt.Sprintf("%-62s %-68s %s", tooth.gates, tooth.test, came)
		if came != "red" {
			rows[i] += ": nothing misses this gate"
			t.Errorf("%s: %s is %s without it\n%s", tooth.gates, tooth.test, came, out)
		}
	})
	fmt.Printf("%-62s %-68s\n%s\n", "gates switched off", "test that misses them", strings.Join(rows, "\n"))
}

// allGates are the gates that occur in the sources.
func allGates(t *testing.T) (all []string) {
	t.Helper()
	name := regexp.MustCompile(`gate(?:\.Stands\(|: )"(\w+:\w+)"`)
	for _, pattern := range []string{"../../sidecar/*/*.go", "../../sidecar/tmux/native/*.go"} {
		files, err := filepath.Glob(pattern)
		require.NoError(t, err)
		for _, file := range files {
			source, err := os.ReadFile(file)
			require.NoError(t, err)
			for _, found := range name.FindAllSubmatch(source, -1) {
				all = append(all, string(found[1]))
			}
		}
	}
	require.Greater(t, len(all), 25)
	return all
}

// missedIn is the package and name of a row's test. "pane.TestX" names the package; otherwise it is relay for relay's gates, and
// daemon for all others.
func missedIn(gates, test string) (dir, name string) {
	switch dir, name, named := strings.Cut(test, "."); {
	case named && !strings.HasPrefix(test, "Test"): // a test's pattern may have dots
		return dir, name
	case strings.HasPrefix(gates, "relay:"):
		return "relay", test
	}
	return "daemon", test
}

// each calls do for the numbers below n, several at a time.
func each(n int, do func(int)) {
	var all sync.WaitGroup
	room := make(chan struct{}, teethAtOnce)
	for i := range n {
		room <- struct{}{}
		all.Go(func() {
			do(i)
			<-room
		})
	}
	all.Wait()
}

// tried runs a test of the program without some gates, and returns the result: red, GREEN, or one that proves nothing: SKIPPED, or
// NO TEST if none has that name. If the test could not run at all, that is an error.
func tried(t *testing.T, program, gates, test string) (came, out string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	levels := strings.Split(test, "/")
	for i := range levels {
		levels[i] = "^" + strings.TrimSuffix(levels[i], "$") + "$"
	}
	cmd := exec.CommandContext(ctx, program, "-test.v", "-test.failfast", "-test.timeout=2m", "-test.run", strings.Join(levels, "/"))
	cmd.Dir = programsOf[filepath.Base(program)]
	cmd.Env = append(os.Environ(), "INTERCOM_GATE_OFF="+gates, "INTERCOM_LONG=")
	if _, err := exec.LookPath("tmux"); err == nil {
		cmd.Env = append(cmd.Env, "INTERCOM_TMUXES="+t.TempDir()) // one version is enough
	}
	var output bytes.Buffer
	cmd.Stdout, cmd.Stderr = &output, &output
	err := cmd.Run()
	text := output.String()
	name, _, _ := strings.Cut(test, "/")
	switch {
	case err == nil && strings.Contains("\n"+text, "\n--- SKIP: "+name): // the whole test: some subtests are for other systems
		return "SKIPPED", text
	case strings.Contains(text, "testing: warning: no tests to run"): // a subtest was renamed
		return "NO TEST", text
	case err == nil && strings.Contains(text, "--- PASS: "+name):
		return "GREEN", text
	case err != nil && (strings.Contains(text, "--- FAIL: "+name) || strings.Contains(text, "panic: test timed out")):
		return "red", text
	}
	t.Errorf("%s without %q could not be tried: %v\n%s", test, gates, err, text)
	return "not tried", text
}
