package scripting

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// five returns five scripts as people write them: redaction, a limit, rules, routing, format.
var five = []string{
	`local keys = intercom.re [[sk-[\w-]{16,}|ghp_\w{20,}|AKIA[A-Z0-9]{16}]]
intercom.on("filter", function(msg) return { body = (keys:replace(msg.body, "[redacted]")) } end)`,
	`intercom.on("guard", function(msg, ctx)
  if msg.depth > 8 then return intercom.hold { reason = "depth " .. msg.depth, notify = "popup" } end
  if ctx.count("pair:" .. msg.from .. ">" .. msg.to, 60) > 1000 then return intercom.ask { reason = "too many" } end
end)`,
	`for _, kind in ipairs { "question", "update", "issue", "handoff", "request" } do
  for _, priority in ipairs { "low", "normal", "high", "urgent" } do
    intercom.rule(kind .. " " .. priority, { type = kind, priority = priority }, priority == "low" and intercom.deliver() or intercom.ask())
  end
end`,
	`intercom.on("route", function(msg, ctx)
  if msg.type == "turn" and ctx.agent("Reviewer") then return "Reviewer" end
end)
intercom.on("decide", function(msg, ctx)
  local to = ctx.agent(msg.to)
  if to and to.state == "working" then return intercom.deliver { reason = "to " .. to.name } end
end)`,
	`intercom.on("format", function(msg) return ("[%s] (%d):\n\n%s"):format(msg.from, msg.from_number, msg.body) end)`,
}

// From the call to the verdict, through the worker: five scripts, a body of 4 KB. Messages come one by one, as from
// agents, or without a pause; then each waits until the worker has made its machines.
func BenchmarkL14_Q8_evaluation(b *testing.B) {
	for _, pause := range []time.Duration{3 * time.Millisecond, 0} {
		b.Run("pause "+pause.String(), func(b *testing.B) {
			engine := New(Options{})
			set, err := engine.Compile(context.Background(), files(five...))
			require.NoError(b, err)
			engine.Use(set)
			defer engine.Close()
			in := said(strings.Repeat("All work and no play makes Jack a dull boy. ", 94)[:4096])
			var took []time.Duration
			for b.Loop() {
				time.Sleep(pause)
				begun := time.Now()
				v, err := engine.Evaluate(context.Background(), in)
				took = append(took, time.Since(begun))
				if err != nil || len(v.Failures) > 0 {
					b.Fatal(err, v.Failures)
				}
			}
			slices.Sort(took)
			b.ReportMetric(float64(took[len(took)/2].Microseconds()), "p50-µs")
			b.ReportMetric(float64(took[len(took)*99/100].Microseconds()), "p99-µs")
		})
	}
}
