# The operator's image: one static program and nothing else, so there is no shell, no package and no library to keep patched.
#
# It packages what was built before: `make image` builds both without a Docker engine, docs/install.md has the commands for
# others and for several architectures.
FROM scratch
ARG TARGETARCH
ARG VERSION
ARG COMMIT
COPY --chmod=0755 target/image/${TARGETARCH}/streaming-operator /streaming-operator
# As the chart runs it too; a number, so that `runAsNonRoot` can be checked without a file of users.
USER 65532:65532
EXPOSE 9443 8080
LABEL org.opencontainers.image.title="streaming-operator" \
      org.opencontainers.image.description="Runs Sentry Streams consumers on Kubernetes" \
      org.opencontainers.image.licenses="Apache-2.0" \
      org.opencontainers.image.version="${VERSION}" \
      org.opencontainers.image.revision="${COMMIT}"
ENTRYPOINT ["/streaming-operator"]
