# Go, git, make and a C compiler (for the race detector, and for the SQLite that
# make bench compares with) are all that is needed. `make` without a word builds.

GO          ?= go
GOTESTSUM   ?= gotest.tools/gotestsum@v1.13.0
STATICCHECK ?= honnef.co/go/tools/cmd/staticcheck@v0.8.2
FUZZTIME    ?= 30s
EVAL        ?=

EXAMPLE = example/config.yaml

# What make bench measures: generated trees of so many files, and other flags of
# bench/. All of it, in half an hour or more:
# make bench BENCHFILES=1000,10000,100000 BENCHFLAGS='-out ../docs/performance.md'
BENCHFILES ?= 1000,10000
BENCHFLAGS ?=

.PHONY: build install uninstall run test faults soak stress lint bench fuzz eval demo dist dist-check clean

build:
	$(GO) build -o memwatchd ./cmd/memwatchd

# make, and then make install: with sudo, if it is not for yourself alone, as in
# make install PREFIX=~/.local. DESTDIR is for those who make packages.
PREFIX  ?= /usr/local
BINARY  ?= memwatchd
INSTALL  = $(DESTDIR)$(PREFIX)
BASH     = $(INSTALL)/share/bash-completion/completions
ZSH      = $(INSTALL)/share/zsh/site-functions
FISH     = $(INSTALL)/share/fish/vendor_completions.d

install:
	@test -x $(BINARY) || { echo 'there is nothing to install yet: make builds it'; exit 1; }
	umask 022; mkdir -p $(INSTALL)/bin $(INSTALL)/share/man $(BASH) $(ZSH) $(FISH)
	install -m 755 $(BINARY) $(INSTALL)/bin/memwatchd
	umask 022; $(INSTALL)/bin/memwatchd man $(INSTALL)/share/man
	umask 022; $(INSTALL)/bin/memwatchd completion bash >$(BASH)/memwatchd
	umask 022; $(INSTALL)/bin/memwatchd completion zsh >$(ZSH)/_memwatchd
	umask 022; $(INSTALL)/bin/memwatchd completion fish >$(FISH)/memwatchd.fish

uninstall:
	rm -f $(INSTALL)/bin/memwatchd $(BASH)/memwatchd $(ZSH)/_memwatchd $(FISH)/memwatchd.fish
	rm -f $(INSTALL)/share/man/man1/memwatchd.1 $(INSTALL)/share/man/man1/memwatchd-*.1 $(INSTALL)/share/man/man5/memwatchd.yaml.5

# The daemon on a small memory, which is made in example/ if there is none.
run: build
	@test -e $(EXAMPLE) || ./memwatchd init --example --name example --dir example/files --config $(EXAMPLE) >/dev/null
	@printf '%s\n' '' \
	  'A daemon watches example/files. Ask it from another terminal, in this directory:' '' \
	  "  alias memwatchd='./memwatchd --config $(EXAMPLE)'" \
	  '  memwatchd search certificate' \
	  '  memwatchd todo list' \
	  '  memwatchd context' \
	  '  memwatchd help' '' \
	  'Change a file below example/files, and ask again. Ctrl-C ends the daemon.' ''
	@exec ./memwatchd serve --config $(EXAMPLE) --dir example/files

# What is skipped is listed at the end, with what this machine lacks for it.
TEST = $(GO) run $(GOTESTSUM) --format pkgname --

# Packages without goroutines: the race detector would only slow their tests down.
PURE = agents|brief|memory|service|transcript

# Tests that do less with -short: they measure time or memory, or compute for
# long in one goroutine. TestMakefileListsShortTests compares the list.
FULL = TestCoverageModel|TestExcerpts|TestFixedScopesAllowNoMore|TestForgetInTheirFiles|TestInterference|TestLargeFilesComeWithinTheirLimits|TestMCPMatrix|TestManyBrokenFiles|TestNonInterference|TestNonInterferenceOfWrites|TestPrivacyMatrix|TestQueriesOfDeath|TestSoak|TestTheirFiles

