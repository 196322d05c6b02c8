/** posthorn workspaces show, quota, suspend and resume: what a workspace uses, its limits, and whether it may send. On a running or a
 * stopped instance; running nodes read the changes with the next email. */
import { create, toJson } from "@bufbuild/protobuf";
import { commandLine } from "../../audit/record.ts";
import { GetQuotasResponseSchema } from "../../gen/v1/workspace_pb.ts";
import {
  changeQuotas,
  defaultReason,
  longestReason,
  type QuotaChanges,
  resumeWorkspace,
  suspendWorkspace,
} from "../../operators/workspaces.ts";
import { silentLog } from "../../ops/log.ts";
import { fromWireId, toWireId } from "../../postgres/ids.ts";
import type { Sql } from "../../postgres/pool.ts";
import { createWake, type Topic } from "../../postgres/wake.ts";
import { kindNames, limitsOf, type QuotaKind, quotaKinds } from "../../quotas/rules/limits.ts";
import { readUsage, type WorkspaceUsage } from "../../quotas/store/usage.ts";
import { findWorkspaceByName } from "../../workspaces/store.ts";
import { quotasOnWire } from "../../workspaces/wire.ts";
import { type Command, type Option, UsageError } from "../command.ts";
import type { Config } from "../config.ts";
import { table } from "../output.ts";
import { withStore } from "./with-store.ts";

const json: Option = { type: "boolean", help: "print JSON" };

const workspacesShow: Command = {
  name: "workspaces show",
  summary: "Show the quotas of a workspace, their usage, and whether it is suspended.",
  words: "ID|NAME",
  options: { json },
  async run({ words, options, config: read }) {
    const config = read();
    await withStore(config, async ({ sql }) => print(await find(sql, words), config, options.json === true));
  },
};

/** `--emails-per-hour` is emailsPerHour. */
const flagOf = (kind: QuotaKind) => kind.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);

const workspacesQuota: Command = {
  name: "workspaces quota",
  summary: "Set quotas of a workspace: a number, unlimited, or default for the setting. Other quotas do not change.",
  words: "ID|NAME",
  options: {
    ...Object.fromEntries(
      quotaKinds.map((kind): [string, Option] => [
        flagOf(kind),
        { type: "string", help: `most ${kindNames[kind]}: a number, unlimited or default` },
      ]),
    ),
    reset: { type: "boolean", help: "remove all quotas of this workspace, so that the settings apply" },
    json,
  },
  async run({ words, options, config: read }) {
    const config = read();
    const changes = readChanges(options);
    if (Object.keys(changes).length === 0)
      throw new UsageError(
        "Name a quota, for example --emails-per-hour 1000, or --reset. See also: posthorn workspaces show",
      );
    await withStore(config, async ({ sql }) => {
      const workspace = await find(sql, words);
      await changeQuotas(sql, { workspace, changes, actor: commandLine });
      print(await findById(sql, workspace.id), config, options.json === true);
    });
  },
};

function readChanges(options: Record<string, string | boolean | undefined>): QuotaChanges {
  const changes: QuotaChanges = {};
  if (options.reset) for (const kind of quotaKinds) changes[kind] = undefined;
  for (const kind of quotaKinds) {
    const text = options[flagOf(kind)];
    if (typeof text !== "string") continue;
    if (text === "unlimited") changes[kind] = null;
    else if (text === "default") changes[kind] = undefined;
    else if (/^\d{1,15}$/.test(text)) changes[kind] = Number(text);
    else throw new UsageError(`--${flagOf(kind)} must be a number, unlimited or default, not ${JSON.stringify(text)}`);
  }
  return changes;
}

const workspacesSuspend: Command = {
  name: "workspaces suspend",
  summary: "Stop a workspace from sending: new emails are refused, queued mail waits, everything else works.",
  words: "ID|NAME",
  options: {
    reason: { type: "string", help: "the reason that callers and owners see", value: defaultReason },
    json,
  },
  async run({ words, options, config: read }) {
    const config = read();
    const reason = String(options.reason ?? defaultReason).trim();
    if (reason === "" || reason.length > longestReason)
      throw new UsageError(`--reason must have 1 to ${longestReason} characters`);
    await withStore(config, async ({ sql, nowMs }) => {
      const workspace = await find(sql, words);
      const { id, name } = workspace;
      await suspendWorkspace(sql, { workspace, reason, nowMs: nowMs(), actor: commandLine });
      await notify(sql, ["events"]);
      finish(options, { id: toWireId("workspace", id), reason }, `${name} is suspended. Its queued mail waits.`);
    });
  },
};

