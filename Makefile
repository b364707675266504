# What one types. Each target sets up what it needs first; setting up twice costs a moment.

program := build/release/attention-plasticity
jobs := $(shell nproc 2>/dev/null || echo 2)

.PHONY: run build capture test test-python test-python-asan test-installs test-capture test-llama test-stores test-ray example-model wheel check reference site format fuzz fresh sample-results bench bench-check clean help
.DEFAULT_GOAL := help

help:
	@echo "make run             build, analyse the embedded SmolLM2 dump, draw its figures, write its report"
	@echo "make test            build and pass every test"
	@echo "make test-python     build the Python package, install it and pass its tests"
	@echo "make test-python-asan  the same with AddressSanitizer and UndefinedBehaviorSanitizer"
	@echo "make test-installs   install the Python package from its sources and from its source archive, with build isolation"
	@echo "make test-capture    build the Python package, install it with torch and transformers, pass the tests of capture"
	@echo "make test-llama      build the program with libllama and pass the tests of GGUF models"
	@echo "make test-stores     build the program, pass the tests of object stores beside an S3 server on loopback"
	@echo "make test-ray        build the Python package, install it with Ray, pass the tests of runs on a cluster"
	@echo "make example-model   capture, label, analyse and report a real model of 135M parameters, and price a cache plan"
	@echo "make wheel           make the wheel and the source archive of the Python package, in dist/"
	@echo "make build           build the program, $(program), and the library"
	@echo "make capture         build the same program with libllama, so that it captures GGUF models itself"
	@echo "make check           tests under sanitizers, clang-tidy, formatting"
	@echo "make reference       make the API reference of the library from its headers"
	@echo "make site            make the site of the docs, with the reference of the Python package"
	@echo "make fuzz            feed broken input to every parser, each for FUZZ_SECONDS (600)"
	@echo "make fresh           prove set-up, run and test in a bare Debian 12"
	@echo "make bench           measure speed and memory on synthetic dumps, against the targets"
	@echo "make bench-check     fail when a kernel takes 10 % more instructions than before"
	@echo "make format          format the sources"
	@echo "make sample-results  write results/ anew"

build:
	@tools/setup.sh build
	@tools/build.sh release

capture:
	@tools/setup.sh build
	@tools/build.sh capture

run:
	@tools/setup.sh run
	@tools/build.sh release
	@$(program) analyze --config configs/example-smollm2-135m.yaml
	@echo && echo "Figures and report:"
	@$(program) plot plasticity out/smollm2-135m
	@$(program) plot heatmap out/smollm2-135m
	@$(program) plot components out/smollm2-135m
	@$(program) plot distance out/smollm2-135m
	@$(program) plot heads out/smollm2-135m
	@$(program) report out/smollm2-135m --labels examples/smollm2-135m/head_labels.csv

test:
	@tools/setup.sh test
	@tools/build.sh ci
	ctest --preset ci --parallel $(jobs)

test-python:
	@tools/setup.sh python
	@tools/test_python.sh

test-python-asan:
	@tools/setup.sh python
	@tools/test_python.sh --asan

test-installs:
	@tools/setup.sh python
	@tools/test_installs.sh

test-capture:
	@tools/setup.sh python
	@tools/test_capture.sh

test-llama:
	@tools/setup.sh build
	@tools/test_llama.sh

test-stores:
	@tools/setup.sh python
	@tools/test_stores.sh

test-ray:
	@tools/setup.sh python
	@tools/test_ray.sh

example-model:
	@tools/setup.sh python
	@tools/test_capture.sh --example

wheel:
	@tools/setup.sh python
	@tools/test_python.sh --wheel

check:
	@tools/setup.sh check
	@tools/check.sh

reference:
	@tools/setup.sh reference
	@tools/reference.sh

site:
	@tools/setup.sh python
	@tools/site.sh

format:
	@tools/setup.sh check
	git ls-files -- '*.h' '*.cc' | xargs .venv/bin/clang-format -i

fuzz:
	@tools/setup.sh fuzz
	@tools/fuzz.sh --seconds $(or $(FUZZ_SECONDS),600)

fresh:
	@tools/setup.sh fresh
	@tools/fresh.sh

bench:
	@tools/setup.sh bench
	@tools/bench.sh

bench-check:
	@tools/setup.sh bench
	@tools/bench_check.sh

sample-results: build
	$(program) analyze --config configs/example-smollm2-135m.yaml --output_dir results/smollm2-135m --quiet

clean:
	rm -rf build out
