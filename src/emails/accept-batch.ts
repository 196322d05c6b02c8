/** Accepts many emails in one call and one commit, for accept.ts. An invalid email gets its own error; the others are stored. */

import { findSendingDomains } from "../domains/store/sending.ts";
import type { ContentStore } from "../objects/content-store.ts";
import { Problem, type Violation } from "../ops/problem.ts";
import type { Sql } from "../postgres/pool.ts";
import type { Wake } from "../postgres/wake.ts";
import type { QuotaDefaults } from "../quotas/rules/limits.ts";
import { createUsageSlots } from "../quotas/store/sending.ts";
import { wakeLanes } from "./lane.ts";
import { domainRefused } from "./rules/check.ts";
import { checkIdempotencyKey, hashOfBatch, idempotencyKeptForMs, idempotencyKeyReused } from "./rules/idempotency.ts";
import type { AcceptOptions, SendRequest, Submitter } from "./rules/request.ts";
import { storeBatch } from "./store/batches.ts";
import type { NewEmail } from "./store/emails.ts";

/** Options for preparing one email of a call. */
export type PrepareOptions = { idempotencyKey?: string; unknownFields?: () => readonly string[] };

/** The result for one request: the stored email, or why it was rejected. */
export type BatchResult =
  | { id: string; messageId: string }
  | { error: { code: string; message: string; violations: readonly Violation[] } };

export type AcceptBatch = (
  requests: readonly SendRequest[],
  submitter: Submitter,
  options: AcceptOptions,
) => Promise<BatchResult[]>;

export type BatchDeps = {
  sql: Sql;
  contents: ContentStore | undefined;
  wake: Wake;
  quotas: QuotaDefaults;
  prepare(request: SendRequest, submitter: Submitter, options: PrepareOptions): Promise<NewEmail>;
};

export function createAcceptBatch(deps: BatchDeps): AcceptBatch {
  const nextSlot = createUsageSlots();
  return async (requests, submitter, options) => {
    const key = options.idempotencyKey;
    checkIdempotencyKey(key);
    const prepared = await Promise.all(
      requests.map((request, i) =>
        prepare(request, submitter, { unknownFields: () => options.unknownFields?.(i) ?? [] }),
      ),
    );
    const judged = await judgeDomains(submitter.workspaceId, prepared);
    const rows = judged.flatMap(({ row }) => row ?? []);
    const results = judged.map(({ result }) => result);
    const idempotency =
      key === undefined ? undefined : { key, requestHash: hashOfBatch(requests), keptForMs: idempotencyKeptForMs };
    options.beginWrite();
    const first = await storeBatch(deps.sql, {
      workspaceId: submitter.workspaceId,
      emails: rows,
      answer: results,
      idempotency,
      quotas: deps.quotas,
      slot: nextSlot(),
      contents: deps.contents,
    });
    if (first) {
      if (first.requestHash !== idempotency?.requestHash) throw idempotencyKeyReused();
      return first.answer as BatchResult[];
    }
    wakeLanes(deps.wake, rows);
    return results;
  };

  async function prepare(
    request: SendRequest,
    submitter: Submitter,
    options: PrepareOptions,
  ): Promise<NewEmail | Problem> {
    try {
      const row = await deps.prepare(request, submitter, options);
      rejectNul(row);
      return row;
    } catch (error) {
      if (error instanceof Problem) return error;
      throw error;
    }
  }

  async function judgeDomains(workspaceId: string, prepared: readonly (NewEmail | Problem)[]): Promise<Judged[]> {
    const names = new Set(prepared.flatMap((one) => (one instanceof Problem ? [] : one.domain)));
    const domains = await findSendingDomains(deps.sql, workspaceId, [...names]);
    return prepared.map((one) => {
      if (one instanceof Problem) return rejected(one);
      const domain = domains.get(one.domain);
      if (!domain?.canSend) return rejected(domainRefused(one.domain, domain));
      return { row: one, result: { id: one.id, messageId: one.messageId } };
    });
  }
}

type Judged = { row?: NewEmail; result: BatchResult };

function rejected({ code, message, violations }: Problem): Judged {
  return { result: { error: { code, message, violations } } };
}

/** PostgreSQL would reject the whole batch because of one NUL. Part 0 is JSON, in which NUL is escaped. */
function rejectNul({ parts: [texts], parts: _, ...row }: NewEmail): void {
  const json = typeof texts === "object" && "bytes" in texts ? texts.bytes : String(texts);
  if (!JSON.stringify(row).includes("\\u0000") && !json.includes("\\u0000")) return;
  const violations = [{ field: "(request)", description: "contains a NUL character; remove it" }];
  throw new Problem("invalid_argument", "The email contains a NUL character.", { violations });
}
