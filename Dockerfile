# syntax=docker/dockerfile:1
# The image of Bayplan: docker build --tag REGISTRY/bayplan:0.1.0 .
# The binary is built by `make release`, as outside of a container.

# The channel of rust-toolchain.toml; tests/chart/image.rs holds the two together.
ARG RUST_VERSION=1.95.0

FROM docker.io/library/rust:${RUST_VERSION}-trixie AS build
ARG TARGETARCH
ARG COMMIT=""
WORKDIR /src
COPY . .
# Dependencies are compiled once: both caches outlive the build. What is in a cache is in no layer,
# so the binary is copied out in the same step. jemalloc takes the page size of the machine that
# builds, but kernels for ARM have pages of up to 64 KiB.
RUN --mount=type=cache,id=bayplan-registry-${TARGETARCH},target=/usr/local/cargo/registry,sharing=locked \
    --mount=type=cache,id=bayplan-target-${TARGETARCH},target=/src/target,sharing=locked \
    if [ "${TARGETARCH}" = arm64 ]; then export JEMALLOC_SYS_WITH_LG_PAGE=16; fi \
    && BAYPLAN_COMMIT="${COMMIT}" make release \
    && install -D target/release/bayplan /out/bayplan

# glibc and libgcc of the Debian that it was built on, and nothing else: no shell, no packages.
FROM gcr.io/distroless/cc-debian13:nonroot
ARG COMMIT=""
LABEL org.opencontainers.image.title="bayplan" \
      org.opencontainers.image.description="A Kubernetes scheduler that decides what kube-scheduler decides, faster, and says why" \
      org.opencontainers.image.version="0.1.0" \
      org.opencontainers.image.revision="${COMMIT}" \
      org.opencontainers.image.source="https://github.com/bayplan/bayplan" \
      org.opencontainers.image.documentation="https://github.com/bayplan/bayplan/tree/main/docs" \
      org.opencontainers.image.licenses="Apache-2.0"
COPY LICENSE /LICENSE
COPY --from=build /out/bayplan /usr/local/bin/bayplan
# By number, so that Kubernetes can see that it is not root.
USER 65532:65532
EXPOSE 10259
ENTRYPOINT ["/usr/local/bin/bayplan"]
CMD ["run"]
