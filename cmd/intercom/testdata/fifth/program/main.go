// The fifth agent: a composer, a transcript, and one answer to all.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

func main() {
	stty := exec.Command("stty", "raw", "-echo")
	stty.Stdin = os.Stdin
	if err := stty.Run(); err != nil {
		panic(err)
	}
	dir := filepath.Join(os.Getenv("HOME"), ".fifth", "talks")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		panic(err)
	}
	talk, err := os.Create(filepath.Join(dir, fmt.Sprint(os.Getpid(), ".jsonl")))
	if err != nil {
		panic(err)
	}
	record := func(who, says string) {
		_ = json.NewEncoder(talk).Encode(map[string]string{"at": time.Now().UTC().Format(time.RFC3339Nano), "who": who, "says": says})
	}
	var said []string
	text, asks := "", false
	draw := func(state string) {
		rows := strings.Split(text, "\n")
		fmt.Print("\x1b[H\x1b[2J")
		for _, line := range said {
			fmt.Print(line, "\r\n")
		}
		if asks {
			fmt.Print("shall it be?\r\nyes or no")
			return
		}
		fmt.Print(strings.Repeat("─", 80), "\r\n▷ ", strings.Join(rows, "\r\n  "), "\x1b7\r\n", state, "\x1b8")
	}
	fmt.Print("\x1b[?2004h")
	draw("the fifth waits")
	in := bufio.NewReader(os.Stdin)
	for pasted := ""; ; {
		b, err := in.ReadByte()
		if err != nil {
			return
		}
		switch {
		case b == 4: // it asks something
			asks = true
		case asks:
			asks = b != 'n'
		case b == '\r' && pasted == "":
			prompt := text
			record("person", prompt)
			text = ""
			draw("the fifth works")
			record("fifth", "heard: "+prompt)
			record("over", "")
			said = append(said, strings.ReplaceAll("heard: "+prompt, "\n", "\r\n"))
		case b == '\r':
			text += "\n"
		case b == 0x1b:
			sequence, _ := in.ReadString('~')
			pasted = ""
			if sequence == "[200~" {
				pasted = "yes"
			}
		default:
			text += string([]byte{b})
		}
		if in.Buffered() == 0 {
			draw("the fifth waits")
		}
	}
}
