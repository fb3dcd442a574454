# tmux-intercom; `make help` lists what it can do.
#   make install PREFIX=/usr DESTDIR=/tmp/root

PREFIX  ?= /usr/local
DESTDIR ?=
GO      ?= go
VERSION ?= $(shell git describe --tags --always --dirty 2>/dev/null || echo devel)
# How long `make fuzz` spends on each target; which benchmarks `make bench` runs; which tests `make test`
# (all of them if TEST is empty), `make long` and `make lab` run; which tests of the lab are left out; which gates
# `make teeth` switches off.
FUZZTIME ?= 30s
BENCH    ?= .
TEST     ?=
LONG     ?= .
# How long `make soak` runs, and how many messages a second it sends.
SOAK     ?= 1h
RATE     ?= 20
LAB      ?= ^TestLab
LABSKIP  ?=
TEETH    ?=
# Which other versions of the agents `make versions` tests: 'claude@2.1.300 gemini@0.58.0'.
VERSIONS ?=

# Refuse a dependency that needs a newer Go, instead of downloading one.
export GOTOOLCHAIN = local

# Tests are compiled like the programs, so that they share compiled packages.
export CGO_ENABLED = 0
LDFLAGS   = -s -w -X main.version=$(VERSION)
GO_BUILD  = $(GO) build -trimpath -buildvcs=false -ldflags '$(LDFLAGS)'
GO_TEST   = $(GO) test -trimpath -ldflags '-s -w'
# The packages with tests for the lab; the others would only be compiled. The slowest one comes first.
LABS      = ./sidecar/daemon $(filter-out ./sidecar/daemon/,$(addprefix ./,$(sort $(dir $(shell grep -rl --include='*_test.go' '^func TestLab' sidecar cmd)))))
# The slowest packages come first, so that nothing waits for them alone at the end.
LONGEST   = ./sidecar/daemon ./cmd/intercom ./sidecar/link ./sidecar/tmux ./sidecar/journal ./scripting ./sidecar/repository ./sidecar/screen
# How many packages are tested at once: one more than there are processors. The two slowest packages spend much of
# their time waiting for other programs, and the small ones run beside them. Twice as many packages at once took
# equally long on a slow machine, and missed deadlines. That machine also missed some with six tests of a package at
# once; now there are four.
AT_ONCE   = $(shell echo $$(( $$(getconf _NPROCESSORS_ONLN 2>/dev/null || echo 2) + 1 )))
PARALLEL  = 4
PLATFORMS ?= linux/amd64 linux/arm64 darwin/amd64 darwin/arm64

.PHONY: build install uninstall demo test lint lab versions long soak bench fuzz teeth conformance pictures dist release clean help ensure

build: ## build bin/intercom and bin/intercom-hub
	$(GO_BUILD) -o bin/intercom ./cmd/intercom
	$(GO_BUILD) -o bin/intercom-hub ./cmd/intercom-hub

install: build ## install intercom and intercom-hub, their manual pages and completions below $(DESTDIR)$(PREFIX)
	install -d $(foreach d,bin share/man/man1 share/bash-completion/completions share/zsh/site-functions share/fish/vendor_completions.d,'$(DESTDIR)$(PREFIX)/$d')
	install -m 0755 bin/intercom '$(DESTDIR)$(PREFIX)/bin/intercom'
	install -m 0755 bin/intercom-hub '$(DESTDIR)$(PREFIX)/bin/intercom-hub'
	bin/intercom man '$(DESTDIR)$(PREFIX)/share/man/man1'
	bin/intercom-hub man '$(DESTDIR)$(PREFIX)/share/man/man1'
	bin/intercom completion bash >'$(DESTDIR)$(PREFIX)/share/bash-completion/completions/intercom'
	bin/intercom completion zsh >'$(DESTDIR)$(PREFIX)/share/zsh/site-functions/_intercom'
	bin/intercom completion fish >'$(DESTDIR)$(PREFIX)/share/fish/vendor_completions.d/intercom.fish'

uninstall: ## remove what make install put there, with the same DESTDIR and PREFIX
	rm -f '$(DESTDIR)$(PREFIX)/bin/intercom' '$(DESTDIR)$(PREFIX)/bin/intercom-hub' '$(DESTDIR)$(PREFIX)'/share/man/man1/intercom.1 '$(DESTDIR)$(PREFIX)'/share/man/man1/intercom-*.1 \
		'$(DESTDIR)$(PREFIX)/share/bash-completion/completions/intercom' '$(DESTDIR)$(PREFIX)/share/zsh/site-functions/_intercom' \
		'$(DESTDIR)$(PREFIX)/share/fish/vendor_completions.d/intercom.fish'

