package service

import (
	"regexp"
	"strings"
	"sync"
	"time"

	"github.com/tmux-intercom/tmux-intercom/sidecar/plain"
)

// RowStays is how long each row of a text stays in the message line of tmux before the next one replaces it.
const RowStays = 3 * time.Second

// leastShown is the minimum width of a row in columns: in narrower ones a text would take minutes to show.
const leastShown = 20

var keysToPress = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`prefix \+ \S+(, \S+)?`) })

// Rows splits a text into the rows in which the message line of tmux shows it one after the other, since tmux
// cuts off what does not fit. It does not break a key sequence.
func Rows(text string, width int) []string {
	const joined = "\u00a0"
	text = keysToPress().ReplaceAllStringFunc(plain.Line(text), func(keys string) string { return strings.ReplaceAll(keys, " ", joined) })
	rows := plain.Wrap(text, max(width, leastShown))
	for i, row := range rows {
		rows[i] = strings.ReplaceAll(row, joined, " ")
	}
	return rows
}

// unshown holds the rows of a notice that terminals have yet to show, by the name of their client. A newer
// notice replaces all that is left of the one before it.
type unshown map[string]leftRows

type leftRows struct {
	rows []string
	due  time.Time // when the first of them is due
}

// begin returns the first row of a notice for a terminal of that width, and keeps the others.
func (u unshown) begin(client, text string, width int, now time.Time) string {
	rows := Rows(text, width)
	u.keep(client, rows[1:], now)
	return rows[0]
}

func (u unshown) keep(client string, rows []string, now time.Time) {
	if len(rows) == 0 {
		delete(u, client)
		return
	}
	u[client] = leftRows{rows, now.Add(RowStays)}
}

// turn returns the rows that are due, by client; the caller shows them now.
func (u unshown) turn(now time.Time) map[string]string {
	rows := map[string]string{}
	for client, left := range u {
		if !left.due.After(now) {
			rows[client] = left.rows[0]
			u.keep(client, left.rows[1:], now)
		}
	}
	return rows
}

// next returns when turn has something to show; false if never.
func (u unshown) next() (at time.Time, ok bool) {
	for _, left := range u {
		if !ok || left.due.Before(at) {
			at, ok = left.due, true
		}
	}
	return at, ok
}
