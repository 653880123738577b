# The daemon and the command line, from the package of a release. In a checkout of it:
#   npm ci && npm run package
#   docker build -f deploy/tenantryd.Dockerfile -t tenantry/tenantryd:0.1.0 .tenantry/packages
# Name the base by its digest, as README.md shows: a tag may be moved.
ARG BASE_IMAGE=docker.io/library/node:22-trixie-slim
FROM ${BASE_IMAGE} AS install
WORKDIR /opt/tenantry
COPY tenantry-[0-9]*.tgz /tmp/
# The versions of the shrinkwrap in the package, which `npm install` of a file ignores. No script of a package runs, so no compiler is needed.
RUN tar -xzf /tmp/tenantry-*.tgz --strip-components=1 && npm ci --omit=dev --ignore-scripts

FROM ${BASE_IMAGE}
# restic removes and checks snapshots; PostgreSQL's client is for `tenantryd backup` and `restore`.
RUN apt-get update \
 && apt-get install --yes --no-install-recommends ca-certificates postgresql-client restic \
 && rm -rf /var/lib/apt/lists/* \
 && useradd --system --uid 10001 --create-home --home-dir /var/lib/tenantryd tenantryd \
 && chmod 0700 /var/lib/tenantryd \
 && ln -s /opt/tenantry/bin/tenantryd.js /usr/local/bin/tenantryd && ln -s /opt/tenantry/bin/tenantry.js /usr/local/bin/tenantry
COPY --from=install /opt/tenantry /opt/tenantry
USER tenantryd
WORKDIR /var/lib/tenantryd
VOLUME /var/lib/tenantryd
ENV NODE_ENV=production TENANTRY_DATA_DIR=/var/lib/tenantryd TENANTRY_LISTEN=0.0.0.0:8440
EXPOSE 8440
HEALTHCHECK --interval=10s --timeout=5s --start-period=60s \
  CMD ["node", "-e", "fetch('http://127.0.0.1:8440/readyz').then(({ ok }) => process.exit(ok ? 0 : 1), () => process.exit(1))"]
ENTRYPOINT ["tenantryd"]
CMD ["serve"]
