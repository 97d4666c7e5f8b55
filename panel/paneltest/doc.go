// Package paneltest holds the tests of the Tasks panel in a real Chromium, on a whole bus: what they assert is what the page shows.
package paneltest
