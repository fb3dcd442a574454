package screen

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestPen_take(t *testing.T) {
	was := pen{dim: true, colour: 31}
	for seq, want := range map[string]pen{
		"\x1b[m":                       {},
		"\x1b[0m":                      {},
		"\x1b[1;2m":                    {bold: true, dim: true, colour: 31},
		"\x1b[;1m":                     {bold: true},
		"\x1b[1;m":                     {},
		"\x1b[22;39;7m":                {reverse: true},
		"\x1b[4:3;7m":                  {dim: true, reverse: true, colour: 31},
		"\x1b[38;5;240m":               {dim: true, grey: true, colour: 1<<16 | 5<<8 | 240},
		"\x1b[38;2;90;90;95;1m":        {dim: true, bold: true, grey: true, colour: 1<<32 | 2<<24 | 90<<16 | 90<<8 | 95},
		"\x1b[48;5;7;90m":              {dim: true, ground: true, grey: true, colour: 90},
		"\x1b[38;5m":                   {dim: true, colour: 1<<8 | 5},
		"\x1b[99999999999999999999;7m": {dim: true, reverse: true, colour: 31},
		"\x1b[?7m":                     was,
		"\x1b[0 m":                     was,
		"\x1b[7":                       was,
		"\x1b[0K":                      was,
	} {
		now := was
		now.take(seq)
		assert.Equal(t, want, now, "%q", seq)
	}
}

// A sequence with more parameters than anybody sends is still read.
func TestPen_takesManyParameters(t *testing.T) {
	seq := "\x1b["
	for range 100 {
		seq += "1;"
	}
	var now pen
	now.take(seq + "0;7m")
	assert.Equal(t, pen{reverse: true}, now)
}
