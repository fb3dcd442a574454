//go:build !linux

package labtest

func newNetwork() (network, error) {
	return openNetwork("only Linux has network namespaces")
}
