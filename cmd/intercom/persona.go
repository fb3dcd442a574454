package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/tmux-intercom/tmux-intercom/sidecar/own"
)

// lineProgram is a line program for the demo, and for people without an agent at hand. It answers each line with a few
// words.
type lineProgram struct {
	name, prompt, log string
	think             time.Duration
}

func (a *app) persona() *cobra.Command {
	var p lineProgram
	cmd := &cobra.Command{
		Use:    "persona",
		Short:  "Run a line program that answers what it reads",
		Hidden: true,
		Args:   between(0, 0, "no arguments"),
		RunE: func(*cobra.Command, []string) error {
			a.ran = true
			signal.Reset(os.Interrupt, syscall.SIGTERM) // it has nothing to finish, and its reading does not heed a context
			return p.run(a)
		},
	}
	cmd.Flags().StringVar(&p.name, "name", "persona", "how it calls itself")
	cmd.Flags().StringVar(&p.prompt, "prompt", "> ", "what it shows while it reads")
	cmd.Flags().DurationVar(&p.think, "think", 300*time.Millisecond, "time before an answer")
	cmd.Flags().StringVar(&p.log, "log", "", "`FILE` for what it reads, one JSON string a line")
	return cmd
}

// run reads until the end of its input. The terminal edits the line and echoes it.
func (p *lineProgram) run(a *app) error {
	log, err := p.open()
	if err != nil {
		return err
	}
	defer log.Close()
	note := json.NewEncoder(log)
	in := bufio.NewScanner(a.Stdin)
	for n := 1; ; n++ {
		fmt.Fprint(a.Stdout, p.prompt)
		if n == 1 {
			_ = note.Encode("") // it reads
		}
		if !in.Scan() {
			fmt.Fprintln(a.Stdout)
			return in.Err()
		}
		_ = note.Encode(in.Text())
		time.Sleep(p.think)
		fmt.Fprintf(a.Stdout, "%s-%d: %s\n", p.name, n, p.words(n))
	}
}

func (p *lineProgram) open() (*os.File, error) {
	if p.log == "" {
		return os.OpenFile(os.DevNull, os.O_WRONLY, 0)
	}
	return own.OpenFile(p.log, os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o600)
}

// words returns four words that no other answer is likely to have.
func (p *lineProgram) words(n int) string {
	h := fnv.New64a()
	fmt.Fprintf(h, "%d/%s", n, p.name)
	sum, picked := h.Sum64(), make([]string, 4)
	for i := range picked {
		picked[i] = vocabulary[sum%uint64(len(vocabulary))]
		sum /= uint64(len(vocabulary))
	}
	return strings.Join(picked, " ")
}

var vocabulary = strings.Fields(`amber anchor autumn basil beacon breeze bridge bronze canvas cedar clover copper
coral delta eagle ember falcon feather flint garden glacier granite harbour heron indigo island jasmine kettle lantern
lemon linen maple meadow mosaic nettle ochre olive orchard otter pebble pillar prairie quartz raven ribbon river saffron
silver sparrow stone summer thistle timber topaz tundra umber valley velvet violet walnut willow winter yarrow zephyr`)

// personaRead returns what the persona that writes log has read, and whether it reads yet.
func personaRead(log string) (lines []string, reads bool, err error) {
	data, err := own.Read(log, 1<<20)
	if err != nil {
		return nil, false, err
	}
	for line := range bytes.Lines(data) {
		var text string
		if json.Unmarshal(line, &text) != nil {
			break // still being written
		}
		lines = append(lines, text)
	}
	if len(lines) == 0 {
		return nil, false, nil
	}
	return lines[1:], true, nil
}
