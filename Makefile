# Bayplan's tasks. `make help` lists them.

SHELL := bash
.DEFAULT_GOAL := help
.PHONY: bench bench-engine conformance demo differential help instructions sim soak storm prerequisites controlplane build test lint deny crds release

help: ## List the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  %-14s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

prerequisites: ## Check that Rust, Go, make, a C linker and openssl are there
	@.ci/prerequisites

controlplane: prerequisites ## Build etcd, kube-apiserver, kube-scheduler, kubectl and helm for tests and demo
	@tests/controlplane/build

build: prerequisites ## Build the debug binary
	cargo build --locked

NODES ?= 200
PODS ?= 2000
KEEP ?= 0

demo: controlplane release ## Install the chart, schedule a workload, kill the leader, check all [NODES= PODS= KEEP=1]
	@cargo run --quiet --locked --example demo -- --binary target/release/bayplan \
	  --nodes $(NODES) --pods $(PODS) $(if $(filter 1,$(KEEP)),--keep)

SIZES ?=
SECTIONS ?=
WORKLOADS ?=
# A variable, if it was given on the command line, after a prefix.
given = $(if $(filter command line,$(origin $(1))),$(2)$($(1)))
BENCH ?=

bench: controlplane release ## Measure schedulers end to end [NODES=5000 RUNNING= WORKLOADS= BENCH="pods= window= ..."]
	@cargo run --quiet --locked --profile load --example end_to_end -- \
	  binary=target/release/bayplan $(call given,NODES,nodes=) \
	  $(call given,RUNNING,running=) $(if $(WORKLOADS),"workloads=$(WORKLOADS)") $(BENCH)

soak: controlplane release ## Watch memory over an hour of churn [MINUTES=60 NODES=1000 RUNNING=10000 RATE=20]
	@cargo run --quiet --locked --profile load --example soak -- \
	  binary=target/release/bayplan $(call given,MINUTES,minutes=) $(call given,NODES,nodes=) \
	  $(call given,RUNNING,running=) $(call given,RATE,rate=)

bench-engine: prerequisites ## Measure the engine alone [SIZES="5000x30 1000000x2" SECTIONS="decisions events memory growth" WORKLOADS=]
	cargo bench --locked --no-default-features --bench engine -- \
	  $(SIZES) $(SECTIONS:%=section=%) $(WORKLOADS)
	cargo bench --locked --no-default-features --bench queue

UPDATE ?=
instructions: prerequisites ## Count instructions with callgrind and compare with benches/instructions.md [UPDATE=1]
	@command -v valgrind >/dev/null || \
	  { echo "instructions: valgrind is missing: install it ('apt-get install valgrind', 'dnf install valgrind')" >&2; exit 1; }
	UPDATE=$(UPDATE) cargo bench --locked --no-default-features --profile instructions --bench instructions

SEEDS ?= 200
FIRST ?= 1
FEATURES ?=
conformance: NODES := $(if $(filter command line,$(origin NODES)),$(NODES),40)
conformance: PODS := $(if $(filter command line,$(origin PODS)),$(PODS),60)

conformance: prerequisites ## Compare decisions with upstream's on random clusters [SEEDS= FIRST= NODES= PODS= FEATURES=]
	@cargo run --quiet --locked --example conformance -- --seeds $(SEEDS) --first $(FIRST) \
	  --nodes $(NODES) --pods $(PODS) $(if $(FEATURES),--features $(FEATURES))

differential: SEEDS := $(if $(filter command line,$(origin SEEDS)),$(SEEDS),20)
differential: controlplane ## Give kube-scheduler and Bayplan the same pods on real clusters [SEEDS= FIRST= FEATURES=]
	SEEDS=$(SEEDS) FIRST=$(FIRST) FEATURES=$(FEATURES) \
	  cargo test --locked --test conformance -- live --nocapture

storm: controlplane ## Let important pods evict others all at once, by kube-scheduler and by Bayplan [NODES=]
	STORM_NODES=$(NODES) cargo test --locked --test storm -- --nocapture

sim: SEEDS := $(if $(filter command line,$(origin SEEDS)),$(SEEDS),10000)

sim: prerequisites ## Run random histories of a cluster through the engine and audit it [SEEDS= FIRST=]
	@cargo run --quiet --locked --profile sim --no-default-features --example sim -- \
	  --seeds $(SEEDS) --first $(FIRST)

test: controlplane ## Run all tests, those against a real API server included
	cargo test --locked
	cargo test --locked --lib --no-default-features
	@$(MAKE) --no-print-directory sim SEEDS=10000 FIRST=1
	cd tests/controlplane && CGO_ENABLED=0 go test -trimpath -buildvcs=false -mod=readonly ./oracle

lint: prerequisites ## Check formatting, lints, the library without its live part, and the documentation
	cargo fmt --check
	cargo clippy --locked --all-targets -- -D warnings
	cargo clippy --locked --lib --no-default-features -- -D warnings
	RUSTDOCFLAGS="-D warnings" cargo doc --locked --no-deps --document-private-items
	@unformatted=$$(gofmt -l tests/controlplane/oracle tests/controlplane/extender) && [[ -z $$unformatted ]] || \
	  { echo "lint: run gofmt -w on $$unformatted" >&2; exit 1; }
	cd tests/controlplane && CGO_ENABLED=0 go vet -trimpath -buildvcs=false -mod=readonly ./oracle ./extender

deny: ## Check the licences, sources and duplicates of dependencies, without network
	@cargo deny --version >/dev/null 2>&1 || \
	  { echo "deny: cargo-deny is missing: run 'cargo install cargo-deny@0.20.2 --locked'" >&2; exit 1; }
	cargo deny --locked --offline check bans licenses sources

crds: prerequisites ## Regenerate the CRDs from the API types
	@mkdir -p crds charts/bayplan/crds
	cargo run --quiet --locked --no-default-features -- crd > crds/bayplan.dev_schedulerprofiles.yaml.new
	mv crds/bayplan.dev_schedulerprofiles.yaml.new crds/bayplan.dev_schedulerprofiles.yaml
	cp crds/bayplan.dev_schedulerprofiles.yaml charts/bayplan/crds/

release: ## Build the optimised binary; the Dockerfile runs this as well
	cargo build --release --locked
