# One static program on nothing. docker build --build-arg VERSION=v1.2.3 -t postbus .
# Its Go is that of go.mod, which a test holds it to.
FROM golang:1.26 AS build
WORKDIR /src
COPY go.mod go.sum ./
RUN go mod download
COPY . .
ARG VERSION
RUN VERSION="$VERSION" scripts/build.sh /out/postbus

FROM scratch
# What https endpoints and databases with TLS are checked against. Time zones are in the program.
COPY --from=build /etc/ssl/certs/ca-certificates.crt /etc/ssl/certs/ca-certificates.crt
COPY --from=build /out/postbus /postbus
USER 65532:65532
ENV POSTBUS_LISTEN=0.0.0.0:8899
EXPOSE 8899
STOPSIGNAL SIGTERM
# Whether the process lives, not whether its database does: a restart would not bring that back.
HEALTHCHECK --interval=10s --timeout=5s --start-period=10s --retries=3 CMD ["/postbus", "health", "--alive"]
ENTRYPOINT ["/postbus"]
CMD ["serve"]
