package service

import (
	"regexp"
	"strings"
	"sync"
	"time"

	"github.com/tmux-intercom/tmux-intercom/sidecar/plain"
)

// RowStays is how long a row of a text in the message line of tmux has for itself before the next one takes its place.
const RowStays = 3 * time.Second

// leastShown are the columns of a row at least: in fewer a text would be shown for minutes.
const leastShown = 20

var keysToPress = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`prefix \+ \S+(, \S+)?`) })

// Rows are the rows in which a text is shown in the message line of tmux, one after the other: tmux cuts off what does not fit.
// Keys to press are not parted.
func Rows(text string, width int) []string {
	const joined = "\u00a0"
	text = keysToPress().ReplaceAllStringFunc(plain.Line(text), func(keys string) string { return strings.ReplaceAll(keys, " ", joined) })
	rows := plain.Wrap(text, max(width, leastShown))
	for i, row := range rows {
		rows[i] = strings.ReplaceAll(row, joined, " ")
	}
	return rows
}

// unshown is what terminals have still to show of a notice, by the name of their client. A newer notice takes the place of all
// that is left of the one before it.
type unshown map[string]leftRows

type leftRows struct {
	rows []string
	due  time.Time // of the first of them
}

// begin is the first row of a notice at a terminal of so many columns.
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

// turn are the rows that are due, by client, each of which is shown now.
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

// next is when turn has something to show; false if never.
func (u unshown) next() (at time.Time, ok bool) {
	for _, left := range u {
		if !ok || left.due.Before(at) {
			at, ok = left.due, true
		}
	}
	return at, ok
}
