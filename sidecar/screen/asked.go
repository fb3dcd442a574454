package screen

import "strings"

// Asked is the row of a screen that asks something, "" where none does: the lowest that ends with a
// question mark, without what frames it. It is what a program has painted, and proves nothing.
func Asked(rows []string) string {
	for i := len(rows) - 1; i >= 0; i-- {
		row := strings.TrimSpace(strings.Trim(strings.TrimSpace(Plain(rows[i])), frames))
		if strings.HasSuffix(row, "?") && strings.Contains(row, " ") {
			return clip(row)
		}
	}
	return ""
}

// frames are what the boxes of dialogs are painted with, and marks before their first row.
const frames = "│┃|╭╮╰╯─═ \u00a0△●•›❯>"
