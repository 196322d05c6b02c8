/** The mail of the service itself, as operators see it: never its content, because a link in it gives access to an account. Called by
 * OperatorService and by posthorn system-mail. */
import { type Actor, audited } from "../audit/record.ts";
import { type Outcome, outcomeOf } from "../emails/rules/outcome.ts";
import { type EmailFilter, listEmails } from "../emails/store/list.ts";
import { statusText } from "../emails/wire.ts";
import { Problem } from "../ops/problem.ts";
import type { Sql } from "../postgres/pool.ts";
import { removeSuppression } from "../suppressions/store.ts";
import { systemWorkspace } from "../workspaces/store/first.ts";
import { shownWords } from "./rules/shown-words.ts";
import { findSuppressed, readReplies, type SystemReply } from "./store/system-mail.ts";

export type SystemMailEntry = {
  id: string;
  createdAt: Date;
  to: string;
  subject: string;
  outcome: Outcome;
  statusMessage: string;
  isSuppressed: boolean;
  replies: Omit<SystemReply, "emailId">[];
};

export type SystemMailFilter = Pick<EmailFilter, "recipient" | "outcomes" | "search">;

/** `resumeBefore`: the list goes on after this id, although the page is not full. */
export async function listSystemMail(
  sql: Sql,
  filter: SystemMailFilter,
  page: { before?: string; limit: number },
): Promise<{ rows: SystemMailEntry[]; resumeBefore: string | undefined }> {
  const workspaceId = await systemWorkspace(sql);
  if (workspaceId === undefined) return { rows: [], resumeBefore: undefined };
  const { rows, resumeBefore } = await listEmails(sql, { ...filter, ...page, workspaceId });
  // Each has one recipient.
  const recipientOf = (row: (typeof rows)[number]) => row.envelope.to[0]?.address ?? "";
  const [replies, suppressed] = await Promise.all([
    readReplies(
      sql,
      workspaceId,
      rows.map(({ id }) => id),
    ),
    findSuppressed(sql, workspaceId, rows.map(recipientOf)),
  ]);
  const repliesTo = Map.groupBy(replies, ({ emailId }) => emailId);
  const entries = rows.map((row) => ({
    id: row.id,
    createdAt: row.createdAt,
    to: recipientOf(row),
    // A notice has the name of a workspace in it.
    subject: shownWords(row.subject),
    outcome: outcomeOf(row.counts),
    statusMessage: shownWords(statusText(row.status, row.statusMessage)),
    isSuppressed: suppressed.has(recipientOf(row)),
    replies: (repliesTo.get(row.id) ?? []).map(({ emailId: _, text, ...reply }) => ({
      ...reply,
      text: shownWords(text),
    })),
  }));
  return { rows: entries, resumeBefore };
}

/** A workspace removes addresses from its own list. That of system mail has no members, so operators do. Returns the address as it was
 * listed. */
export async function removeSystemSuppression(sql: Sql, address: string, actor: Actor): Promise<string> {
  const workspaceId = await systemWorkspace(sql);
  const removed = await audited(
    sql,
    actor,
    async (tx) => (workspaceId === undefined ? undefined : await removeSuppression(tx, workspaceId, address)),
    (listed) => (listed ? { action: "system_mail.unsuppressed" } : undefined),
  );
  if (!removed) throw new Problem("not_found", `${address} is not suppressed for mail of the service.`);
  return removed;
}
