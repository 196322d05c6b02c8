/** The servers that bench/http.ts compares, each in its own process: plain node:http, connect-node alone, and our HTTP stack. */
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { create, fromJsonString, toJsonString } from "@bufbuild/protobuf";
import { connectNodeAdapter } from "@connectrpc/connect-node";
import { EmailService, SendEmailRequestSchema, SendEmailResponseSchema } from "../../src/gen/v1/email_pb.ts";
import { createAnswerMemory } from "../../src/http/answer-memory.ts";
import { serve } from "../../src/http/call.ts";
import { createCallShares } from "../../src/http/call-shares.ts";
import { createDispatch } from "../../src/http/dispatch.ts";
import { createCallLimit } from "../../src/http/gate.ts";
import { createRefusalPace } from "../../src/http/refusals.ts";
import { createBodyMemory } from "../../src/http/request-body.ts";
import { createRouter, type RouterDeps } from "../../src/http/router.ts";
import { createSafeHeaders } from "../../src/http/safe-headers.ts";
import { createHttp } from "../../src/http/server.ts";
import { createUnaryCalls } from "../../src/http/unary-json.ts";
import { createAuthenticator } from "../../src/keys/authenticate.ts";
import { silentLog } from "../../src/ops/log.ts";
import { createMetrics } from "../../src/ops/metrics.ts";
import { openDb } from "../../src/postgres/pool.ts";
import { createLoopShare } from "../../src/shares/loop-share.ts";

const answer = { id: "em_01890000-0000-7000-8000-000000000000", statusMessage: "queued for delivery" };

const servers: Record<string, () => Promise<number>> = {
  /** Only reads, parses and answers a request. */
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
  /** Request checks, key, permission, rate limit, deadline, metrics and error handling around an empty handler. */
  ours: async () => {
    const log = silentLog();
    const metrics = createMetrics();
    const sql = openDb({ url: process.env.BENCH_DATABASE_URL!, pool: 4, log });
    const router: RouterDeps = {
      log,
      metrics,
      maxBodyBytes: 64 * 1024 * 1024,
      shutdown: new AbortController().signal,
      authenticator: createAuthenticator({ sql, log }),
      callLimit: createCallLimit({ perSecond: 1e6, burst: 1e6 }),
      calls: createCallShares(),
      answers: createAnswerMemory(),
      loop: createLoopShare(),
      refusals: createRefusalPace(() => metrics.slowedRefusals.inc()),
    };
    const services = [serve(EmailService, { sendEmail: async () => answer })];
    const rpcs = createRouter(router, services);
    const safeHeaders = createSafeHeaders();
    const bodies = createBodyMemory(256 * 1024 * 1024);
    const unaryCalls = createUnaryCalls({ ...router, bodies, safeHeaders, trustedProxies: [] }, services);
    const handle = createDispatch({
      log,
      metrics,
      rpcs,
      unaryCalls,
      pages: new Map(),
      files: () => {},
      corsOrigins: [],
      streamStallMs: 60_000,
      bodies,
      loop: router.loop,
      safeHeaders,
      trustedProxies: [],
      maxBodyBytes: router.maxBodyBytes,
    });
    return (await createHttp({ host: "127.0.0.1", port: 0, log, metrics, handle }).start()).port;
  },
};

process.send!(await servers[process.argv[2]!]!());
process.on("disconnect", () => process.exit(0));
