package service

import (
	"fmt"
	"strings"

	"github.com/tmux-intercom/tmux-intercom/sidecar/handshake"
	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
	"github.com/tmux-intercom/tmux-intercom/sidecar/profile"
	"github.com/tmux-intercom/tmux-intercom/sidecar/relay"
	"github.com/tmux-intercom/tmux-intercom/sidecar/team"
)

// welcome returns the first message to a teammate.
func welcome(seat relay.Seat, task string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "You are '%s', role: %s, a teammate in the team of %s. Its lead is '%s'.\n", seat.Name, seat.Role, seat.Dir, team.Lead)
	if task = strings.TrimSpace(task); task != "" {
		fmt.Fprintf(&b, "\nYour task: %s\n", task)
	}
	if seat.RequirePlan {
		b.WriteString("\nBefore you change anything, submit a plan and wait until the lead has approved it.\n")
	}
	fmt.Fprintf(&b, `
Messages of the team come here by themselves. What you say here reaches nobody: send an answer to the lead, or to whoever asked. If you have the MCP tools plan_approval and shutdown_response, use them, and team_send for answers. Without them, use your shell:
  intercom team plan 'TEXT'         submits a plan to the lead; then intercom team plan-wait ID waits for the answer
  intercom team send lead 'TEXT' --from %[1]s
  intercom team shutdown-response ID --approve, or --reject --reason 'TEXT': the answer to a shutdown request, once your current work is done
`, seat.Name)
	return strings.TrimRight(b.String(), "\n")
}

// heldBy says how far the session of a teammate that needs an approved plan is bound by that.
func heldBy(name string, session message.Peer) string {
	if agent, _ := profile.AgentByName(session.Profile); agent.Settings.Hooks.Holds {
		return fmt.Sprintf("'%s' is kept from changing anything without an approved plan by the hook of %s, if intercom hooks install %[2]s has been run before it was started", name, agent.Name)
	}
	return fmt.Sprintf("'%s' is only told to change nothing without an approved plan: intercom has no hook that holds its program to that", name)
}

// line returns the message that a handshake puts into an inbox, and whose inbox that is.
func line(h handshake.Handshake, what relay.Owed) (to string, m team.Message) {
	asked := what == relay.OwedRequest
	m.RequestID = h.ID
	switch {
	case h.Kind == handshake.Shutdown && asked:
		to, m.Type, m.From, m.Content, m.At = h.Answerer.Name, handshake.TypeShutdownRequest, team.Lead, "Please shut down gracefully.", h.Asked
	case h.Kind == handshake.Plan && asked:
		to, m.Type, m.From, m.Content, m.At, m.Plan = team.Lead, handshake.TypePlan, h.Asker.Name, h.Text, h.Asked, &h.Text
	default:
		approve := h.State == handshake.Approved
		m.Approve, m.Content, m.At = &approve, h.Note, h.Ended
		if h.Kind == handshake.Shutdown {
			to, m.Type, m.From = team.Lead, handshake.TypeShutdownResponse, h.Answerer.Name
		} else {
			to, m.Type, m.From, m.Feedback = h.Asker.Name, handshake.TypePlan, team.Lead, &h.Note
		}
	}
	return to, m
}

// spoken returns a line of an inbox as it is typed into its reader's pane. For a step of a handshake, it adds
// which step that is and how to answer it.
func spoken(m team.Message, step relay.Owed) string {
	said := strings.TrimSpace(m.Content)
	switch {
	case step == relay.OwedRequest && m.Type == handshake.TypeShutdownRequest:
		return fmt.Sprintf("%s (shutdown request %[2]s)\nFinish what you are doing, then answer with the tool shutdown_response (request_id %[2]s), or in your shell: intercom team shutdown-response %[2]s --approve, or --reject --reason 'TEXT'", said, m.RequestID)
	case step == relay.OwedRequest:
		return fmt.Sprintf("'%s' submits a plan (request_id %[2]s):\n\n%[3]s\n\nReview it with the tool plan_approval (request_id %[2]s), or in your shell: intercom team plan-review %[2]s --approve, or --reject --feedback 'TEXT'", m.From, m.RequestID, said)
	case step == relay.OwedAnswer:
		word := "rejected"
		if m.Approve != nil && *m.Approve {
			word = "approved"
		}
		text := fmt.Sprintf("Your plan %s is %s.", m.RequestID, word)
		if m.Type == handshake.TypeShutdownResponse {
			text = fmt.Sprintf("'%s' has %s shutdown request %s.", m.From, word, m.RequestID)
		}
		if said != "" {
			text += " " + said
		}
		return text
	}
	return said
}
