// Command disturb does to a webhook what it has to bear: it holds idle connections, or sends garbage instead of TLS
// handshakes. It prints "ready" once it is at it, goes on until its stdin is closed, and then prints as JSON what it did.
package main

import (
	"bytes"
	"crypto/rand"
	"crypto/tls"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"log"
	"net"
	"os"
	"sync"
	"sync/atomic"
	"time"
)

// How many connections are made at once: no more than the server's queue of connections that are not accepted yet.
const dialing = 32

// A request that is answered at once and says nothing: the connection has spoken, so it may be idle for long.
const request = "POST /validate HTTP/1.1\r\nHost: localhost\r\nContent-Length: 0\r\nContent-Type: application/json\r\n\r\n"

func dial(address string) (*tls.Conn, error) {
	// Who is trusted does not matter: nothing is sent.
	config := &tls.Config{InsecureSkipVerify: true, NextProtos: []string{"http/1.1"}}
	conn, err := tls.DialWithDialer(&net.Dialer{Timeout: 30 * time.Second}, "tcp", address, config)
	if err != nil {
		return nil, err
	}
	if _, err := conn.Write([]byte(request)); err != nil {
		return nil, err
	}
	_, err = conn.Read(make([]byte, 4096))
	return conn, err
}

// idle holds so many connections, and counts those that the server closes.
func idle(address string, number int, done <-chan struct{}) map[string]int64 {
	var group sync.WaitGroup
	var closed, ended atomic.Int64
	conns := make([]*tls.Conn, number)
	tickets := make(chan struct{}, dialing)
	for n := range conns {
		tickets <- struct{}{}
		group.Go(func() {
			defer func() { <-tickets }()
			conn, err := dial(address)
			if err != nil {
				log.Fatalf("connection %d: %v", n, err)
			}
			conns[n] = conn
		})
	}
	group.Wait()
	for _, conn := range conns {
		go func() {
			conn.Read(make([]byte, 1))
			if ended.Load() == 0 {
				closed.Add(1)
			}
		}()
	}
	fmt.Println("ready")
	<-done
	ended.Store(1)
	return map[string]int64{"held": int64(number), "closed_by_the_server": closed.Load()}
}

// hello gives the first bytes that a TLS client sends.
func hello() []byte {
	ours, theirs := net.Pipe()
	go tls.Client(ours, &tls.Config{InsecureSkipVerify: true}).Handshake()
	buffer := make([]byte, 4096)
	n, err := theirs.Read(buffer)
	if err != nil {
		log.Fatal(err)
	}
	theirs.Close()
	return buffer[:n]
}

// garbage begins so many connections a second: half of them with random bytes, half with a true greeting that makes the
// server sign, and random bytes after it.
func garbage(address string, rate int, done <-chan struct{}) map[string]int64 {
	greeting := hello()
	var sent atomic.Int64
	tick := time.NewTicker(time.Second / time.Duration(rate))
	defer tick.Stop()
	fmt.Println("ready")
	for n := 0; ; n++ {
		select {
		case <-done:
			return map[string]int64{"sent": sent.Load()}
		case <-tick.C:
		}
		go func() {
			conn, err := net.DialTimeout("tcp", address, 10*time.Second)
			if err != nil {
				return
			}
			defer conn.Close()
			noise := make([]byte, 300)
			rand.Read(noise)
			if n%2 == 0 {
				conn.Write(greeting)
			}
			conn.Write(noise)
			// Until the server hangs up.
			conn.SetReadDeadline(time.Now().Add(10 * time.Second))
			io.Copy(io.Discard, conn)
			sent.Add(1)
		}()
	}
}

func main() {
	address := flag.String("address", "", "host:port of the webhook")
	connections := flag.Int("idle", 0, "idle connections to hold")
	rate := flag.Int("garbage", 0, "garbage handshakes a second")
	flag.Parse()

	done := make(chan struct{})
	go func() {
		io.Copy(&bytes.Buffer{}, os.Stdin)
		close(done)
	}()
	var did map[string]int64
	if *rate > 0 {
		did = garbage(*address, *rate, done)
	} else {
		did = idle(*address, *connections, done)
	}
	json.NewEncoder(os.Stdout).Encode(did)
}
