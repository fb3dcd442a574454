package profile

// Aider is aider: a line program with bracketed paste, whose further lines begin with ". ". While
// its last word may be the beginning of the name of a file, it shows a list below the prompt.
// What it asks, "(Y)es/(N)o [Yes]:", is no prompt of its composer.
func Aider() Profile {
	p := LinePaste()
	p.Name = "aider"
	p.Continuations = []string{". "}
	p.End = " "
	p.Chrome = []string{"────", "Tokens: "}
	p.Start, p.Quit = []string{"aider"}, "/exit"
	return p
}
