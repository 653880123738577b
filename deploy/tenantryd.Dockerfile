# The daemon. Build it in the folder of the programs:
# docker build -f deploy/tenantryd.Dockerfile --build-arg TENANTRY_COMMIT=$(git rev-parse --short=12 HEAD) -t tenantry/tenantryd:0.1.0 .
# Images of the build and of the result; deploy/README.md says how to pin their digests.
ARG BUILD_IMAGE=docker.io/library/node:22-trixie
ARG BASE_IMAGE=docker.io/library/node:22-trixie-slim
FROM ${BUILD_IMAGE} AS build
WORKDIR /opt/tenantry
COPY . .
ARG TENANTRY_COMMIT
RUN npm ci && npm run setup && npm prune --omit=dev

FROM ${BASE_IMAGE}
# restic removes and checks snapshots; PostgreSQL's client is for `tenantryd backup` and `restore`.
RUN apt-get update \
 && apt-get install --yes --no-install-recommends ca-certificates postgresql-client restic \
 && rm -rf /var/lib/apt/lists/* \
 && useradd --system --uid 10001 --create-home --home-dir /var/lib/tenantryd tenantryd \
 && chmod 0700 /var/lib/tenantryd
COPY --from=build /opt/tenantry/bin /opt/tenantry/bin
COPY --from=build /opt/tenantry/config /opt/tenantry/config
COPY --from=build /opt/tenantry/dist /opt/tenantry/dist
COPY --from=build /opt/tenantry/docs /opt/tenantry/docs
COPY --from=build /opt/tenantry/types /opt/tenantry/types
COPY --from=build /opt/tenantry/node_modules /opt/tenantry/node_modules
COPY --from=build /opt/tenantry/package.json /opt/tenantry/CHANGELOG.md /opt/tenantry/
RUN ln -s /opt/tenantry/bin/tenantryd.js /usr/local/bin/tenantryd && ln -s /opt/tenantry/bin/tenantry.js /usr/local/bin/tenantry
USER tenantryd
WORKDIR /var/lib/tenantryd
VOLUME /var/lib/tenantryd
ENV NODE_ENV=production TENANTRY_DATA_DIR=/var/lib/tenantryd TENANTRY_LISTEN=0.0.0.0:8440
EXPOSE 8440
HEALTHCHECK --interval=10s --timeout=5s --start-period=60s \
  CMD ["node", "-e", "fetch('http://127.0.0.1:8440/readyz').then(({ ok }) => process.exit(ok ? 0 : 1), () => process.exit(1))"]
ENTRYPOINT ["tenantryd"]
CMD ["serve"]
