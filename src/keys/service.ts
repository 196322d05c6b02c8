/** `keys` holds the API keys of workspaces. This file is KeyService: it creates, lists and revokes keys of the caller's workspace.
 * Parts: authenticate.ts identifies the caller of a call by its key, and store.ts has the SQL, the format and the hash of keys.
 * Next: authenticate.ts, then http/gate.ts, which calls it for every API call. */
import { timestampFromDate } from "@bufbuild/protobuf/wkt";
import { KeyService } from "../gen/v1/key_pb.ts";
import { KeyPermission } from "../gen/v1/options_pb.ts";
import { serve } from "../http/call.ts";
import { permissionOnWire } from "../http/gate.ts";
import { cutPage, keysetPage } from "../http/paging.ts";
import type { Clock } from "../ops/clock.ts";
import { invalid, notFound, Problem, type Violation } from "../ops/problem.ts";
import { fromWireId, makeUuid, toWireId } from "../postgres/ids.ts";
import type { Sql } from "../postgres/pool.ts";
import type { Quotas } from "../quotas/quotas.ts";
import { insertKey, type Key, listKeys, makeKeySecret, revokeKey, workspaceHasDomain } from "./store.ts";

const maxNameLength = 100;

export function createKeyService(deps: { sql: Sql; clock: Clock; quotas: Quotas }) {
  return serve(KeyService, {
    async createKey(request, call) {
      const permission = permissionFrom(request.permission);
      const name = request.name.trim();
      const domain = request.domain.trim().toLowerCase().replace(/\.$/, "");
      const problems: Violation[] = [];
      if (name === "" || name.length > maxNameLength) {
        problems.push({ field: "name", description: `must have 1 to ${maxNameLength} characters, has ${name.length}` });
      }
      if (/\p{Cc}/u.test(name)) problems.push({ field: "name", description: "must not contain control characters" });
      if (!permission) {
        problems.push({
          field: "permission",
          description: "must be KEY_PERMISSION_FULL, KEY_PERMISSION_SEND or KEY_PERMISSION_READ",
        });
      }
      if (domain !== "" && permission && permission !== "send") {
        problems.push({
          field: "domain",
          description: "is allowed only with KEY_PERMISSION_SEND; leave it out for other permissions",
        });
      }
      if (!permission || problems.length > 0) throw invalid(problems);
      if (domain !== "" && !(await workspaceHasDomain(deps.sql, call.caller.workspaceId, domain))) {
        throw new Problem(
          "failed_precondition",
          `${JSON.stringify(domain)} is not a domain of this workspace. Add it with AddDomain first.`,
        );
      }
      if (call.caller.test && !request.test) throw liveKeyByTestKey("create");
      const { secret } = makeKeySecret(request.test);
      call.beginWrite();
      const { workspaceId } = call.caller;
      const id = makeUuid(deps.clock.nowMs());
      const makerId = call.caller.person?.id ?? call.caller.keyMakerId;
      const added = {
        ...{ id, workspaceId, name, secret, permission, makerId },
        domain: domain || undefined,
        test: request.test,
      };
      const key = await deps.quotas.adding(workspaceId, "keys", (tx) => insertKey(tx, added));
      return { key: keyOnWire(key), secret };
    },

    async listKeys(request, call) {
      const page = keysetPage(request);
      const rows = await listKeys(deps.sql, {
        workspaceId: call.caller.workspaceId,
        before: page.before,
        limit: page.limit + 1,
      });
      const cut = cutPage(rows, page.limit);
      return { data: cut.rows.map(keyOnWire), nextPageToken: cut.nextPageToken };
    },

    async revokeKey(request, call) {
      if (request.id === "") throw invalid([{ field: "id", description: "is required: the id of a key, key_…" }]);
      const id = fromWireId("key", request.id);
      call.beginWrite();
      const key =
        id && (await revokeKey(deps.sql, { workspaceId: call.caller.workspaceId, id, testOnly: call.caller.test }));
      if (!key) throw notFound("key", request.id);
      if (key === "live key") throw liveKeyByTestKey("revoke");
      return {
        key: keyOnWire(key),
        message: `Key ${key.prefix}… revoked. Every call with it is rejected from now on.`,
      };
    },
  });
}

/** A test key sends nothing. If it could create a live key, everyone who has it could send. */
function liveKeyByTestKey(what: "create" | "revoke"): Problem {
  const fix =
    what === "create"
      ? "Set test to true, or create the key with a live key, in the dashboard or with: posthorn keys create"
      : "Use a live key with the permission full, the dashboard or: posthorn keys revoke";
  return new Problem("permission_denied", `A test key can ${what} only test keys. ${fix}`);
}

function keyOnWire(key: Key) {
  return {
    id: toWireId("key", key.id),
    name: key.name,
    prefix: key.prefix,
    permission: permissionOnWire[key.permission],
    domain: key.domain ?? "",
    test: key.test,
    createdAt: timestampFromDate(key.createdAt),
    lastUsedAt: key.lastUsedAt ? timestampFromDate(key.lastUsedAt) : undefined,
    revokedAt: key.revokedAt ? timestampFromDate(key.revokedAt) : undefined,
  };
}

function permissionFrom(value: KeyPermission): Key["permission"] | undefined {
  if (value === KeyPermission.FULL) return "full";
  if (value === KeyPermission.SEND) return "send";
  return value === KeyPermission.READ ? "read" : undefined;
}
