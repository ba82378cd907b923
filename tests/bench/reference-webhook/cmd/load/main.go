// Command load drives any HTTPS admission webhook with ready-made AdmissionReview bodies, in a closed loop, and reports
// what was answered, how long it took and what it cost the server.
//
// HTTP/1.1 over TLS on raw crypto/tls connections (as kube-apiserver talks to a Service), so that the client stays cheap.
package main

import (
	"bufio"
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// request is one ready-made request.
type request struct {
	file string
	uid  []byte
	wire []byte
}

// outcome is what came of the requests of one run, or of one of its connections.
type outcome struct {
	allowed, denied, patched, errors int64
	latencies                        []time.Duration
}

// cpuOf gives the user and system time of a process; the kernel counts in hundredths of a second.
func cpuOf(pid int) time.Duration {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		log.Fatalf("the server is gone: %v", err)
	}
	fields := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+2:]))
	user, _ := strconv.ParseInt(fields[11], 10, 64)
	system, _ := strconv.ParseInt(fields[12], 10, 64)
	return time.Duration(user+system) * 10 * time.Millisecond
}

func read(folder string, target *url.URL, closeEach bool) []request {
	files, err := filepath.Glob(filepath.Join(folder, "*.json"))
	if err != nil || len(files) == 0 {
		log.Fatalf("no bodies in %s", folder)
	}
	var requests []request
	for _, file := range files {
		body, err := os.ReadFile(file)
		if err != nil {
			log.Fatal(err)
		}
		var review struct {
			Request struct {
				UID string `json:"uid"`
			} `json:"request"`
		}
		if err := json.Unmarshal(body, &review); err != nil {
			log.Fatalf("%s: %v", file, err)
		}
		var wire bytes.Buffer
		fmt.Fprintf(&wire, "POST %s HTTP/1.1\r\nHost: %s\r\nUser-Agent: kube-apiserver-admission\r\nContent-Length: %d\r\n"+
			"Accept: application/json, */*\r\nContent-Type: application/json\r\nAccept-Encoding: gzip\r\n",
			target.RequestURI(), target.Host, len(body))
		if closeEach {
			wire.WriteString("Connection: close\r\n")
		}
		wire.WriteString("\r\n")
		wire.Write(body)
		requests = append(requests, request{filepath.Base(file), []byte(review.Request.UID), wire.Bytes()})
	}
	return requests
}

var shown atomic.Int64

func (o *outcome) fault(format string, a ...any) {
	o.errors++
	if shown.Add(1) <= 5 {
		log.Printf(format, a...)
	}
}

// judge counts an answer by its verdict; one without the request's uid or without a verdict is an error.
func (o *outcome) judge(r *request, status int, answer []byte) {
	switch {
	case status != 200:
		o.fault("%s: status %d: %.200s", r.file, status, answer)
	case !bytes.Contains(answer, r.uid):
		o.fault("%s: the answer lacks the uid: %.200s", r.file, answer)
	case bytes.Contains(answer, []byte(`"allowed":true`)):
		o.allowed++
		if bytes.Contains(answer, []byte(`"patch":"`)) {
			o.patched++
		}
	case bytes.Contains(answer, []byte(`"allowed":false`)):
		o.denied++
	default:
		o.fault("%s: no verdict: %.200s", r.file, answer)
	}
}

// client is one connection, made again when it was closed.
type client struct {
	address string
	config  *tls.Config
	conn    *tls.Conn
	reader  *bufio.Reader
	answer  bytes.Buffer
}

func (c *client) send(r *request, closeEach bool) (int, error) {
	if c.conn == nil {
		conn, err := tls.DialWithDialer(&net.Dialer{Timeout: 10 * time.Second}, "tcp", c.address, c.config)
		if err != nil {
			return 0, err
		}
		c.conn, c.reader = conn, bufio.NewReaderSize(conn, 16<<10)
	}
	if _, err := c.conn.Write(r.wire); err != nil {
		return 0, err
	}
	response, err := http.ReadResponse(c.reader, nil)
	if err != nil {
		return 0, err
	}
	c.answer.Reset()
	_, err = io.Copy(&c.answer, response.Body)
	response.Body.Close()
	if err == nil && (closeEach || response.Close) {
		c.close()
	}
	return response.StatusCode, err
}

