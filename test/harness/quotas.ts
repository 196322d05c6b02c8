/** Helpers for tests of quotas: the quotas of a workspace as the API shows them, the operator's commands, and the details of refusals. */
import PostalMime, { type Email } from "postal-mime";
import { setQuota } from "../../src/quotas/store/standing.ts";
import { runCommand } from "./program.ts";
import { addSendingDomain, type Testbed } from "./testbed.ts";
import { until } from "./wait.ts";
import { makeWorkspace } from "./workspaces.ts";

export type ShownQuota = { limit: number | undefined; used: number; resetsAt: string | undefined };
export type ShownStanding = {
  quotas: Record<string, ShownQuota>;
  suspension?: { reason: string; suspendedAt: string };
  warning?: { figure: string; count: number; recipients: number; message: string };
};

export async function getQuotas(testbed: Testbed, key?: string): Promise<ShownStanding> {
  const { status, body } = await testbed.call("WorkspaceService/GetQuotas", {}, key === undefined ? {} : { key });
  if (status !== 200) throw new Error(`GetQuotas: ${JSON.stringify(body)}`);
  const { quotas, ...rest } = body as { quotas: { kind: string; limit?: number; used?: number; resetsAt?: string }[] };
  const shown = quotas.map(({ kind, limit, used, resetsAt }): [string, ShownQuota] => [
    kind.replace("QUOTA_KIND_", "").toLowerCase(),
    { limit, used: used ?? 0, resetsAt },
  ]);
  return { ...rest, quotas: Object.fromEntries(shown) };
}

/** Sets quotas of a workspace by its name, as `posthorn workspaces quota` does, without the time that a command takes to start. */
export async function limit(testbed: Testbed, name: string, changes: Parameters<typeof setQuota>[2]): Promise<void> {
  const { sql } = testbed.database;
  const [row] = await sql<{ id: string }[]>`select id from workspaces where name = ${name}`;
  await setQuota(sql, row!.id, changes);
}

/** Runs a command on the testbed's database. Fails unless it succeeds. */
export async function operate(testbed: Testbed, ...args: string[]): Promise<string> {
  const { code, stdout, stderr } = await tryOperate(testbed, ...args);
  if (code !== 0) throw new Error(`posthorn ${args.join(" ")}: ${stderr}`);
  return stdout;
}

export async function tryOperate(testbed: Testbed, ...args: string[]) {
  const { database, program, nodeEnv } = testbed;
  return await runCommand(args, { dataDir: program.dataDir, databaseUrl: database.url, env: nodeEnv });
}

/** Another workspace that can send from the domain, with a full key. */
export async function addTenant(
  testbed: Testbed,
  name: string,
  domain: string,
): Promise<{ key: string; workspaceId: string }> {
  const { sql } = testbed.database;
  const key = await makeWorkspace(sql, name);
  const [row] = await sql<{ id: string }[]>`select id from workspaces where name = ${name}`;
  await addSendingDomain(sql, row!.id, domain);
  return { key, workspaceId: row!.id };
}

type Detail = { type: string; debug?: { retryDelay?: string; reason?: string; metadata?: Record<string, string> } };

/** What a refusal says to programs. */
export function refusalOf(body: Record<string, unknown>) {
  const details = (body.details ?? []) as Detail[];
  const debug = details.map((detail) => detail.debug ?? {});
  return {
    code: body.code as string,
    message: body.message as string,
    reason: debug.find((one) => one.reason)?.reason,
    quota: debug.find((one) => one.metadata)?.metadata?.quota,
    retryDelay: debug.find((one) => one.retryDelay)?.retryDelay,
  };
}

/** Waits for a mail with this subject in the sink. */
export async function mailTo(testbed: Testbed, address: string, subject: RegExp): Promise<Email> {
  return await until(`a mail to ${address} with the subject ${subject}`, async () => {
    const mails = await Promise.all(testbed.sink.received(address).map(({ data }) => PostalMime.parse(data)));
    return mails.find((mail) => subject.test(mail.subject ?? ""));
  });
}
