# Everything there is to run here. A target installs what it lacks (scripts/install.sh) and needs nothing running.
SHELL := bash
.DEFAULT_GOAL := help
.PHONY: help build demo test check bench performance model chaos fuzz gen vulncheck install drivers

help: ## Show this list
	@sed -nE 's/^([a-z]+):.*## (.*)/  make \1|\2/p' Makefile | column -t -s '|'

build: ## Build the program as released, one static file, to bin/postbus (VERSION=... overrides git's)
	@VERSION='$(VERSION)' scripts/build.sh bin/postbus

demo: install ## Run the notebook example on a private database (ARGS='...' goes to it)
	@go build -C examples/notebook -o ../../bin/notebook . && bin/notebook demo $(ARGS)

test: drivers ## Run every test of every module with the race detector (TESTFLAGS='-run ...')
	@scripts/test.sh

check: install ## Run every gate: format, vet, staticcheck, arrows, docs, generated code, ...
	@scripts/check.sh

bench: install ## Measure, side by side with peers (QUICK=1 for a short run, FULL=1 for reads on 10 M rows, ARGS='...' goes to it)
	@cd bench && QUICK=$(QUICK) FULL=$(FULL) go run . $(ARGS)

chaos: install ## Break everything around the bus for MINUTES (default 1) by the plan of SEED (default 1); PLANT=cursor|mark|rescue|drop|unlock must be found
	@go run ./internal/chaos/cmd -minutes $(or $(MINUTES),1) -seed $(or $(SEED),1) -plant '$(PLANT)' $(ARGS)

performance: install ## Measure beside what others would pick, and write docs/performance.md anew (QUICK=1 to see it run)
	@cd bench && QUICK=$(QUICK) go run . -only '^(peers|growth|limit)_' -out ../docs/performance.json && go run . -out ../docs/performance.json -page ../docs/performance.md

model: ## Visit every state of wake-up, claim and mark, and print what came of it (docs/model)
	@go run ./docs/model

fuzz: install ## Fuzz every parser for FUZZTIME each (default 30s)
	@FUZZTIME=$(or $(FUZZTIME),30s) scripts/fuzz.sh

gen: ## Generate the code of the SQL queries
	@scripts/gen.sh

vulncheck: ## Look for known vulnerabilities in what is linked; needs vuln.go.dev
	@scripts/vulncheck.sh

install: ## Install what is missing: Postgres binaries, a C compiler
	@scripts/install.sh

drivers: ## Install what is missing, and drivers for the languages of the quick start that are on the machine
	@scripts/install.sh drivers
