package profile

// Aider returns the profile of aider: a line program with bracketed paste whose further lines begin with ". ".
// While its last word may be the beginning of a file's name, it shows a list below the prompt. Its question
// "(Y)es/(N)o [Yes]:" is not a prompt of its composer.
func Aider() Profile {
	p := LinePaste()
	p.Name = "aider"
	p.Continuations = []string{". "}
	p.End = " "
	p.Chrome = []string{"────", "Tokens: "}
	p.Start, p.Quit = []string{"aider"}, "/exit"
	return p
}
