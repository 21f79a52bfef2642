# The executable and nothing else: `just package`, then `just image`, whose folder holds the packed tarball's files.
# A base of your own, such as a mirror's: --build-arg BASE=...
ARG BASE=docker.io/library/debian:12-slim
# hadolint ignore=DL3006
FROM ${BASE}

COPY trunkline /usr/bin/trunkline

# The folder of the configuration is mounted or filled by `trunkline init`; the data's is a volume.
RUN groupadd --system --gid 990 trunkline \
    && useradd --system --uid 990 --gid 990 --home-dir /var/lib/trunkline --shell /usr/sbin/nologin trunkline \
    && install -d -o trunkline -g trunkline -m 0750 /etc/trunkline /var/lib/trunkline

USER 990:990
WORKDIR /var/lib/trunkline
VOLUME ["/etc/trunkline", "/var/lib/trunkline"]
EXPOSE 8080

STOPSIGNAL SIGTERM
ENTRYPOINT ["trunkline"]
CMD ["serve"]
