package manpage

import (
	"os/exec"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func tree() *cobra.Command {
	root := &cobra.Command{Use: "fold", Short: "Fold paper"}
	root.PersistentFlags().Bool("json", false, "print one JSON value")
	boat := &cobra.Command{
		Use: "boat SHEET", Short: "Fold a boat",
		Long: `Fold a boat of SHEET,
.which begins with a dot, in C:\paper.

'A quote' begins this. Kinds:

  small   fits ~/.bath
  'large' does not

.TH is no request of yours.`,
		Example: `  fold boat --again 'sheet one'`,
		RunE:    func(*cobra.Command, []string) error { return nil },
	}
	boat.Flags().StringP("name", "n", "", "`NAME` of the boat")
	boat.Flags().Bool("again", false, "fold it once more")
	boat.Flags().Int("sides", 2, "how many `SIDES` it has")
	boat.Flags().Bool("secret", false, "")
	_ = boat.Flags().MarkHidden("secret")
	inner := &cobra.Command{Use: "worker", Hidden: true, Run: func(*cobra.Command, []string) {}}
	root.AddCommand(boat, inner)
	return root
}

func TestOf(t *testing.T) {
	pages := Of(tree(), "fold 1.0", "Paper")
	require.Len(t, pages, 2, "none of what nobody calls")
	assert.Equal(t, "fold.1", pages[0].Name)
	assert.Equal(t, "fold-boat.1", pages[1].Name)
	assert.Equal(t, `.TH "FOLD-BOAT" 1 "" "fold 1.0" "Paper"
.nh
.ad l
.SH NAME
fold\-boat \- Fold a boat
.SH SYNOPSIS
\fBfold boat SHEET [flags]\fP
.SH DESCRIPTION
Fold a boat of SHEET,
\&.which begins with a dot, in C:\epaper.
.PP
\(aqA quote\(aq begins this. Kinds:
.PP
.nf
  small   fits \(ti/.bath
  \(aqlarge\(aq does not
.fi
.PP
\&.TH is no request of yours.
.SH "OPTIONS"
.TP
\fB\-\-again\fP
fold it once more
.TP
\fB\-h, \-\-help\fP
help for boat
.TP
\fB\-n, \-\-name\fP \fINAME\fP
NAME of the boat
.TP
\fB\-\-sides\fP \fISIDES\fP
how many SIDES it has (default 2)
.SH "OPTIONS OF ALL COMMANDS"
.TP
\fB\-\-json\fP
print one JSON value
.SH EXAMPLES
.nf
  fold boat \-\-again \(aqsheet one\(aq
.fi
.SH SEE ALSO
.BR fold (1)
`, pages[1].Text)
}

// A person reads what the command says, to the letter.
func TestOf_asItIsRead(t *testing.T) {
	groff, err := exec.LookPath("groff")
	if err != nil {
		t.Skip("groff is missing, which shows a page as man does: apt-get install groff-base")
	}
	for _, page := range Of(tree(), "fold 1.0", "Paper") {
		cmd := exec.Command(groff, "-Kutf8", "-man", "-Tutf8", "-P-cbou", "-ww")
		cmd.Stdin = strings.NewReader(page.Text)
		out, err := cmd.CombinedOutput()
		require.NoError(t, err, "%s", out)
		assert.NotContains(t, string(out), "warning")
		if page.Name == "fold-boat.1" {
			for _, part := range []string{`.which begins with a dot, in C:\paper.`, "  small   fits ~/.bath", "  'large' does not", "fold boat --again 'sheet one'", "-n, --name NAME", ".TH is no request"} {
				assert.Contains(t, string(out), part)
			}
		}
	}
}
