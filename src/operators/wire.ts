/** Converts people, workspaces and system mail, as operators see them, to messages of the contract. Called by service.ts. */
import type { MessageInitShape } from "@bufbuild/protobuf";
import { timestampFromDate } from "@bufbuild/protobuf/wkt";
import type { UnknownWording } from "../delivery/store/wordings.ts";
import { outcomeOnWire } from "../emails/wire.ts";
import {
  type PersonEntrySchema,
  PersonState,
  type QuotaChange,
  type SystemMailSchema,
  type UnknownWordingSchema,
  WorkspaceState as WireState,
  type WorkspaceEntrySchema,
} from "../gen/v1/operator_pb.ts";
import { MemberRole } from "../gen/v1/workspace_pb.ts";
import type { Role } from "../http/caller.ts";
import { invalid, type Violation } from "../ops/problem.ts";
import { toWireId } from "../postgres/ids.ts";
import { type QuotaDefaults, quotaKinds } from "../quotas/rules/limits.ts";
import { quotaKindOnWire, quotasOnWire } from "../workspaces/wire.ts";
import type { PersonEntry } from "./store/people.ts";
import type { WorkspaceState } from "./store/workspaces.ts";
import type { SystemMailEntry } from "./system-mail.ts";
import type { QuotaChanges, WorkspaceEntry } from "./workspaces.ts";

const roleOnWire = {
  owner: MemberRole.OWNER,
  developer: MemberRole.DEVELOPER,
  viewer: MemberRole.VIEWER,
} as const satisfies Record<Role, MemberRole>;

export function personOnWire(person: PersonEntry): MessageInitShape<typeof PersonEntrySchema> {
  return {
    id: toWireId("person", person.id),
    email: person.email,
    name: person.name,
    state: person.disabledAt ? PersonState.DISABLED : PersonState.ACTIVE,
    isOperator: person.isOperator,
    createdAt: timestampFromDate(person.createdAt),
    lastSeenAt: person.lastSeenAt ? timestampFromDate(person.lastSeenAt) : undefined,
    disabledAt: person.disabledAt ? timestampFromDate(person.disabledAt) : undefined,
    workspaces: person.workspaces.map(({ id, name, role }) => ({
      id: toWireId("workspace", id),
      name,
      role: roleOnWire[role],
    })),
    workspaceCount: person.workspaceCount,
    validKeys: person.validKeys,
  };
}

export function wordingOnWire(wording: UnknownWording): MessageInitShape<typeof UnknownWordingSchema> {
  const { site, phase, code, enhanced, shape, category, replies, firstAt, lastAt } = wording;
  return {
    site,
    phase,
    code,
    enhancedCode: enhanced,
    shape,
    category: category.replaceAll("-", "_"),
    replies,
    firstAt: timestampFromDate(firstAt),
    lastAt: timestampFromDate(lastAt),
  };
}

export function systemMailOnWire(mail: SystemMailEntry): MessageInitShape<typeof SystemMailSchema> {
  return {
    id: toWireId("email", mail.id),
    createdAt: timestampFromDate(mail.createdAt),
    to: mail.to,
    subject: mail.subject,
    outcome: outcomeOnWire[mail.outcome],
    statusMessage: mail.statusMessage,
    suppressed: mail.isSuppressed,
    replies: mail.replies.map((reply) => ({ ...reply, receivedAt: timestampFromDate(reply.receivedAt) })),
  };
}

/** Undefined: people in every state. */
export function disabledFrom(state: PersonState): boolean | undefined {
  if (state === PersonState.UNSPECIFIED) return undefined;
  if (state !== PersonState.ACTIVE && state !== PersonState.DISABLED) throw invalid([unknownState]);
  return state === PersonState.DISABLED;
}

const stateOnWire = {
  active: WireState.ACTIVE,
  suspended: WireState.SUSPENDED,
  deleting: WireState.DELETING,
} as const satisfies Record<WorkspaceState, WireState>;

/** Undefined: workspaces in every state. */
export function stateFrom(state: WireState): WorkspaceState | undefined {
  if (state === WireState.UNSPECIFIED) return undefined;
  const found = (Object.keys(stateOnWire) as WorkspaceState[]).find((name) => stateOnWire[name] === state);
  if (!found) throw invalid([unknownState]);
  return found;
}

const unknownState: Violation = { field: "state", description: "is not a state of the contract; leave it out for all" };

export function workspaceOnWire(
  workspace: WorkspaceEntry,
  defaults: QuotaDefaults,
): MessageInitShape<typeof WorkspaceEntrySchema> {
  const { suspendedAt, deletingAt } = workspace;
  const { quotas, suspension, warning } = quotasOnWire(workspace, defaults);
  return {
    id: toWireId("workspace", workspace.id),
    name: workspace.name,
    state: stateOnWire[deletingAt ? "deleting" : suspendedAt ? "suspended" : "active"],
    createdAt: timestampFromDate(workspace.createdAt),
    fromSignUp: workspace.fromSignUp,
    isFirst: workspace.isFirst,
    owners: workspace.owners,
    quotas,
    suspension,
    warning,
    ownQuotas: quotaKinds.filter((kind) => workspace.quota[kind] !== undefined).map((kind) => quotaKindOnWire[kind]),
    deletingAt: deletingAt ? timestampFromDate(deletingAt) : undefined,
  };
}

/** Throws one Problem that lists everything wrong with the changes. */
export function changesFrom(quotas: readonly QuotaChange[]): QuotaChanges {
  const changes: QuotaChanges = {};
  const problems: Violation[] = quotas.length === 0 ? [{ field: "quotas", description: "is required" }] : [];
  for (const [i, { kind: wireKind, change }] of quotas.entries()) {
    const kind = quotaKinds.find((name) => quotaKindOnWire[name] === wireKind);
    const field = `quotas[${i}]`;
    if (!kind) problems.push({ field: `${field}.kind`, description: "must be a kind of quota" });
    else if (kind in changes) problems.push({ field: `${field}.kind`, description: "is named a second time" });
    else if (change.case === "limit" && !isLimit(change.value))
      problems.push({ field: `${field}.limit`, description: "must be a whole number from 0 to 999999999999999" });
    else if (change.case === undefined || !change.value) {
      if (change.case === "limit") changes[kind] = 0;
      else problems.push({ field, description: "needs a limit, or unlimited or useDefault with the value true" });
    } else changes[kind] = change.case === "limit" ? change.value : change.case === "unlimited" ? null : undefined;
  }
  if (problems.length > 0) throw invalid(problems);
  return changes;
}

function isLimit(value: number): boolean {
  return Number.isInteger(value) && value >= 0 && value < 1e15;
}
