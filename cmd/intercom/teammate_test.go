package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"time"
)

// teammate is a line program that appends what it is told to NAME.heard, and runs what follows "do: " in a shell.
func teammate() {
	name := os.Args[1]
	write := func(file, text string, flags int) {
		f, err := os.OpenFile(file, os.O_WRONLY|os.O_CREATE|flags, 0o600)
		if err == nil {
			_, err = f.WriteString(text)
			_ = f.Close()
		}
		if err != nil {
			fmt.Println(err)
		}
	}
	write(name+".pid", fmt.Sprintln(os.Getpid()), os.O_TRUNC)
	in := bufio.NewScanner(os.Stdin)
	in.Buffer(nil, 1<<20)
	for fmt.Printf("%s> ", name); in.Scan(); fmt.Printf("done\n%s> ", name) {
		write(name+".heard", in.Text()+"\n", os.O_APPEND)
		if _, todo, ok := strings.Cut(in.Text(), "do: "); ok {
			_ = exec.Command("sh", "-c", todo).Run()
		}
	}
}

// watchStatus prints each status of a member in a file as it changes, until it is shutdown or the parent is gone: watchstatus
// FILE NAME. It reads the file as any program may.
func watchStatus() {
	last, parent := "", os.Getppid()
	for ; last != "shutdown" && os.Getppid() == parent; time.Sleep(time.Millisecond) {
		var all struct {
			Members []struct{ Name, Status string }
		}
		text, err := os.ReadFile(os.Args[1])
		if err != nil || json.Unmarshal(text, &all) != nil {
			continue
		}
		for _, m := range all.Members {
			if m.Name == os.Args[2] && m.Status != last {
				last = m.Status
				fmt.Println(last)
			}
		}
	}
}
