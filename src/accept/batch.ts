/** Many emails in one call and one commit. A bad one is refused in its own place and keeps no other out. */
import { Problem, type Violation } from "../rules/problem.ts";
import type { Sql } from "../store/db.ts";
import { storeBatch } from "../store/email-batches.ts";
import type { NewEmail } from "../store/emails.ts";
import { findSendingDomains } from "../store/sending-domains.ts";
import type { Wake } from "../store/wake.ts";
import type { AcceptOptions, Prepare, Sender } from "./accept.ts";
import { domainRefused } from "./domain.ts";
import { checkKey, hashOfBatch, keyKeptForMs, keyUsed } from "./idempotency.ts";
import { tellMail } from "./lanes.ts";
import type { SendRequest } from "./request.ts";

/** In place of one request: the email that was stored, or why it was refused. */
export type BatchResult =
  | { id: string; messageId: string }
  | { error: { code: string; message: string; violations: readonly Violation[] } };

export type AcceptBatch = (
  requests: readonly SendRequest[],
  sender: Sender,
  options: AcceptOptions,
) => Promise<BatchResult[]>;

export type BatchDeps = {
  sql: Sql;
  wake: Wake;
  prepare(request: SendRequest, sender: Sender, options: Prepare): Promise<NewEmail>;
};

export function createAcceptBatch(deps: BatchDeps): AcceptBatch {
  return async (requests, sender, options) => {
    const key = options.idempotencyKey;
    checkKey(key);
    const read = await Promise.all(
      requests.map((request, i) => prepare(request, sender, { unknownFields: () => options.unknownFields?.(i) ?? [] })),
    );
    const judged = await judgeDomains(sender.workspaceId, read);
    const rows = judged.flatMap(({ row }) => row ?? []);
    const results = judged.map(({ result }) => result);
    const idempotency =
      key === undefined ? undefined : { key, requestHash: hashOfBatch(requests), keptForMs: keyKeptForMs };
    options.beginWrite();
    const first = await storeBatch(deps.sql, {
      workspaceId: sender.workspaceId,
      emails: rows,
      answer: results,
      idempotency,
    });
    if (first) {
      if (first.requestHash !== idempotency?.requestHash) throw keyUsed();
      return first.answer as BatchResult[];
    }
    tellMail(deps.wake, rows);
    return results;
  };

  async function prepare(request: SendRequest, sender: Sender, options: Prepare): Promise<NewEmail | Problem> {
    try {
      const row = await deps.prepare(request, sender, options);
      refuseNul(row);
      return row;
    } catch (error) {
      if (error instanceof Problem) return error;
      throw error;
    }
  }

  async function judgeDomains(workspaceId: string, read: readonly (NewEmail | Problem)[]): Promise<Judged[]> {
    const names = new Set(read.flatMap((one) => (one instanceof Problem ? [] : one.domain)));
    const domains = await findSendingDomains(deps.sql, workspaceId, [...names]);
    return read.map((one) => {
      if (one instanceof Problem) return refused(one);
      const domain = domains.get(one.domain);
      if (!domain?.canSend) return refused(domainRefused(one.domain, domain));
      return { row: one, result: { id: one.id, messageId: one.messageId } };
    });
  }
}

type Judged = { row?: NewEmail; result: BatchResult };

function refused({ code, message, violations }: Problem): Judged {
  return { result: { error: { code, message, violations } } };
}

/** PostgreSQL would refuse the whole batch for it. Part 0 is JSON, in which it is escaped. */
function refuseNul({ parts, ...row }: NewEmail): void {
  if (!JSON.stringify(row).includes("\\u0000") && !parts[0]!.includes("\\u0000")) return;
  const violations = [{ field: "(request)", description: "holds a NUL character, which no text may" }];
  throw new Problem("invalid_argument", "The email holds a NUL character.", { violations });
}
