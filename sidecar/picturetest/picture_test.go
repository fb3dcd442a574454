package picturetest

import (
	"bytes"
	"encoding/xml"
	"errors"
	"io"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestSVG(t *testing.T) {
	frame := Frame{Screen: "\x1b[1;31mred\x1b[0m & <plain>\n日本 \x1b[7m x \x1b[0m", Columns: 20, Rows: 3, For: time.Second}
	for _, frames := range [][]Frame{{frame}, {frame, {Screen: "two", Columns: 20, Rows: 3, For: 3 * time.Second}}} {
		picture := SVG(frames...)
		d := xml.NewDecoder(bytes.NewReader(picture))
		for {
			_, err := d.Token()
			if errors.Is(err, io.EOF) {
				break
			}
			require.NoError(t, err, "%s", picture)
		}
		assert.Contains(t, string(picture), ">red</text>")
		assert.Contains(t, string(picture), "&amp; &lt;plain&gt;</text>")
		assert.Contains(t, string(picture), `textLength="16"`, "a wide character is two cells")
		assert.Equal(t, len(frames) > 1, bytes.Contains(picture, []byte("@keyframes k1{0%{visibility:hidden}25.00%{visibility:visible}}")))
	}
}
