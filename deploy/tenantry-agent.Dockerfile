# The agent, for hosts without Node.js. Build it in the folder of the programs, run it as deploy/README.md says:
# docker build -f deploy/tenantry-agent.Dockerfile --build-arg TENANTRY_COMMIT=$(git rev-parse --short=12 HEAD) -t tenantry/tenantry-agent:0.1.0 .
# Images of the build and of the result; deploy/README.md says how to pin their digests.
ARG BUILD_IMAGE=docker.io/library/node:22-trixie
ARG BASE_IMAGE=docker.io/library/node:22-trixie-slim
FROM ${BUILD_IMAGE} AS build
WORKDIR /opt/tenantry
COPY . .
ARG TENANTRY_COMMIT
RUN npm ci && npm run setup && npm prune --omit=dev

FROM ${BASE_IMAGE}
# The Docker client with compose starts the containers of boxes; restic stores their snapshots.
RUN apt-get update \
 && apt-get install --yes --no-install-recommends ca-certificates docker-cli docker-compose restic \
 && rm -rf /var/lib/apt/lists/*
COPY --from=build /opt/tenantry/bin /opt/tenantry/bin
COPY --from=build /opt/tenantry/config /opt/tenantry/config
COPY --from=build /opt/tenantry/dist /opt/tenantry/dist
COPY --from=build /opt/tenantry/node_modules /opt/tenantry/node_modules
COPY --from=build /opt/tenantry/package.json /opt/tenantry/
RUN ln -s /opt/tenantry/bin/tenantry-agent.js /usr/local/bin/tenantry-agent
WORKDIR /var/lib/tenantry-agent
ENV NODE_ENV=production TENANTRY_AGENT_STATE_DIR=/var/lib/tenantry-agent TENANTRY_AGENT_BOXES_DIR=/srv/tenantry
ENTRYPOINT ["tenantry-agent"]
CMD ["run"]
