# Every command of the project. `make help` lists them; each installs what it lacks.
SHELL := /bin/bash
JOBS ?= $(shell nproc)
# One more at a time than there are cores: scenarios mostly wait.
CTEST := ctest --output-on-failure --progress -j$$(($(JOBS) + 1)) --timeout 600

.DEFAULT_GOAL := help
.PHONY: help build demo test test-sanitizers test-cluster bench lint format docs clean

help: ## list the commands
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## (.*)/  make \1\t\2/' | expand -t 26

build: ## build everything (build/dev)
	scripts/build.sh dev

demo: ## the main job on three simulated nodes; HOLD=1 leaves it running for kubectl
	scripts/build.sh dev nobs-demo neuron-observer-agent neuron-observer-operator
	build/dev/tests/nobs-demo $(if $(HOLD),--hold)

test: ## unit tests, scenarios on the embedded API, a short run of every fuzz target
	scripts/build.sh dev
	cd build/dev && $(CTEST) -LE cluster
	scripts/build.sh fuzz fuzz_targets
	cd build/fuzz && $(CTEST) -L fuzz

test-sanitizers: ## unit tests and scenarios under ASan+UBSan, then under TSan
	scripts/build.sh asan
	cd build/asan && $(CTEST) -LE cluster
	scripts/build.sh tsan
	cd build/tsan && $(CTEST) -LE cluster

test-cluster: ## the scenarios on a real kube-apiserver and etcd
	scripts/fetch-cluster-binaries.sh build/cluster/bin
	scripts/build.sh dev
	cd build/dev && $(CTEST) -j1 -L cluster

bench: ## measure the budgets of the design; writes docs/benchmarks.md
	scripts/fetch-cluster-binaries.sh build/cluster/bin
	scripts/build.sh release nobs-bench neuron-observer-agent neuron-observer-operator nobs-sim-api
	build/release/tests/nobs-bench --output docs/benchmarks.md

lint: ## formatting, shell scripts, clang-tidy
	scripts/lint.sh

format: ## format the C++ files in place
	@scripts/install-packages.sh
	git ls-files '*.cpp' '*.h' | xargs clang-format-16 -i

docs: ## regenerate the tables of docs/ that come from code
	scripts/build.sh dev nobs-docs
	build/dev/tests/nobs-docs docs

clean: ## remove build/
	rm -rf build
