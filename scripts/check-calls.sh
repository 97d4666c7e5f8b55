#!/usr/bin/env bash
# Transactions, goroutines, clocks and SQL stay in the rooms that own them.
. "$(dirname "$0")/lib.sh"
go run ./internal/gates/gate begin goroutine clock sql
