package worker

import (
	"strings"
	"testing"
)

// The cost of the evaluation itself, without a process around it. The difference from BenchmarkL14_Q8_evaluation is the
// cost of the transport. Machines are made while nobody waits.
func BenchmarkEvaluate(b *testing.B) {
	of, _ := load(loadOf(`local keys = intercom.re [[sk-[\w-]{16,}|ghp_\w{20,}|AKIA[A-Z0-9]{16}]]
intercom.on("filter", function(msg) return { body = (keys:replace(msg.body, "[redacted]")) } end)`,
		`intercom.on("guard", function(msg, ctx) if msg.depth > 8 then return intercom.hold { reason = "depth " .. msg.depth } end end)`,
		`intercom.on("decide", function(msg, ctx) return intercom.deliver { reason = "to " .. msg.to } end)`,
		`intercom.on("format", function(msg) return ("[%s] (%d):\n\n%s"):format(msg.from, msg.from_number, msg.body) end)`,
	), nil, func(string) {})
	in := testInput()
	in.Message.Body = strings.Repeat("All work and no play makes Jack a dull boy. ", 94)[:4096]
	b.Run("hooks", func(b *testing.B) {
		for b.Loop() {
			b.StopTimer()
			of.prepare()
			b.StartTimer()
			if v := newEvaluation(of, in, nil).run(); len(v.Failures) > 0 {
				b.Fatal(v.Failures)
			}
		}
	})
	b.Run("machines", func(b *testing.B) {
		for b.Loop() {
			for _, s := range of.scripts {
				s.spare = nil
			}
			of.prepare()
		}
	})
}
