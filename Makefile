# Turnstone's commands. CMake does the building; this file says what there is to do.
# Commands are quiet when all is well: VERBOSE=1 shows what they run.

MAKEFLAGS += --no-print-directory
.DEFAULT_GOAL := release

PREFIX ?= /usr/local
Q := $(if $(VERBOSE),,@)

# Configures when needed, builds with all cores, and prints only what goes wrong.
define build
	$(Q)tools/build $(1)
endef

release: ## build the release, build/release/turnstone (the default)
	$(Q)NO_INSTALL=1 tools/install-packages build || { echo "turnstone: 'make deps' installs them" >&2; exit 2; }
	$(call build,release)

deps: ## install what building needs (NO_INSTALL=1 prints it instead)
	$(Q)tools/install-packages build

demo: ## install what is missing, build, and show the main job
	$(Q)tools/install-packages build demo
	$(call build,release)
	$(Q)tools/demo build/release/turnstone

check: ## install what the tests need, build, and run all of them (CHECK=all: also what has not changed)
	$(Q)tools/install-packages build check
	$(call build,release dev asan)
	$(Q)tools/check $(if $(filter all,$(CHECK)),--all) build/dev build/asan

tsan: ## run the unit tests under ThreadSanitizer
	$(Q)tools/install-packages build check
	$(call build,tsan)
	$(Q)tools/check $(if $(filter all,$(CHECK)),--all) build/tsan

fuzz: ## run every fuzz target for a bounded time (SECONDS=30), and damaged repositories (REPOSITORIES=2000)
	$(Q)tools/install-packages build check
	$(Q)tools/fuzz $(or $(SECONDS),30)

soak: ## run simulated worlds of coordination and fleets with fresh seeds until one breaks, or for so long (SECONDS=60)
	$(call build,release)
	$(Q)tools/soak build/release/turnstone $(or $(SECONDS),60)

soak-fleet: ## a fleet in a storm: kills, pauses, crashes, damage, force-pushes (SECONDS=600, SEED); then one for each of four planted bugs; then 50 lost leases in each stage
	$(call build,dev)
	$(Q)tools/soak-fleet build/dev/turnstone $(or $(SECONDS),600) $(SEED)

storm: ## scan a repository whose refs move while git packs it (SCANS=1000), and compare with the refs of each moment
	$(call build,release)
	$(Q)TAP_ONLY=storm TURNSTONE_STORM_SCANS=$(or $(SCANS),1000) tests/system/scan_moving_test.py build/release/turnstone

bench: ## run the benchmarks beside bare loops, with servers of their own, and print the ratios
	$(Q)tools/install-packages build check
	$(call build,release)
	$(Q)cmake --build build/release --target comparisons $(if $(VERBOSE),,>/dev/null)
	$(Q)build/release/turnstone bench route
	$(Q)tools/bench build/release $(BENCH)

corpus: ## fetch and build the histories that bench-scan reads (1.8 GB of downloads; TURNSTONE_CORPUS=FOLDER)
	$(Q)tools/install-packages corpus
	$(Q)tools/corpus

bench-scan: ## time whole-history scans beside git cat-file, compare their findings, and print the table
	$(Q)tools/install-packages build corpus
	$(call build,release)
	$(Q)cmake --build build/release --target bench_inflate $(if $(VERBOSE),,>/dev/null)
	$(Q)tools/bench-scan build/release/turnstone $(BENCH)

bench-start: ## time starting, compiling and checking rules (BENCH="--repository PATH": second scans, too)
	$(call build,release)
	$(Q)tools/bench-start build/release/turnstone $(BENCH)

bench-fleet: ## time workers beside plain scans of the same repositories (BENCH="--postgres": with servers, too)
	$(Q)tools/install-packages build check
	$(call build,release)
	$(Q)tools/bench-fleet build/release/turnstone $(BENCH)

install: release ## install program, libraries, headers, man page and completions (DESTDIR, PREFIX)
	$(Q)cmake --install build/release --prefix "$(PREFIX)" $(if $(VERBOSE),,>/dev/null)

dist: ## make what a release has, in build/dist: tarball, wheel, Debian package, container image, checksums
	$(Q)tools/install-packages build dist
	$(call build,release)
	$(Q)packaging/dist build/release build/dist

format: ## lay out all C files by clang-format
	$(Q)tools/format --write

clean: ## remove everything that was built
	$(Q)rm -rf build

help: ## list these targets
	$(Q)sed -n 's/^\([a-z-]*\):[^#]*## /\1\t/p' Makefile | awk -F '\t' '{ printf "make %-10s %s\n", $$1, $$2 }'

.PHONY: release deps demo check tsan fuzz soak soak-fleet storm bench corpus bench-scan bench-start bench-fleet install dist format clean help
