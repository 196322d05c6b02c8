# The Docker image of Posthorn: the server and the built dashboard, under an unprivileged account, on Debian, because the embedded
# PostgreSQL needs glibc. With DATABASE_URL it uses that database; otherwise it runs its own in /data.

# For reproducible builds, pin the base image by digest:
#   docker build --build-arg NODE_IMAGE=node:24-bookworm-slim@sha256:… .
# "docker buildx imagetools inspect node:24-bookworm-slim" prints the digest.
ARG NODE_IMAGE=node:24-bookworm-slim

FROM ${NODE_IMAGE} AS build
WORKDIR /posthorn
# Packages first: this layer is rebuilt only when a manifest or the lock file changes.
COPY package.json package-lock.json ./
COPY sdk/package.json sdk/
COPY web/package.json web/
# Without install scripts: this stage only builds the dashboard, and runs neither PostgreSQL nor the server.
RUN npm ci --ignore-scripts --no-audit --no-fund
COPY src src
COPY web web
# The documentation, which is built with the dashboard.
COPY docs docs
COPY sdk/README.md sdk/
COPY CHANGELOG.md ./
RUN npm run build -w web

FROM ${NODE_IMAGE}
WORKDIR /posthorn
COPY package.json package-lock.json ./
COPY sdk/package.json sdk/
COPY web/package.json web/
COPY scripts/build.js scripts/
RUN npm ci --omit=dev --no-audit --no-fund && npm cache clean --force
COPY bin bin
COPY src src
COPY docs/openapi.json docs/
COPY deploy/healthcheck.js deploy/
COPY --from=build /posthorn/web/dist web/dist
RUN mkdir -m 700 /data && chown node:node /data
USER node
VOLUME /data
# POSTHORN_OPS stays on the container's own loopback until it is set together with POSTHORN_METRICS_TOKEN.
ENV POSTHORN_DATA_DIR=/data \
    POSTHORN_HTTP=0.0.0.0:8825 \
    POSTHORN_SMTP=0.0.0.0:2525 \
    POSTHORN_SUBMISSION=0.0.0.0:2587 \
    POSTHORN_SUBMISSIONS=0.0.0.0:2465 \
    POSTHORN_DNS=0.0.0.0:5354
EXPOSE 8825 8826 2525 2587 2465 5354/udp 5354/tcp
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=10s --timeout=5s --start-period=60s CMD ["node", "deploy/healthcheck.js"]
ENTRYPOINT ["node", "bin/posthorn.js"]
CMD ["start"]
