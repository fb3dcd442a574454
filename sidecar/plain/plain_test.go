package plain

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestBeginning(t *testing.T) {
	for most, want := range []string{"", "a", "a", "a", "a€", "a€b"} {
		assert.Equal(t, want, Beginning("a€b", most), most)
	}
	assert.Equal(t, "a€b", Beginning("a€b", 99))
	assert.Empty(t, Beginning("€", 2))
}
