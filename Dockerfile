# Posthorn as an image: the server with its built dashboard, under an ordinary account, on a Debian with glibc (the PostgreSQL that
# comes along needs it). Alone it runs its own database in /data; with DATABASE_URL it uses yours.

FROM node:24-bookworm-slim AS build
WORKDIR /posthorn
COPY . .
# With the tools: the dashboard and the SDK are built at the end of the install.
RUN npm ci --no-audit --no-fund

FROM node:24-bookworm-slim
WORKDIR /posthorn
COPY package.json package-lock.json ./
COPY sdk/package.json sdk/
COPY web/package.json web/
COPY scripts/build.js scripts/
RUN npm ci --omit=dev --no-audit --no-fund && npm cache clean --force
COPY bin bin
COPY src src
COPY docs/openapi.json docs/
COPY --from=build /posthorn/web/dist web/dist
RUN mkdir /data && chown node:node /data
USER node
VOLUME /data
ENV POSTHORN_DATA_DIR=/data \
    POSTHORN_HTTP=0.0.0.0:8825 \
    POSTHORN_SMTP=0.0.0.0:2525 \
    POSTHORN_DNS=0.0.0.0:5354
EXPOSE 8825 2525 5354/udp 5354/tcp
STOPSIGNAL SIGTERM
# Where it really listens; a node without the role api has no page to ask, and is well while it runs.
HEALTHCHECK --interval=10s --timeout=5s --start-period=60s \
  CMD ["node", "-e", "const { pid, http } = require(process.env.POSTHORN_DATA_DIR + '/ports.json'); process.kill(pid, 0); if (http) fetch(`http://127.0.0.1:${http}/readyz`).then((answer) => process.exit(answer.ok ? 0 : 1), () => process.exit(1))"]
ENTRYPOINT ["node", "bin/posthorn.js"]
CMD ["start"]
