package journal

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"

	"github.com/tmux-intercom/tmux-intercom/sidecar/own"
)

// Sizes in the write-ahead log, from https://sqlite.org/fileformat2.html#walformat.
const (
	logHeader   = 32
	frameHeader = 24
)

// checkHeader checks two numbers at the beginning of the database. The first is the format of the
// schema, of which SQLite does not report a wrong value as damage. The second is our schema's
// version, because SQLite's own first look writes into the index of the log, and we must not write
// into files of a newer version. A version that is still in the log is found later.
func checkHeader(path string, known int) error {
	file, err := own.Open(path)
	if err != nil {
		return err
	}
	defer file.Close() // it was only read
	header := make([]byte, 64)
	if _, err := file.ReadAt(header, 0); err != nil {
		return shorter(err)
	}
	if n := binary.BigEndian.Uint32(header[44:]); n > 4 {
		return fmt.Errorf("%w: format %d of its schema", errDamaged, n)
	}
	if n := binary.BigEndian.Uint32(header[60:]); string(header[:16]) == "SQLite format 3\x00" && n > uint32(known) {
		return newer(int(n), known)
	}
	return nil
}

// checkLog checks a write-ahead log that an earlier run left. SQLite takes the first frame whose
// checksum is wrong for the end of the log, as it is after a power cut in the midst of a
// transaction, and ignores what follows. But SQLite begins no transaction before the previous one
// is on disk. So if two consecutive transactions were committed behind the wrong frame, that frame
// was right once, and the log is damaged. Without this check, confirmed messages would be lost
// silently, and typed text would look as if it had never been typed. In the last two transactions
// of a log, damage cannot be told from a power cut.
func checkLog(path string) error {
	file, err := own.Open(path + "-wal")
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	} else if err != nil {
		return err
	}
	defer file.Close() // it was only read
	r := bufio.NewReaderSize(file, 1<<20)
	header := make([]byte, logHeader)
	if _, err := io.ReadFull(r, header); err != nil {
		return shorter(err)
	}
	sum := logSum{order: binary.BigEndian}
	if binary.BigEndian.Uint32(header)&1 == 0 {
		sum.order = binary.LittleEndian
	}
	sum.add(header[:24])
	size := int(binary.BigEndian.Uint32(header[8:]))
	right := sum.is(header[24:])
	sum.set(header[24:])
	switch {
	case right:
	case string(header) == string(make([]byte, logHeader)):
		return nil // it was never written
	default:
		size = 4096 // our page size
	}
	var (
		frame  = make([]byte, frameHeader+size)
		salts  string
		behind int // consecutive commits, in frames that fit together, behind the first wrong one
	)
	for n := 1; ; n++ {
		if _, err := io.ReadFull(r, frame); err != nil {
			return shorter(err)
		}
		switch {
		case n > 1:
		case right:
			salts = string(header[16:24])
		default:
			salts = string(frame[8:16]) // the salts of the header may be what is wrong
		}
		sum.add(frame[:8])
		sum.add(frame[frameHeader:])
		fits := string(frame[8:16]) == salts && sum.is(frame[16:24])
		// The checksum of each frame continues that of the previous one. So the frames behind a
		// wrong one can be checked from the checksum that it states.
		sum.set(frame[16:24])
		switch right = right && fits; {
		case right:
		case !fits:
			behind = 0
		case binary.BigEndian.Uint32(frame[4:]) != 0:
			behind++
		}
		if behind >= 2 {
			return fmt.Errorf("%w: its log is, before frame %d", errDamaged, n)
		}
	}
}

// shorter returns nil if err says that a file has ended, and otherwise err.
func shorter(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return nil
	}
	return err
}

// logSum is the running checksum of a log.
type logSum struct {
	order binary.ByteOrder
	a, b  uint32
}

func (s *logSum) add(data []byte) {
	for ; len(data) >= 8; data = data[8:] {
		s.a += s.order.Uint32(data) + s.b
		s.b += s.order.Uint32(data[4:]) + s.a
	}
}

func (s *logSum) is(stored []byte) bool {
	return s.a == binary.BigEndian.Uint32(stored) && s.b == binary.BigEndian.Uint32(stored[4:])
}

func (s *logSum) set(stored []byte) {
	s.a, s.b = binary.BigEndian.Uint32(stored), binary.BigEndian.Uint32(stored[4:])
}
