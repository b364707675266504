# What one types. Each target sets up what it needs first; setting up twice costs a moment.

program := build/release/attention-plasticity
jobs := $(shell nproc 2>/dev/null || echo 2)

.PHONY: run build test check format fresh sample-results clean help
.DEFAULT_GOAL := help

help:
	@echo "make run             build, analyse the embedded SmolLM2 dump, show its most and least plastic heads"
	@echo "make test            build and pass every test"
	@echo "make build           leave the program at $(program)"
	@echo "make check           tests under sanitizers, clang-tidy, formatting"
	@echo "make fresh           prove set-up, run and test in a bare Debian 12"
	@echo "make format          format the sources"
	@echo "make sample-results  write results/ anew"

build:
	@tools/setup.sh
	@tools/build.sh release

run: build
	@$(program) analyze --config configs/example-smollm2-135m.yaml

test: build
	ctest --preset release --parallel $(jobs)

check:
	@tools/setup.sh check
	@tools/check.sh

format:
	@tools/setup.sh check
	git ls-files -- '*.h' '*.cc' | xargs .venv/bin/clang-format -i

fresh:
	@tools/setup.sh fresh
	@tools/fresh.sh

sample-results: build
	$(program) analyze --config configs/example-smollm2-135m.yaml --output_dir results/smollm2-135m --quiet

clean:
	rm -rf build out
