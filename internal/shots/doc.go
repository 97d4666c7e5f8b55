// Command shots photographs the Tasks panel in a headless Chromium, every view in both themes, wide and as on a phone:
//
//	go run ./internal/shots -panel http://127.0.0.1:8899/panel/ -token pb_… -out pictures
//
// Whatever the browser complains about fails it.
package main
