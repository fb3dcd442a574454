package delta

// Answer is what a program shows behind a text that it took.
type Answer struct {
	Before []string // the lines as they stood when the text was typed: the last is the empty composer
	Words  string   // what stands between the text and the next prompt
	Over   bool     // that prompt is not the composer: something else was entered since
}

// Answer looks in lines, as a Capture has them, for the last place where a text was taken. ok is
// false if none shows it. The Tracker takes in neither the text nor the lines.
func (t *Tracker) Answer(shown []string, text string) (a Answer, ok bool) {
	s := New(t.prompt, t.more...)
	if s.Expect(text); len(s.expected) == 0 {
		return Answer{}, false
	}
	var lines []line
	for _, one := range captured(shown) {
		lines = append(lines, line{text: one})
	}
	at, end := len(lines)-1, 0
	for ; at >= 0; at-- {
		if n := s.echoAt(lines, at, s.expected[0]); n > 0 {
			end = at + n
			break
		}
	}
	if at < 0 {
		return Answer{}, false
	}
	for _, l := range lines[:at] {
		a.Before = append(a.Before, l.text)
	}
	rest, _ := t.prompt.Rest(lines[at].text)
	a.Before = append(a.Before, lines[at].text[:len(lines[at].text)-len(rest)])
	next := end
	for next < len(lines) {
		if _, prompted := t.prompt.Rest(lines[next].text); prompted {
			break
		}
		next++
	}
	for i := next + 1; i < len(lines) && !a.Over; i++ {
		a.Over = !t.continues(lines[i].text)
	}
	a.Words = s.words(said{lines: lines[end:next]}).Words
	return a, true
}
