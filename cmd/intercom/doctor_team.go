package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"github.com/tmux-intercom/tmux-intercom/sidecar/repository"
	"github.com/tmux-intercom/tmux-intercom/sidecar/team"
)

// teamFiles checks the team of the project in which the doctor runs, if it has one.
func teamFiles(_ context.Context, x *patient) []finding {
	const id = "team"
	dir, err := directoryOf("")
	if err != nil {
		return nil
	}
	root := repository.Nearest(dir, team.Folder)
	if root == "" {
		return nil
	}
	d, err := team.Open(root)
	if err != nil {
		return []finding{{ID: id, Level: problem, Text: fmt.Sprintf("the team in %s cannot be used: %v", root, err), Hint: "it has to be a directory of yours that others cannot write to"}}
	}
	c, err := d.Config()
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return []finding{{ID: id, Level: problem, Text: err.Error(), Hint: "intercom team --help shows what config.json looks like"}}
	}
	var wrong []string
	for i, one := range c.Skipped {
		if i == mostSkipped {
			wrong = append(wrong, fmt.Sprintf("and %d more", len(c.Skipped)-i))
			break
		}
		wrong = append(wrong, one.String())
	}
	if len(wrong) > 0 {
		return []finding{{ID: id, Level: problem, Text: fmt.Sprintf("%s: %s", d.File(), strings.Join(wrong, "; ")), Hint: "the other members are unaffected; correct or delete the entry"}}
	}
	return []finding{{ID: id, Level: fine, Text: fmt.Sprintf("the team in %s has %s", root, several(len(c.Members), "member"))}}
}
