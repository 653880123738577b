# The daemon and the command line, from the package of a release. In a checkout of it:
#   npm ci && npm run package
#   docker build -f deploy/tenantryd.Dockerfile -t tenantry/tenantryd:0.1.0 .tenantry/packages
# Name the base by its digest, as README.md shows: a tag may be moved.
ARG BASE_IMAGE=docker.io/library/node:22-trixie-slim
FROM ${BASE_IMAGE} AS package
COPY tenantry-[0-9]*.tgz /tmp/
RUN mkdir /package && tar -xzf /tmp/tenantry-*.tgz --strip-components=1 -C /package

# The versions of the shrinkwrap in the package, which `npm install` of a file ignores. No script of a package runs, so no compiler is needed.
# While both files are the same, this stage comes from the cache.
FROM ${BASE_IMAGE} AS dependencies
WORKDIR /opt/tenantry
COPY --from=package /package/package.json /package/npm-shrinkwrap.json ./
RUN npm ci --omit=dev --ignore-scripts

FROM ${BASE_IMAGE}
# restic removes and checks snapshots; PostgreSQL's client is for `tenantryd backup` and `restore`.
RUN apt-get update \
 && apt-get install --yes --no-install-recommends ca-certificates postgresql-client restic \
 && rm -rf /var/lib/apt/lists/* \
 && groupadd --system --gid 10001 tenantryd \
 && useradd --system --uid 10001 --gid tenantryd --home-dir /var/lib/tenantryd --shell /usr/sbin/nologin tenantryd \
 && install --directory --mode 0700 --owner tenantryd --group tenantryd /var/lib/tenantryd \
 && ln -s /opt/tenantry/bin/tenantryd.js /usr/local/bin/tenantryd && ln -s /opt/tenantry/bin/tenantry.js /usr/local/bin/tenantry
COPY --from=dependencies /opt/tenantry/node_modules /opt/tenantry/node_modules
COPY --from=package /package /opt/tenantry
USER tenantryd
WORKDIR /var/lib/tenantryd
VOLUME /var/lib/tenantryd
ENV NODE_ENV=production TENANTRY_DATA_DIR=/var/lib/tenantryd TENANTRY_LISTEN=0.0.0.0:8440
EXPOSE 8440
HEALTHCHECK --interval=10s --timeout=5s --start-period=60s \
  CMD ["node", "-e", "fetch('http://127.0.0.1:8440/readyz').then(({ ok }) => process.exit(ok ? 0 : 1), () => process.exit(1))"]
ENTRYPOINT ["tenantryd"]
CMD ["serve"]
