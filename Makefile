# `make` lists the targets. `make test` is all that continuous integration runs.

SHELL := bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
MAKEFLAGS += --no-print-directory

CACHE := $(or $(XDG_CACHE_HOME),$(HOME)/.cache)/lake
# Set on a tagged commit only.
RELEASE := $(patsubst v%,%,$(shell git describe --tags --exact-match --match 'v*' 2>/dev/null))
BIN := bin/lake

# Everything is built without the paths of this machine, so that all targets,
# and the copies that mutants run in, share what is built.
export GOFLAGS := $(strip $(shell go env GOFLAGS) -trimpath)

# A run of tests that takes longer than its budget fails; what is built for it counts.
UNIT_BUDGET ?= 6m
RACE_BUDGET ?= 6m
E2E_BUDGET ?= 10m

# How long each fuzz target runs.
FUZZTIME ?= 30s

GO_TEST := go run .ci/slowest.go
# Tests find the clients that others wrote by these variables.
WITH_CLIENTS = LAKE_PYTHON=$$(.ci/venv); export LAKE_PYTHON;
WITH_DRIVERS = $(WITH_CLIENTS) LAKE_JDBC=$$(.ci/jdbc); export LAKE_JDBC;
# Packages that link no C: the race detector sees all of them, but for tests of
# one goroutine that it takes long for.
RACE_SKIP := ^Test(AppendSurvivesEveryCrash|ForeignTablesAreReadRightOrRefused|WhatIsNotParquetIsRefused|LongDictionaryValues|EngineInMemory)$$
PURE = go list -f '{{.ImportPath}} {{join .Deps " "}}' ./... | grep -v github.com/duckdb | cut -d ' ' -f 1

.PHONY: help
help: ## list the targets
	@awk -F ':.*## ' '/^[a-z0-9]+:.*## / { printf "  %-16s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

.PHONY: demo
demo: build ## load three million real flights and ask about them
	@testdata/demo/run

.PHONY: build
build: ## build bin/lake
	@CGO_ENABLED=1 go build -ldflags '-X main.release=$(RELEASE)' -o $(BIN) .

.PHONY: test
test: check e2e ## everything that must hold: check and e2e

.PHONY: check
check: lint generated licences unit race mutants vulnerabilities ## all but the end-to-end tests

.PHONY: e2e
e2e: build ## the binary, as processes, with clients that others wrote
	@$(WITH_DRIVERS) .ci/timed e2e $(GO_TEST) -budget $(E2E_BUDGET) -- -run '^TestE2E' -count=1 -timeout $(E2E_BUDGET) .

.PHONY: unit
unit: ## the tests of every package, end to end ones excepted
	@$(WITH_CLIENTS) .ci/timed unit $(GO_TEST) -budget $(UNIT_BUDGET) -- -skip '^TestE2E' ./...

.PHONY: race
race: ## the tests of every package without C, under the race detector
	@$(WITH_CLIENTS) .ci/timed race $(GO_TEST) -budget $(RACE_BUDGET) -- -race -skip '$(RACE_SKIP)' $$($(PURE))

.PHONY: fuzz
fuzz: ## run every fuzz target for FUZZTIME
	@for file in $$(git grep -l --untracked '^func Fuzz' -- '*_test.go'); do \
		for target in $$(sed -n 's/^func \(Fuzz[A-Za-z0-9]*\).*/\1/p' "$$file"); do \
			go test -run '^$$' -fuzz "^$$target\$$" -fuzztime $(FUZZTIME) "./$$(dirname "$$file")"; \
		done; \
	done

.PHONY: bench
bench: build ## compare with DuckDB in one run; docs/benchmarks.md has the figures
	@$$(.ci/venv) testdata/bench/bench.py

.PHONY: lint
lint: ## gofumpt, go vet, staticcheck
	@.ci/timed lint .ci/lint

.PHONY: generate
generate: ## generate Go code from .proto files
	@.ci/generate

.PHONY: generated
generated: ## refuse generated code that is not up to date
	@.ci/timed generated .ci/generate --check

.PHONY: mutants
mutants: ## break the code on purpose: the tests must notice
	@$(WITH_CLIENTS) .ci/timed mutants go run testdata/mutants/run.go

.PHONY: licences
licences: ## refuse dependencies that are not permissive
	@.ci/timed licences .ci/licences

.PHONY: vulnerabilities
vulnerabilities: ## refuse known vulnerabilities that the code reaches
	@.ci/timed vulnerabilities .ci/govulncheck

.PHONY: cover
cover: ## statement coverage of the fast tests, by package
	@mkdir -p bin
	@$(WITH_CLIENTS) go test -skip '^TestE2E' -coverpkg ./... -coverprofile bin/cover.out ./... >/dev/null
	@go tool cover -func bin/cover.out | tail -n 1
	@echo 'details: go tool cover -html bin/cover.out'
