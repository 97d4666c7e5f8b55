package devpg

import (
	"errors"
	"math/rand/v2"
	"net"
	"strconv"
)

// freePort returns a port of loopback that nobody listens on. It keeps below the range from which
// the system serves outgoing connections, so that none of those takes the port while the server
// is down for a restart.
func freePort() (int, error) {
	const lowest, beyond = 15000, 32000
	for range 100 {
		port := lowest + rand.IntN(beyond-lowest)
		listener, err := net.Listen("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
		if err != nil {
			continue
		}
		return port, listener.Close()
	}
	return 0, errors.New("devpg: found no free port on 127.0.0.1 in 100 tries")
}
