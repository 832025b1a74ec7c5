# Two commands do all set-up: `make demo` and `make test`.

CAPTURE ?= captures/bloated-link.pcap.zst

.PHONY: demo test lint bench build wheel dist router docs

## Builds what reads captures and runs, quickly, and analyses a real capture: verdict, report, tables.
demo:
	tools/install demo
	cargo build --profile demo --locked -p unbloat-cli --no-default-features --features runs
	target/demo/unbloat analyze $(CAPTURE)

## All commands, optimised: target/release/unbloat.
build:
	tools/install build
	cargo build --release --locked -p unbloat-cli

## The Python package with the program in it: target/wheels/dist/unbloat-*.whl (docs/python.md).
wheel:
	tools/install build wheel
	tools/wheel

## The program for routers, and a test of it: target/router/unbloat (docs/install.md).
router:
	tools/install build
	tools/router
	tools/test-router

## What users install: static programs, Debian packages, container images, wheel, checksums, in target/dist-files; installed in bare Debians (docs/install.md).
dist:
	tools/install build wheel dist
	tools/dist
	tools/test-dist

## The documentation as a site, its links checked: target/book/html/index.html.
docs:
	tools/install docs
	tools/docs

## Installs what the tests need and runs all of them. Tests that cannot run here are ignored; the runner prints why.
test:
	tools/install build test wheel
	tools/test

## The lints alone.
lint:
	tools/install build
	tools/lint

## Speed against tcptrace, tshark and tcpdump: see bench/README.md.
bench: build
	tools/install bench
	cargo run --release --locked -p unbloat-bench -- analyze
