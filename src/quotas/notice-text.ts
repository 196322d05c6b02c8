/** The events and mails about quotas, warnings and suspensions. Used by quotas.ts, brake-loop.ts and the commands. */
import { makeUuid } from "../postgres/ids.ts";
import type { Warning } from "./rules/brake.ts";
import { kindNames, type QuotaKind, windowAt } from "./rules/limits.ts";
import type { Notice, QuotaNotice } from "./store/notices.ts";
import type { WorkspaceUsage } from "./store/usage.ts";

type Subject = { workspaceId: string; name: string };

/** The names of the contract, in which events store their payload. */
export const kindOnWire = Object.fromEntries(
  Object.keys(kindNames).map((kind) => [
    kind,
    `QUOTA_KIND_${kind.replace(/[A-Z]/g, (letter) => `_${letter}`).toUpperCase()}`,
  ]),
) as Record<QuotaKind, string>;

export function quotaNotice(
  usage: WorkspaceUsage,
  { kind, percent, limit }: { kind: QuotaKind; percent: number; limit: number },
  nowMs: number,
): QuotaNotice {
  const window = windowAt(kind, usage.serviceMs);
  const resetsAt = window && new Date(window.endMs + usage.lagMs).toISOString();
  const used = usage.used[kind];
  const what = `${limit} ${kindNames[kind]}`;
  const subject =
    percent >= 100
      ? `${usage.name}: the quota of ${what} is used up`
      : `${usage.name}: ${percent} % of the quota of ${what} is used`;
  return {
    eventId: makeUuid(nowMs),
    workspaceId: usage.id,
    type: "workspace.quota",
    payload: { kind: kindOnWire[kind], percent, limit, used, resetsAt },
    mail: {
      subject: oneLine(subject),
      body: [
        `Workspace: ${oneLine(usage.name)}`,
        `Quota: ${what}`,
        `Used: ${used}`,
        ...(resetsAt ? [`The count starts again at ${resetsAt}.`] : []),
        "",
        percent >= 100
          ? `More is refused${resetsAt ? " until then" : ""}. Ask the operator of this service if you need more.`
          : "At 100 %, more is refused.",
        "",
      ].join("\n"),
    },
    kind,
    percent,
    windowStartMs: window?.startMs ?? usage.serviceMs,
    hasWindow: window !== undefined,
  };
}

export function suspensionNotice(
  workspace: Subject,
  reason: string,
  warning: Warning | undefined,
  nowMs: number,
): Notice {
  return {
    eventId: makeUuid(nowMs),
    workspaceId: workspace.workspaceId,
    type: "workspace.suspended",
    payload: warning ? { reason, warning } : { reason },
    mail: {
      subject: oneLine(`${workspace.name} is suspended and cannot send`),
      body: `Workspace: ${oneLine(workspace.name)}\nReason: ${reason}\n\nNew emails are refused. Queued mail waits and is sent after the workspace is resumed.\nAsk the operator of this service to resume it.\n`,
    },
  };
}

export function resumptionNotice(workspace: Subject, suspendedAt: Date | undefined, nowMs: number): Notice {
  return {
    eventId: makeUuid(nowMs),
    workspaceId: workspace.workspaceId,
    type: "workspace.resumed",
    payload: { suspendedAt: suspendedAt?.toISOString() },
    mail: {
      subject: oneLine(`${workspace.name} can send again`),
      body: `Workspace: ${oneLine(workspace.name)}\n\nThe workspace is resumed. Queued mail is being sent.\n`,
    },
  };
}

export function warningNotice(workspace: Subject, warning: Warning, nowMs: number): Notice {
  return {
    eventId: makeUuid(nowMs),
    workspaceId: workspace.workspaceId,
    type: "workspace.warning",
    payload: { warning },
    mail: {
      subject: oneLine(`${workspace.name}: too many ${warning.figure}`),
      body: `Workspace: ${oneLine(workspace.name)}\n${warning.message}\n\nReceivers may reject your mail. Send only to people who expect it, and remove addresses that bounce.\n`,
    },
  };
}

/** Names of workspaces may contain anything that a person types. */
function oneLine(text: string): string {
  return text.replace(/\s+/g, " ");
}
