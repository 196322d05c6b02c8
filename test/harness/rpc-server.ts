/** Serves the given RPC services over real HTTP, with all layers of src/http and a key for calls. For tests of those layers. */
import { createAnswerMemory } from "../../src/http/answer-memory.ts";
import { createCallShares } from "../../src/http/call-shares.ts";
import { createDispatch, type DispatchDeps } from "../../src/http/dispatch.ts";
import { createCallLimit } from "../../src/http/gate.ts";
import { createRefusalPace } from "../../src/http/refusals.ts";
import { createBodyMemory } from "../../src/http/request-body.ts";
import { createRouter, type RouterDeps } from "../../src/http/router.ts";
import { createSafeHeaders } from "../../src/http/safe-headers.ts";
import { createHttp } from "../../src/http/server.ts";
import { createUnaryCalls } from "../../src/http/unary-json.ts";
import { createAuthenticator } from "../../src/keys/authenticate.ts";
import { insertKey, makeKeySecret } from "../../src/keys/store.ts";
import { silentLog } from "../../src/ops/log.ts";
import { createMetrics } from "../../src/ops/metrics.ts";
import { makeUuid } from "../../src/postgres/ids.ts";
import { createLoopShare } from "../../src/shares/loop-share.ts";
import { createTestDatabase } from "./database.ts";
import { makeWorkspace } from "./mail.ts";

export type RpcServer = Awaited<ReturnType<typeof startRpcServer>>;

export type RpcServerOptions = {
  services: Parameters<typeof createRouter>[1];
  maxBodyBytes: number;
  bodyMemoryBytes?: number;
  answers?: RouterDeps["answers"];
  loop?: RouterDeps["loop"];
  /** Other than the defaults. */
  dispatch?: Partial<DispatchDeps>;
};

export async function startRpcServer({ services, maxBodyBytes, ...options }: RpcServerOptions) {
  const { bodyMemoryBytes = maxBodyBytes, answers = createAnswerMemory(), loop = createLoopShare() } = options;
  const database = await createTestDatabase();
  const { sql } = database;
  const workspaceId = await makeWorkspace(sql);
  const { secret } = makeKeySecret(false);
  await insertKey(sql, { id: makeUuid(Date.now()), workspaceId, name: "k", permission: "full", secret, test: false });
  const [log, metrics, safeHeaders] = [silentLog(), createMetrics(), createSafeHeaders()];
  const bodies = createBodyMemory(bodyMemoryBytes);
  const router: RouterDeps = {
    log,
    metrics,
    maxBodyBytes,
    shutdown: new AbortController().signal,
    authenticator: createAuthenticator({ sql, log }),
    callLimit: createCallLimit({ perSecond: 1e6, burst: 1e6 }),
    calls: createCallShares(),
    answers,
    loop,
    refusals: createRefusalPace(() => {}),
  };
  const handle = createDispatch({
    log,
    metrics,
    bodies,
    loop,
    maxBodyBytes,
    corsOrigins: [],
    streamStallMs: 60_000,
    safeHeaders,
    trustedProxies: [],
    rpcs: createRouter(router, services),
    unaryCalls: createUnaryCalls({ ...router, bodies, safeHeaders, trustedProxies: [] }, services),
    pages: new Map(),
    files: () => {},
    ...options.dispatch,
  });
  const http = createHttp({ host: "127.0.0.1", port: 0, log, metrics, handle });
  const { port } = await http.start();
  return {
    url: `http://127.0.0.1:${port}`,
    port,
    workspaceId,
    authorization: `Bearer ${secret}`,
    bodies,
    async stop() {
      await http.stop(0);
      await database.drop();
    },
  };
}
