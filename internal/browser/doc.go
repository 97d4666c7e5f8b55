// Package browser drives a real Chromium, headless, for tests of what pages show and for pictures of them. Whatever the browser
// complains about, a violation of the content security policy included, is kept: see Page.Faults.
package browser