func (c *client) close() {
	if c.conn != nil {
		c.conn.Close()
		c.conn = nil
	}
}

// run sends requests over so many connections until total have been sent.
func run(requests []request, total, connections int, closeEach bool, address string, config *tls.Config) outcome {
	var next atomic.Int64
	parts := make([]outcome, connections)
	var group sync.WaitGroup
	for n := range connections {
		group.Go(func() {
			part, c := &parts[n], client{address: address, config: config}
			defer c.close()
			for {
				i := next.Add(1) - 1
				if i >= int64(total) {
					return
				}
				r := &requests[i%int64(len(requests))]
				start := time.Now()
				status, err := c.send(r, closeEach)
				if err != nil {
					part.fault("%s: %v", r.file, err)
					c.close()
					continue
				}
				part.latencies = append(part.latencies, time.Since(start))
				part.judge(r, status, c.answer.Bytes())
			}
		})
	}
	group.Wait()
	var all outcome
	for _, part := range parts {
		all.allowed += part.allowed
		all.denied += part.denied
		all.patched += part.patched
		all.errors += part.errors
		all.latencies = append(all.latencies, part.latencies...)
	}
	slices.Sort(all.latencies)
	return all
}

func tlsConfig(caFile, serverName string, x25519 bool) *tls.Config {
	pem, err := os.ReadFile(caFile)
	if err != nil {
		log.Fatal(err)
	}
	config := &tls.Config{ServerName: serverName, NextProtos: []string{"http/1.1"}, RootCAs: x509.NewCertPool()}
	config.RootCAs.AppendCertsFromPEM(pem)
	if x25519 {
		config.CurvePreferences = []tls.CurveID{tls.X25519}
	}
	return config
}

func main() {
	target := flag.String("url", "", "https URL of the webhook")
	ca := flag.String("ca", "", "file of the authority that is trusted")
	pid := flag.Int("pid", 0, "process of the server, whose CPU is read from /proc")
	total := flag.Int("n", 0, "measured requests, all connections together")
	warmup := flag.Int("warmup", 0, "requests before the measurement")
	connections := flag.Int("c", 1, "connections")
	closeEach := flag.Bool("new-conn", false, "a new connection, with a full handshake, for each request")
	x25519 := flag.Bool("x25519", false, "offer no other key exchange")
	folder := flag.String("bodies", "", "folder of the bodies, one *.json each")
	flag.Parse()

	parsed, err := url.Parse(*target)
	if err != nil || parsed.Scheme != "https" {
		log.Fatal("-url must be https")
	}
	requests := read(*folder, parsed, *closeEach)
	config := tlsConfig(*ca, parsed.Hostname(), *x25519)
	run(requests, *warmup, *connections, *closeEach, parsed.Host, config)
	before, start := cpuOf(*pid), time.Now()
	o := run(requests, *total, *connections, *closeEach, parsed.Host, config)
	elapsed, cpu := time.Since(start), cpuOf(*pid)-before

	percentile := func(p float64) float64 {
		if len(o.latencies) == 0 {
			return 0
		}
		at := min(len(o.latencies)-1, int(p*float64(len(o.latencies))))
		return float64(o.latencies[at].Microseconds()) / 1000
	}
	json.NewEncoder(os.Stdout).Encode(map[string]any{
		"answered": len(o.latencies), "errors": o.errors, "allowed": o.allowed, "denied": o.denied, "patched": o.patched,
		"seconds": elapsed.Seconds(), "cpu_seconds": cpu.Seconds(), "p50_ms": percentile(.5), "p99_ms": percentile(.99),
	})
}
