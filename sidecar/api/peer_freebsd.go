package api

// peerPID returns 0: the field came late to this system's struct xucred.
func peerPID(int) int { return 0 }