demo: ensure ## two programs in two panes of a private tmux server talk to each other
	$(GO_BUILD) -o bin/intercom ./cmd/intercom
	bin/intercom demo

test: ensure ## all tests but the long ones, on real tmux servers of their own (TEST=regexp picks some)
	$(GO_TEST) -vet=off -p $(AT_ONCE) -parallel $(PARALLEL) -timeout 27m $(if $(TEST),-run '$(TEST)') $(LONGEST) ./...

lint: ## formatting, go vet, staticcheck, shellcheck, a tidy go.mod
	GO='$(GO)' .ci/lint

lab: ensure ## tests with real agents, answered by mock models; installs them from npm (LAB=regexp picks some; INTERCOM_LONG=1: the long ones too)
	@.ci/agents
	INTERCOM_LAB=1 $(GO_TEST) -count=1 -timeout 26m -p 2 -parallel 3 -v -run '$(LAB)' $(if $(LABSKIP),-skip '$(LABSKIP)') $(LABS)

versions: ensure ## other versions of the agents than the lab's (VERSIONS='claude@2.1.300 gemini@0.58.0')
	@test -n '$(VERSIONS)' || { echo "versions: which? make versions VERSIONS='claude@2.1.300 gemini@0.58.0'" >&2; exit 2; }
	@.ci/agents $(VERSIONS)
	INTERCOM_LAB=1 INTERCOM_VERSIONS='$(subst @,=,$(VERSIONS))' $(GO_TEST) -count=1 -timeout 30m -v -run '^TestLab_.*OtherVersions' ./sidecar/daemon

long: ensure ## every test at its full length (LONG=regexp picks some)
	INTERCOM_LONG=1 $(GO_TEST) -count=1 -timeout 120m -run '$(LONG)' ./...

soak: ensure ## an hour of every protocol under faults, and a page about it (SOAK=10m RATE=20)
	INTERCOM_SOAK='$(SOAK)' INTERCOM_SOAK_RATE='$(RATE)' $(GO_TEST) -count=1 -timeout 0 -v -run '^TestD6_Soak$$' ./sidecar/soaktest

bench: ensure ## the benchmarks (BENCH=regexp picks some)
	$(GO_TEST) -run '^$$' -bench '$(BENCH)' -benchmem -timeout 30m ./...

fuzz: ## each fuzz target for FUZZTIME
	GO='$(GO)' .ci/fuzz '$(FUZZTIME)'

teeth: ensure ## each safety gate switched off in turn, and bugs in the simulation: which test goes red (TEETH=regexp picks gates)
	@$(GO) test -tags teeth -list '^TestTeeth' ./cmd/intercom | grep -q '^TestTeeth' || \
		{ echo 'teeth: cmd/intercom has no TestTeeth, nothing was tried' >&2; exit 1; }
	INTERCOM_TEETH='$(TEETH)' $(GO) test -tags teeth -run TestTeeth -v -count=1 -timeout 30m ./sidecar/pane ./cmd/intercom

conformance: ## write docs/conformance/README.md from the names of the tests
	$(GO_TEST) -count=1 -run '^TestConformance' ./cmd/intercom -update

pictures: ensure ## the pictures in docs/pictures, from two real agents and a person who presses keys
	@.ci/agents
	INTERCOM_LAB=1 INTERCOM_PICTURES=1 $(GO_TEST) -count=1 -run '^TestLab_U27_pictures' -v ./cmd/intercom

dist: ## cross-compiled programs, compressed, and the SHA-256 of what is in them, in dist/ (PLATFORMS=…)
	rm -rf dist && mkdir dist
	set -e; for p in $(PLATFORMS); do \
		echo "dist/intercom-$(VERSION)-$${p%/*}-$${p#*/}.gz" "dist/intercom-hub-$(VERSION)-$${p%/*}-$${p#*/}.gz"; \
		for c in intercom intercom-hub; do \
			GOOS=$${p%/*} GOARCH=$${p#*/} $(GO_BUILD) -o "dist/$$c-$(VERSION)-$${p%/*}-$${p#*/}" "./cmd/$$c"; \
		done; \
	done
	cd dist && { sha256sum intercom-* 2>/dev/null || shasum -a 256 intercom-*; } | sed 's/  */ /' > SHA256SUMS
	gzip -9n dist/intercom-*

release: ## the programs of a tag, and their sums in tmux-plugin/release.txt (TAG=v0.1.0)
	.ci/release '$(TAG)'

clean: ## remove bin/ and dist/
	rm -rf bin dist

help: ## this list
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "  %-12s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

ensure:
	@.ci/ensure