const workspacesResume: Command = {
  name: "workspaces resume",
  summary: "Let a suspended workspace send again: its queued mail is sent, and the abuse brake resets its counts.",
  words: "ID|NAME",
  options: { json },
  async run({ words, options, config: read }) {
    await withStore(read(), async ({ sql, nowMs }) => {
      const workspace = await find(sql, words);
      const { id, name } = workspace;
      await resumeWorkspace(sql, { workspace, nowMs: nowMs(), actor: commandLine });
      await notify(sql, ["events", "mail"]);
      finish(options, { id: toWireId("workspace", id) }, `${name} can send again.`);
    });
  },
};

/** Running nodes also poll, so a lost wake-up only delays them. */
async function notify(sql: Sql, topics: readonly Topic[]): Promise<void> {
  const wake = createWake({ sql, log: silentLog() });
  for (const topic of topics) wake.notify(topic);
  await wake.stop();
}

/** By id, also a workspace that is being deleted; by name only with `withDeleting`. */
export async function find(
  sql: Sql,
  words: readonly string[],
  options?: { withDeleting: boolean },
): Promise<WorkspaceUsage> {
  const text = words.join(" ").trim();
  if (text === "") throw new UsageError("Name a workspace by its id or its name. See: posthorn workspaces list");
  const id = fromWireId("workspace", text);
  if (id) return await findById(sql, id);
  const found = await findWorkspaceByName(sql, text, options);
  if (found.length > 1)
    throw new UsageError(`Several workspaces are called ${JSON.stringify(text)}. Use the id: posthorn workspaces list`);
  if (found.length === 0) throw notFound(text);
  return await findById(sql, found[0]!.id);
}

async function findById(sql: Sql, id: string): Promise<WorkspaceUsage> {
  const [usage] = await readUsage(sql, [id]);
  if (!usage) throw notFound(toWireId("workspace", id));
  return usage;
}

function notFound(text: string): UsageError {
  return new UsageError(`There is no workspace ${JSON.stringify(text)}. See: posthorn workspaces list`);
}

function print(usage: WorkspaceUsage, config: Config, asJson: boolean): void {
  const id = toWireId("workspace", usage.id);
  if (asJson) {
    const wire = toJson(GetQuotasResponseSchema, create(GetQuotasResponseSchema, quotasOnWire(usage, config.quotas)));
    return void process.stdout.write(
      `${JSON.stringify({ id, name: usage.name, fromSignUp: usage.fromSignUp, ...(wire as object) })}\n`,
    );
  }
  const limits = limitsOf(usage, config.quotas);
  const rows = quotaKinds.map((kind) => [
    kindNames[kind],
    String(usage.used[kind]),
    String(limits[kind] ?? "unlimited"),
    usage.quota[kind] === undefined ? "setting" : "this workspace",
  ]);
  const lines = [
    `${usage.name}  ${stateOf(usage)}  (${id}${usage.fromSignUp ? ", from open sign-up" : ""})`,
    ...(usage.suspendedReason ? [`Reason: ${usage.suspendedReason}`] : []),
    ...(usage.warning ? [usage.warning.message] : []),
    "",
    table([["QUOTA", "USED", "LIMIT", "SET BY"], ...rows], ""),
  ];
  process.stdout.write(lines.join("\n"));
}

export function stateOf(usage: Pick<WorkspaceUsage, "suspendedAt" | "warning" | "deletingAt">): string {
  if (usage.deletingAt) return "deleting";
  if (usage.suspendedAt) return "suspended";
  return usage.warning ? "warned" : "active";
}

export function finish(options: Record<string, string | boolean | undefined>, answer: object, sentence: string): void {
  process.stdout.write(options.json ? `${JSON.stringify(answer)}\n` : `${sentence}\n`);
}

export const workspaceQuotas = [workspacesShow, workspacesQuota, workspacesSuspend, workspacesResume];
