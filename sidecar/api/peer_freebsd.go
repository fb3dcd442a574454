package api

// peerPID is not told here: the field came late to this system's struct xucred.
func peerPID(int) int { return 0 }
