# Two commands do all set-up: `make demo` and `make test`.

CAPTURE ?= captures/bloated-link.pcap.zst

.PHONY: demo test check bench build

## Builds what reads captures and runs, quickly, and analyses a real capture: verdict, report, tables.
demo:
	tools/install demo
	cargo build --profile demo --locked -p unbloat-cli --no-default-features
	target/demo/unbloat analyze $(CAPTURE)

## All commands, optimised: target/release/unbloat.
build:
	tools/install build
	cargo build --release --locked -p unbloat-cli

## Installs what the tests need and runs all of them; tells which were left out, and why.
test: export UNBLOAT_SKIPPED := $(CURDIR)/target/skipped-tests
test:
	tools/install build test
	cargo fmt --all --check
	cargo xtask layers
	cargo clippy --workspace --all-targets --locked -- -D warnings
	cargo clippy -p unbloat-cli --no-default-features --locked -- -D warnings
	mkdir -p target && rm -f "$$UNBLOAT_SKIPPED"
	cargo test --workspace --locked --no-fail-fast
	@! test -s "$$UNBLOAT_SKIPPED" || (echo "left out: $$(wc -l < "$$UNBLOAT_SKIPPED") tests"; sed 's/^[^:]*: //' "$$UNBLOAT_SKIPPED" | sort | uniq -c)

## Speed against tcptrace, tshark and tcpdump: see bench/README.md.
bench: build
	tools/install bench
	cargo run --release --locked -p unbloat-bench -- analyze
