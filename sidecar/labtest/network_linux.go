package labtest

import (
	"bytes"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"strconv"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// The agents' network is a namespace of its own with only a loopback interface. The models listen inside and run
// outside, in the test. A socket belongs to the namespace in which it was made, so a child of the test makes it there
// and passes it to the test. That child is the test program itself, which init turns into the keeper of the namespace.
// It ends when the test does, however that ends.

const (
	keeperVariable = "INTERCOM_LABTEST_KEEPER"
	keeperFD       = 3 // one end of a socket pair
)

func init() {
	if os.Getenv(keeperVariable) == "" {
		return
	}
	if err := keep(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

// keep runs the keeper: it makes the socket, passes it on, and waits for the end of the test.
func keep() error {
	ifreq, err := unix.NewIfreq("lo")
	if err != nil {
		return fmt.Errorf("loopback: %w", err)
	}
	control, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM, 0)
	if err != nil {
		return fmt.Errorf("loopback: %w", err)
	}
	ifreq.SetUint16(unix.IFF_UP)
	if err := unix.IoctlIfreq(control, unix.SIOCSIFFLAGS, ifreq); err != nil {
		return fmt.Errorf("loopback up: %w", err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	file, err := l.(*net.TCPListener).File()
	if err != nil {
		return err
	}
	if err := unix.Sendmsg(keeperFD, []byte{1}, unix.UnixRights(int(file.Fd())), nil, 0); err != nil {
		return fmt.Errorf("hand over: %w", err)
	}
	_, _ = file.Close(), l.Close()
	for {
		n, err := unix.Read(keeperFD, make([]byte, 1))
		if !errors.Is(err, unix.EINTR) && n <= 0 {
			return nil
		}
	}
}

// newNetwork makes a namespace, or says in network.open why that is impossible.
func newNetwork() (network, error) {
	enter, err := exec.LookPath("nsenter")
	if err != nil {
		return openNetwork("there is no nsenter here (package util-linux)")
	}
	n, err := closedNetwork(enter)
	if err != nil {
		return openNetwork(fmt.Sprintf("no namespace can be made: %v", err))
	}
	return n, nil
}

func closedNetwork(enter string) (network, error) {
	self, err := os.Executable()
	if err != nil {
		return network{}, err
	}
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return network{}, fmt.Errorf("socket pair: %w", err)
	}
	ours, theirs := os.NewFile(uintptr(pair[0]), "keeper"), os.NewFile(uintptr(pair[1]), "lab")
	keeper := exec.Command(self)
	keeper.Env = append(os.Environ(), keeperVariable+"=1")
	keeper.ExtraFiles = []*os.File{theirs}
	var words bytes.Buffer
	keeper.Stderr = &words
	keeper.SysProcAttr = &syscall.SysProcAttr{
		// The user is the same inside as outside, but has root's rights over this network.
		Cloneflags:  syscall.CLONE_NEWUSER | syscall.CLONE_NEWNET,
		UidMappings: []syscall.SysProcIDMap{{ContainerID: os.Getuid(), HostID: os.Getuid(), Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{ContainerID: os.Getgid(), HostID: os.Getgid(), Size: 1}},
		AmbientCaps: []uintptr{unix.CAP_NET_ADMIN},
		Setpgid:     true, // a key in the terminal of the test must not reach the keeper
	}
	err = keeper.Start()
	_ = theirs.Close()
	if err != nil {
		_ = ours.Close()
		return network{}, err
	}
	end := func() {
		_ = ours.Close() // the keeper sees the end of its input
		_ = keeper.Wait()
	}
	l, err := receive(ours)
	if err != nil {
		end()
		return network{}, fmt.Errorf("%w: %s", err, bytes.TrimSpace(words.Bytes()))
	}
	return network{
		listener: l,
		enter:    []string{enter, "--preserve-credentials", "--user", "--net", "--target", strconv.Itoa(keeper.Process.Pid), "--"},
		close:    end,
	}, nil
}

// receive receives the listener from the keeper.
func receive(from *os.File) (net.Listener, error) {
	// A keeper that ends early closes its end, so this does not wait for ever; the timeout is for a keeper that hangs.
	if err := unix.SetsockoptTimeval(int(from.Fd()), unix.SOL_SOCKET, unix.SO_RCVTIMEO, &unix.Timeval{Sec: int64(10 * time.Second / time.Second)}); err != nil {
		return nil, fmt.Errorf("keeper: %w", err)
	}
	rights := make([]byte, unix.CmsgSpace(4))
	n, size, err := 0, 0, error(unix.EINTR)
	for errors.Is(err, unix.EINTR) { // with a timeout set, the kernel does not restart the call after a signal
		n, size, _, _, err = unix.Recvmsg(int(from.Fd()), make([]byte, 1), rights, unix.MSG_CMSG_CLOEXEC)
	}
	if err != nil {
		return nil, fmt.Errorf("keeper: %w", err)
	}
	if n == 0 {
		return nil, errors.New("keeper: ended at once")
	}
	messages, err := unix.ParseSocketControlMessage(rights[:size])
	if err != nil || len(messages) != 1 {
		return nil, fmt.Errorf("keeper: %d messages: %w", len(messages), err)
	}
	fds, err := unix.ParseUnixRights(&messages[0])
	if err != nil || len(fds) != 1 {
		return nil, fmt.Errorf("keeper: %d descriptors: %w", len(fds), err)
	}
	file := os.NewFile(uintptr(fds[0]), "listener")
	defer func() { _ = file.Close() }()
	return net.FileListener(file)
}
