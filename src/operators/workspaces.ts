/** What operators do with workspaces: list, suspend, resume and delete them and set their quotas. Each change is one transaction with its
 * entry in the audit log. Called by OperatorService and by posthorn workspaces. */
import { type Actor, record } from "../audit/record.ts";
import { Problem } from "../ops/problem.ts";
import { retrying, type Sql } from "../postgres/pool.ts";
import { resumptionNotice, suspensionNotice } from "../quotas/notice-text.ts";
import type { Limit, QuotaKind } from "../quotas/rules/limits.ts";
import { resume, setQuota, suspend } from "../quotas/store/standing.ts";
import { readUsage, type WorkspaceUsage } from "../quotas/store/usage.ts";
import { firstWorkspace } from "../workspaces/store/first.ts";
import { beginDeletion } from "./store/deletion.ts";
import { type ListedWorkspace, listIds, readListed, type WorkspacesFilter } from "./store/workspaces.ts";

export type WorkspaceEntry = WorkspaceUsage & ListedWorkspace;
export type Target = Pick<WorkspaceUsage, "id" | "name" | "suspendedAt" | "deletingAt">;
export type QuotaChanges = Partial<Record<QuotaKind, Limit | undefined>>;
type Change = { workspace: Target; actor: Actor };

export const defaultReason = "The operator suspended this workspace.";
export const longestReason = 500;

/** One more than the page holds, so that the caller can see whether there is a next page. */
export async function listWorkspaceEntries(
  sql: Sql,
  filter: WorkspacesFilter,
  page: { before: string | undefined; limit: number },
): Promise<WorkspaceEntry[]> {
  const ids = (await listIds(sql, filter, { ...page, limit: page.limit + 1 })).map(({ id }) => id);
  return (await readEntries(sql, ids)).sort((a, b) => (a.id < b.id ? 1 : -1));
}

export async function readEntry(sql: Sql, id: string): Promise<WorkspaceEntry | undefined> {
  return (await readEntries(sql, [id]))[0];
}

async function readEntries(sql: Sql, ids: readonly string[]): Promise<WorkspaceEntry[]> {
  const listed = new Map((await readListed(sql, ids)).map((row) => [row.id, row]));
  return (await readUsage(sql, ids)).flatMap((usage) => {
    const row = listed.get(usage.id);
    return row ? [{ ...usage, ...row }] : [];
  });
}

export async function suspendWorkspace(
  sql: Sql,
  { workspace, actor, reason, nowMs }: Change & { reason: string; nowMs: number },
): Promise<void> {
  requireKept(workspace);
  const { id, name } = workspace;
  const notice = suspensionNotice({ workspaceId: id, name }, reason, undefined, nowMs);
  await sql.begin(async (tx) => {
    if (!(await suspend(tx, { notice, reason, automatic: false })))
      throw new Problem(
        "failed_precondition",
        `${name} is suspended already. Resume it with: posthorn workspaces resume`,
      );
    await record(tx, actor, { action: "workspace.suspended", workspaceId: id });
  });
}

export async function resumeWorkspace(
  sql: Sql,
  { workspace, actor, nowMs }: Change & { nowMs: number },
): Promise<void> {
  requireKept(workspace);
  const { id, name } = workspace;
  const notice = resumptionNotice({ workspaceId: id, name }, workspace.suspendedAt ?? undefined, nowMs);
  await sql.begin(async (tx) => {
    if (!(await resume(tx, notice))) throw new Problem("failed_precondition", `${name} is not suspended.`);
    await record(tx, actor, { action: "workspace.resumed", workspaceId: id });
  });
}

export async function changeQuotas(
  sql: Sql,
  { workspace, actor, changes }: Change & { changes: QuotaChanges },
): Promise<void> {
  requireKept(workspace);
  await sql.begin(async (tx) => {
    await setQuota(tx, workspace.id, changes);
    const fields = Object.keys(changes);
    await record(tx, actor, { action: "workspace.quota_changed", workspaceId: workspace.id, fields });
  });
}

/** A provider of single sign-on whose people join a workspace. */
export type ProviderWorkspace = { label: string; workspaceId?: string; workspaceSetting: string };

/** Takes the workspace out of service; deletion.ts deletes its rows. False: the deletion has begun before. After a deadlock, the
 * transaction is repeated; tests of the order of locks allow one try. */
export async function deleteWorkspace(
  sql: Sql,
  { workspace, actor, providers, tries }: Change & { providers: readonly ProviderWorkspace[]; tries?: number },
): Promise<boolean> {
  const { id } = workspace;
  const provider = providers.find((one) => one.workspaceId === id);
  // The next start would fail, because the settings name a workspace that does not exist.
  if (provider)
    throw new Problem(
      "failed_precondition",
      `People who sign in with ${provider.label} join ${workspace.name}. Change ${provider.workspaceSetting} and restart first.`,
    );
  const begin = async (tx: Sql) => {
    if ((await firstWorkspace(tx)) === id)
      throw new Problem(
        "failed_precondition",
        `${workspace.name} is the first workspace: the service sends its own mail, such as sign-up and password links, from its domain. It cannot be deleted. Delete its domains, keys and webhooks instead, and remove its members.`,
      );
    const began = await beginDeletion(tx, id);
    if (began) await record(tx, actor, { action: "workspace.deleted", workspaceId: id });
    return began;
  };
  return await retrying(() => sql.begin(begin), tries);
}

function requireKept({ name, deletingAt }: Target): void {
  if (deletingAt) throw new Problem("failed_precondition", `${name} is being deleted.`);
}
