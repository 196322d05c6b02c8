/** The servers that bench/http.ts compares, each in a process of its own: plain node:http, connect-node alone, and our whole way in. */
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { create, fromJsonString, toJsonString } from "@bufbuild/protobuf";
import { connectNodeAdapter } from "@connectrpc/connect-node";
import { createAuthenticator } from "../../src/api/authenticate.ts";
import { createBodyRoom } from "../../src/api/body-room.ts";
import { createDispatch } from "../../src/api/dispatch.ts";
import { createHttp } from "../../src/api/http.ts";
import { createRateLimit } from "../../src/api/rate-limit.ts";
import { createRouter, type RouterDeps } from "../../src/api/router.ts";
import { serve } from "../../src/api/service.ts";
import { createShortWay } from "../../src/api/unary-json.ts";
import { EmailService, SendEmailRequestSchema, SendEmailResponseSchema } from "../../src/gen/v1/email_pb.ts";
import { silentLog } from "../../src/ops/log.ts";
import { createMetrics } from "../../src/ops/metrics.ts";
import { openDb } from "../../src/store/db.ts";

const answer = { id: "em_01890000-0000-7000-8000-000000000000", statusMessage: "queued for delivery" };

const servers: Record<string, () => Promise<number>> = {
  /** What a request costs that is read, understood and answered, and nothing else. */
  plain: () => {
    const server = createServer((request, response) => {
      const chunks: Buffer[] = [];
      request.on("data", (chunk: Buffer) => chunks.push(chunk));
      request.on("end", () => {
        fromJsonString(SendEmailRequestSchema, Buffer.concat(chunks).toString());
        const body = toJsonString(SendEmailResponseSchema, create(SendEmailResponseSchema, answer));
        response.setHeader("content-type", "application/json");
        response.setHeader("content-length", Buffer.byteLength(body));
        response.end(body);
      });
    });
    return new Promise((resolve) =>
      server.listen(0, "127.0.0.1", () => resolve((server.address() as AddressInfo).port)),
    );
  },
  connect: () => {
    const routes = connectNodeAdapter({
      routes: (router) => router.service(EmailService, { sendEmail: async () => answer }),
    });
    const server = createServer(routes);
    return new Promise((resolve) =>
      server.listen(0, "127.0.0.1", () => resolve((server.address() as AddressInfo).port)),
    );
  },
  /** Guards, key, permission, rate limit, deadline, metrics and error funnel around an empty handler. */
  ours: async () => {
    const log = silentLog();
    const metrics = createMetrics();
    const sql = openDb({ url: process.env.BENCH_DATABASE_URL!, pool: 4, log });
    const router: RouterDeps = {
      ...{ log, metrics, maxBodyBytes: 64 * 1024 * 1024, shutdown: new AbortController().signal },
      authenticator: createAuthenticator({ sql, log }),
      rateLimit: createRateLimit({ perSecond: 1e6, burst: 1e6 }),
    };
    const services = [serve(EmailService, { sendEmail: async () => answer })];
    const rpcs = createRouter(router, services);
    const bodies = createBodyRoom(256 * 1024 * 1024);
    const shortWay = createShortWay({ ...router, bodies }, services);
    const handle = createDispatch({
      ...{ log, metrics, rpcs, shortWay, pages: new Map(), files: () => {}, corsOrigins: [], streamStallMs: 60_000 },
      ...{ bodies, maxBodyBytes: router.maxBodyBytes },
    });
    return (await createHttp({ host: "127.0.0.1", port: 0, log, metrics, handle }).start()).port;
  },
};

process.send!(await servers[process.argv[2]!]!());
process.on("disconnect", () => process.exit(0));
