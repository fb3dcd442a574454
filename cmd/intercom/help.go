package main

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/tmux-intercom/tmux-intercom/sidecar/api"
	"github.com/tmux-intercom/tmux-intercom/sidecar/spelling"
)

// helpWidth is the maximum width of the help in columns: every terminal shows so many.
const helpWidth = 80

// usage prints how a command is used, as cobra does itself, but with no line too wide.
func usage(cmd *cobra.Command) error {
	var b strings.Builder
	b.WriteString("Usage:")
	if cmd.Runnable() && !cmd.HasAvailableSubCommands() {
		fmt.Fprintf(&b, "\n  %s", cmd.UseLine())
	}
	if cmd.HasAvailableSubCommands() {
		fmt.Fprintf(&b, "\n  %s [command]", cmd.CommandPath())
	}
	if cmd.HasExample() {
		fmt.Fprintf(&b, "\n\nExamples:\n%s", cmd.Example)
	}
	if cmd.HasAvailableSubCommands() {
		b.WriteString("\n\nAvailable Commands:")
		shown := slices.DeleteFunc(slices.Clone(cmd.Commands()), func(sub *cobra.Command) bool {
			return !sub.IsAvailableCommand() && sub.Name() != "help"
		})
		widest := 0 // of those that are shown
		for _, sub := range shown {
			widest = max(widest, len(sub.Name()))
		}
		for _, sub := range shown {
			fmt.Fprintf(&b, "\n  %-*s %s", max(widest, 11), sub.Name(), sub.Short)
		}
	}
	if cmd.HasAvailableLocalFlags() {
		fmt.Fprintf(&b, "\n\nFlags:\n%s", strings.TrimRight(cmd.LocalFlags().FlagUsagesWrapped(helpWidth), " \n"))
	}
	if cmd.HasAvailableInheritedFlags() {
		fmt.Fprintf(&b, "\n\nGlobal Flags:\n%s", strings.TrimRight(cmd.InheritedFlags().FlagUsagesWrapped(helpWidth), " \n"))
	}
	if cmd.HasAvailableSubCommands() {
		fmt.Fprintf(&b, "\n\n%s COMMAND --help says more of one command.", cmd.CommandPath())
	}
	_, err := fmt.Fprintln(cmd.OutOrStderr(), b.String())
	return err
}

// wrapped breaks text at spaces into lines of at most so many columns. Each line begins with a space.
func wrapped(text string, columns int) string {
	var lines []string
	line := ""
	for word := range strings.FieldsSeq(text) {
		if line != "" && utf8.RuneCountInString(line)+1+utf8.RuneCountInString(word) > columns {
			lines, line = append(lines, line), ""
		}
		line += " " + word
	}
	return strings.Join(append(lines, line), "\n")
}

// kinds says what the value of a flag has to be, by cobra's word for its type.
var kinds = map[string]string{"int": "a whole number", "duration": "a time, like 90s or 5m", "bool": "true or false", "float64": "a number of seconds"}

// flagError says what is wrong with a flag, in words that need no knowledge of Go.
func flagError(cmd *cobra.Command, err error) error {
	if words := cmd.Flags().Args(); cmd.HasSubCommands() && len(words) > 0 {
		if misnamed := cmd.ValidateArgs(words); misnamed != nil { // the flag belongs to a command that does not exist
			return misnamed
		}
	}
	help := cmd.CommandPath() + " --help"
	if bad, ok := errors.AsType[*pflag.InvalidValueError](err); ok {
		flag := bad.GetFlag()
		switch {
		case errors.Is(err, strconv.ErrRange):
			return api.Errorf(api.CodeUsage, "--%s %q: too large", flag.Name, bad.GetValue()).WithHint("%s", help)
		case kinds[flag.Value.Type()] != "":
			return api.Errorf(api.CodeUsage, "--%s %q: not %s", flag.Name, bad.GetValue(), kinds[flag.Value.Type()]).WithHint("%s", help)
		}
	}
	if unknown, ok := errors.AsType[*pflag.NotExistError](err); ok {
		name, short := unknown.GetSpecifiedName(), unknown.GetSpecifiedShortnames() != ""
		if near := nearFlag(cmd, name); near != "" && !short {
			return api.Errorf(api.CodeUsage, "%w", err).WithHint("did you mean --%s? %s", near, help)
		}
		if near := nearSetting(cmd, name); near != "" && !short {
			return api.Errorf(api.CodeUsage, "%w", err).WithHint("did you mean --set %s=VALUE? %s", near, help)
		}
		if name == "t" && short {
			help = "name a pane without -t: " + cmd.CommandPath() + " %7, work:0.1 or {right}"
		}
		if cmd.Annotations[takesText] != "" {
			help = "text that begins with - goes after --, as the last argument; " + help
		}
	}
	return api.Errorf(api.CodeUsage, "%w", err).WithHint("%s", help)
}

// nearCommand returns the command below cmd that a person may have meant by word, or "". It has the same first letter,
// and begins with word or differs from it in one letter, or in two if word has at least four.
func nearCommand(cmd *cobra.Command, word string) string {
	cmd.SuggestionsMinimumDistance = 1
	if len(word) >= 4 {
		cmd.SuggestionsMinimumDistance = 2
	}
	for _, near := range cmd.SuggestionsFor(word) {
		if len(word) > 1 && near[0] == word[0] {
			return near
		}
	}
	return ""
}

// below returns the commands called word one level further down: a person may leave out the word between.
func below(cmd *cobra.Command, word string) (all []string) {
	for _, group := range cmd.Commands() {
		for _, sub := range group.Commands() {
			if !group.Hidden && sub.Name() == word && sub.IsAvailableCommand() {
				all = append(all, sub.CommandPath())
			}
		}
	}
	return all
}

// nearFlag returns the flag of cmd that a person may have meant by name, or "".
func nearFlag(cmd *cobra.Command, name string) (near string) {
	least := 3
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		far := spelling.Distance(name, f.Name)
		if len(name) > 2 && strings.HasPrefix(f.Name, name) {
			far = 1
		}
		if !f.Hidden && far < least && far < len(f.Name)-1 {
			near, least = f.Name, far
		}
	})
	return near
}

// nearSetting returns the setting of a chat that a person may have meant by the name of a flag, or "".
func nearSetting(cmd *cobra.Command, name string) (near string) {
	if cmd.Flags().Lookup("set") == nil {
		return ""
	}
	least := 2
	for _, s := range api.Settings {
		if far := spelling.Distance(name, s.Key); far < least {
			near, least = s.Key, far
		}
	}
	return near
}

// checkWord refuses a flag that was given with an empty value.
func checkWord(cmd *cobra.Command, flag string) error {
	if f := cmd.Flags().Lookup(flag); f != nil && f.Changed && strings.TrimSpace(f.Value.String()) == "" {
		return api.Errorf(api.CodeUsage, "--%s is empty", flag).WithHint("%s --help", cmd.CommandPath())
	}
	return nil
}

// several returns a number with the noun that it counts.
func several(n int, one string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %ss", n, one)
}
