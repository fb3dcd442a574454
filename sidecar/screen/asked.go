package screen

import "strings"

// Asked returns the question on a screen: the lowest row that ends with a question mark, without its frame, or ""
// if there is none. It is only what a program has painted, and proves nothing.
func Asked(rows []string) string {
	for i := len(rows) - 1; i >= 0; i-- {
		row := strings.TrimSpace(strings.Trim(strings.TrimSpace(Plain(rows[i])), frames))
		if strings.HasSuffix(row, "?") && strings.Contains(row, " ") {
			return clip(row)
		}
	}
	return ""
}

// frames are the characters that dialogs draw their boxes with, and the marks before their first row.
const frames = "│┃|╭╮╰╯─═ \u00a0△●•›❯>"
