/** Answers what a link shows of a domain: its records, what DNS has, and the provider. Strangers call it, so it is limited by address and
 * tells nothing else. Called by http/dispatch.ts for POST /shared/domain. */
import { Code } from "@connectrpc/connect";
import { codeToHttpStatus } from "@connectrpc/connect/protocol-connect";
import { clientAddress } from "../http/client-address.ts";
import type { PageHandler } from "../http/dispatch.ts";
import { codeName, toConnectError } from "../http/errors.ts";
import { readSmallJson } from "../http/read-json.ts";
import type { Response } from "../http/server.ts";
import type { Log } from "../ops/log.ts";
import { hashToken } from "../ops/one-time-token.ts";
import { Problem } from "../ops/problem.ts";
import type { Sql } from "../postgres/pool.ts";
import { networksOf } from "../shares/address.ts";
import { createTokenBuckets } from "../shares/token-bucket.ts";
import type { DomainRow } from "./store/domains.ts";
import { listImportedKeys } from "./store/imported-keys.ts";
import { findSharedDomain, noteView } from "./store/links.ts";
import { judgedKeyRecord, sharedDomainJson } from "./wire.ts";

export type SharedPageDeps = {
  sql: Sql;
  log: Log;
  zone: string;
  publicUrl: string | undefined;
  trustedProxies: readonly string[];
  checker: {
    /** Checks the domain soon, unless a check is recent. */
    look(row: DomainRow): void;
  };
};

/** An open page asks every 5 seconds; several people behind one address may have it open. */
const viewRate = { burst: 60, periodMs: 500, maxKeys: 20_000 };

export function sharedDomainPage(deps: SharedPageDeps): PageHandler {
  const views = createTokenBuckets(viewRate);

  async function show(token: string): Promise<object> {
    const found = /^[\w-]{20,100}$/.test(token) ? await findSharedDomain(deps.sql, hashToken(token)) : undefined;
    if (!found) throw unknownLink();
    deps.checker.look(found.row);
    await noteView(deps.sql, hashToken(token));
    const keys = await listImportedKeys(deps.sql, found.row.workspaceId, found.row.id);
    const keyRecords = keys.map((key) => judgedKeyRecord(found.row, key));
    return sharedDomainJson({ ...found, keyRecords }, deps) as object;
  }

  return async (request, response) => {
    if (request.method !== "POST") {
      response.setHeader("allow", "POST");
      return reply(response, 405, { code: "unimplemented", message: "Use POST." });
    }
    try {
      const { waitMs } = views.take(networksOf(clientAddress(request, deps.trustedProxies)).site, performance.now());
      if (waitMs > 0)
        throw new Problem("resource_exhausted", "Too many requests. Wait a moment.", { retryAfterMs: waitMs });
      const { token } = await readSmallJson(request);
      reply(response, 200, await show(typeof token === "string" ? token : ""));
    } catch (error) {
      const requestId = String(response.getHeader("x-request-id"));
      const failure = toConnectError(error, { log: deps.log, requestId, method: "shared" });
      for (const [key, value] of failure.metadata) response.setHeader(key, value);
      const status = failure.code === Code.Internal ? 500 : codeToHttpStatus(failure.code);
      reply(response, status, { code: codeName(failure), message: failure.rawMessage });
    }
  };
}

/** The same for every reason, so that a stranger learns nothing about links. */
function unknownLink(): Problem {
  return new Problem(
    "not_found",
    "This link does not work: it has expired, was revoked, or is incomplete. Ask for a new one.",
  );
}

function reply(response: Response, status: number, body: object): void {
  if (response.headersSent || response.destroyed) return;
  const text = `${JSON.stringify(body)}\n`;
  response.statusCode = status;
  response.setHeader("content-type", "application/json");
  response.setHeader("cache-control", "no-store");
  response.setHeader("content-length", Buffer.byteLength(text));
  response.end(text);
}
