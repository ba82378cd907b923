// The program in the containers of the tests: static, and each way to live and die is one word.
//
// Under the name `python` it plays a consumer: its arguments are a consumer's and say nothing to it; what it does is in the
// variable CONSUMER, `serve :8080` where that is empty. Under the name `rm` it removes a file, as a consumer's liveness
// probe does.
package main

import (
	"fmt"
	"log"
	"net/http"
	"os"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// What a consumer with `write_healthcheck` renews and its liveness probe removes.
const healthFile = "/tmp/health.txt"

func main() {
	args := os.Args[1:]
	switch filepath.Base(os.Args[0]) {
	case "python":
		args = strings.Fields(os.Getenv("CONSUMER"))
		if len(args) == 0 {
			args = []string{"serve", ":8080"}
		}
	case "rm":
		args = append([]string{"remove"}, args...)
	}
	if err := run(append(args, "", "", "")); err != nil {
		log.Fatal(err)
	}
}

func run(args []string) error {
	switch args[0] {
	case "pause": // until told to end
		wait(syscall.SIGINT, syscall.SIGTERM)
	case "stubborn": // until killed
		signal.Ignore(syscall.SIGTERM)
		wait(syscall.SIGUSR1)
	case "exit": // exit CODE [AFTER]
		code, err := strconv.Atoi(args[1])
		if err != nil {
			return err
		}
		time.Sleep(delay(args[2]))
		log.Println("exiting with", code)
		os.Exit(code)
	case "serve": // serve ADDRESS [READY_AFTER]
		return serve(args[1], delay(args[2]))
	case "memory": // takes memory until it is killed
		for taken := [][]byte{}; ; time.Sleep(10 * time.Millisecond) {
			block := make([]byte, 8<<20)
			for i := range block {
				block[i] = 1
			}
			taken = append(taken, block)
		}
	case "disk": // disk FILE BYTES [stubborn]: writes that much, then waits as `pause` or `stubborn` does
		size, err := strconv.Atoi(args[2])
		if err != nil {
			return err
		}
		if err := os.WriteFile(args[1], make([]byte, size), 0o600); err != nil {
			return err
		}
		if args[3] == "stubborn" {
			return run(append(args[3:], "", ""))
		}
		wait(syscall.SIGINT, syscall.SIGTERM)
	case "remove": // remove FILE
		return os.Remove(args[1])
	default:
		return fmt.Errorf("no mode %q", args[0])
	}
	return nil
}

func wait(signals ...os.Signal) {
	told := make(chan os.Signal, 1)
	signal.Notify(told, signals...)
	<-told
}

func delay(text string) time.Duration {
	parsed, _ := time.ParseDuration(text)
	return parsed
}

// serve answers at once on every path, but on /readyz only after a delay, and ends on SIGTERM as a consumer does.
func serve(address string, readyAfter time.Duration) error {
	start := time.Now()
	http.HandleFunc("/readyz", func(w http.ResponseWriter, _ *http.Request) {
		if time.Since(start) < readyAfter {
			http.Error(w, "not yet", http.StatusServiceUnavailable)
		}
	})
	http.HandleFunc("/never", func(w http.ResponseWriter, _ *http.Request) {
		http.Error(w, "never", http.StatusServiceUnavailable)
	})
	http.HandleFunc("/", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, "ok") })
	go func() {
		for {
			// Where there is no such folder nobody looks for the file.
			_ = os.WriteFile(healthFile, nil, 0o600)
			time.Sleep(time.Second)
		}
	}()
	go func() {
		wait(syscall.SIGINT, syscall.SIGTERM)
		os.Exit(0)
	}()
	return http.ListenAndServe(address, nil)
}