# Each test runs once: with the race detector, which -short leaves time for, or
# without it where it finds nothing or changes the result. Most tests wait for
# daemons: more run at a time than there may be processors.
test:
	$(TEST) -parallel 8 -timeout 40m -race -short $$($(GO) list ./... | grep -vE '/($(PURE))$$')
	$(TEST) -timeout 40m $$($(GO) list ./... | grep -E '/($(PURE))$$')
	$(TEST) -parallel 8 -timeout 40m -run '^($(FULL))$$' ./cmd/memwatchd/... ./compactor ./index ./ops
	cd bench && CGO_ENABLED=0 $(TEST) ./...
	cd release && $(TEST) ./...

# Beside all others, the tests that take long or change limits of the machine
# for a while: as root, and with nothing else at work.
faults:
	FAULTS=1 $(TEST) -p 1 -parallel 8 -count=1 -timeout 2h ./...

# One daemon and everything that may happen to it at once, for SOAK; make test
# has it for half a minute.
SOAK ?= 1h

soak:
	SOAK=$(SOAK) $(GO) test ./cmd/memwatchd/internal/e2e -count=1 -v -run '^TestSoak$$' -timeout 0

# Many saves, each with a question or a tick that depends on it, while the daemon
# is reloaded, stopped for moments and short of processors: an hour or more.
stress:
	STRESS=1 $(GO) test ./cmd/memwatchd/internal/e2e -count=1 -v -run '^(TestStressSync|TestTickRaces)$$' -timeout 0

lint:
	@echo 'gofmt'; test -z "$$(gofmt -l $$(git ls-files '*.go') | tee /dev/stderr)"
	$(GO) vet ./...
	GOOS=darwin $(GO) vet ./...
	$(GO) run $(STATICCHECK) ./...
	$(GO) mod tidy -diff
	cd bench && CGO_ENABLED=0 $(GO) vet ./... && CGO_ENABLED=0 $(GO) run $(STATICCHECK) ./... && $(GO) mod tidy -diff
	cd release && $(GO) vet ./... && $(GO) run $(STATICCHECK) ./... && $(GO) mod tidy -diff
	cd secrets/rules && $(GO) vet ./... && $(GO) run $(STATICCHECK) ./... && $(GO) mod tidy -diff && $(GO) run . -check

# The program as its users meet it, beside SQLite's FTS5 and rg; then its parts
# by themselves.
bench:
	cd bench && $(GO) run -tags sqlite_fts5 . -files $(BENCHFILES) $(BENCHFLAGS)
	$(GO) test -run '^$$' -bench . -benchmem ./...

# Every fuzz target for FUZZTIME.
fuzz:
	@for pkg in $$($(GO) list ./...); do \
	  for target in $$($(GO) test -list '^Fuzz' $$pkg | grep '^Fuzz'); do \
	    echo "$$pkg $$target"; \
	    $(GO) test -run '^$$' -fuzz "^$$target$$" -fuzztime $(FUZZTIME) $$pkg || exit 1; \
	  done; \
	done

# How well is found what should be, on judged collections, which are not part of
# this repository: EVAL=DIR says where they are.
eval:
	@test -d "$(EVAL)" || { echo 'where are the judged collections? make eval EVAL=DIR'; exit 1; }
	$(GO) test ./index -count=1 -v -run '^TestEval$$' -timeout 30m -eval "$$(cd '$(EVAL)' && pwd)"

# docs/demo.svg anew, from the present output of the commands in it. make test
# fails if the image is stale.
demo:
	$(GO) test ./cmd/memwatchd/internal/e2e -count=1 -run '^TestPagesDemo$$' -update

# What is released of the commit that is checked out: archives for linux and
# darwin, and their checksums, in dist/. make dist-check makes it twice, the
# second time from nothing, and compares: half an hour on two cores.
dist:
	cd release && $(GO) run . -out ../dist

dist-check:
	cd release && $(GO) run . -check

clean:
	rm -f memwatchd
