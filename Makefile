# Everything there is to run here. A target installs what it lacks (scripts/install.sh) and needs nothing running.
SHELL := bash
.DEFAULT_GOAL := help
.PHONY: help demo test check bench fuzz gen install

help: ## Show this list
	@sed -nE 's/^([a-z]+):.*## (.*)/  make \1|\2/p' Makefile | column -t -s '|'

demo: install ## Run the notebook example on a private database (ARGS='...' goes to it)
	@go build -C examples/notebook -o ../../bin/notebook . && bin/notebook demo $(ARGS)

test: install ## Run every test of every module with the race detector (TESTFLAGS='-run ...')
	@scripts/test.sh

check: install ## Run every gate: format, vet, staticcheck, arrows, docs, generated code, ...
	@scripts/check.sh

bench: install ## Measure, side by side with peers (QUICK=1 for a short run, ARGS='...' goes to it)
	@cd bench && QUICK=$(QUICK) go run . $(ARGS)

fuzz: install ## Fuzz every parser for FUZZTIME each (default 30s)
	@FUZZTIME=$(or $(FUZZTIME),30s) scripts/fuzz.sh

gen: ## Generate the code of the SQL queries
	@scripts/gen.sh

install: ## Install what is missing: Postgres binaries, a C compiler
	@scripts/install.sh
