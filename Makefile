# Two commands do all set-up: `make demo` and `make test`.

CAPTURE ?= captures/bloated-link.pcap.zst

.PHONY: demo test check bench build wheel

## Builds what reads captures and runs, quickly, and analyses a real capture: verdict, report, tables.
demo:
	tools/install demo
	cargo build --profile demo --locked -p unbloat-cli --no-default-features
	target/demo/unbloat analyze $(CAPTURE)

## All commands, optimised: target/release/unbloat.
build:
	tools/install build
	cargo build --release --locked -p unbloat-cli

## The Python package with the program in it: target/wheels/release/unbloat-*.whl (docs/python.md).
wheel:
	tools/install build wheel
	tools/wheel release

## Installs what the tests need and runs all of them. Tests that cannot run here are ignored; the runner prints why.
test:
	tools/install build test wheel
	cargo fmt --all --check
	cargo xtask layers
	tools/check-dependencies
	cargo clippy --workspace --all-targets --locked -- -D warnings
	cargo clippy -p unbloat-cli --no-default-features --locked -- -D warnings
	cargo test --workspace --locked --no-fail-fast
	tools/test-python

## Speed against tcptrace, tshark and tcpdump: see bench/README.md.
bench: build
	tools/install bench
	cargo run --release --locked -p unbloat-bench -- analyze
