/** Labels and descriptions of the permissions and scopes of a key. */
import { KeyPermission, KeyScope } from "../../../src/gen/v1/options_pb.ts";
import type { Tone } from "../parts/outcome.tsx";

/** The key of this setting keeps its name, and is replaced by changing the setting. */
export const configuredKeyName = "POSTHORN_API_KEY";

export interface Permission {
  value: KeyPermission;
  name: string;
  tone: Tone;
  meaning: string;
}

/** From the lowest to the highest. The first is the default for a new key. */
export const permissions: readonly [Permission, ...Permission[]] = [
  {
    value: KeyPermission.SEND,
    name: "Send",
    tone: "queued",
    meaning: "Can send email and read the status of emails that it sent. For programs that send.",
  },
  {
    value: KeyPermission.READ,
    name: "Read",
    tone: "queued",
    meaning: "Can read everything except message content. For monitoring and reports.",
  },
  {
    value: KeyPermission.FULL,
    name: "Full",
    tone: "gold",
    meaning: "Full access to this workspace, including message content and keys. For administration.",
  },
  {
    value: KeyPermission.UNSPECIFIED,
    name: "Scopes",
    tone: "queued",
    meaning: "Only the services that you select.",
  },
];

/** A newer server may return permissions that this page does not know. */
export function permissionOf(value: KeyPermission): Permission {
  return (
    permissions.find((one) => one.value === value) ?? {
      value,
      name: `Permission ${value}`,
      tone: "queued",
      meaning: "",
    }
  );
}

export const scopes: readonly { value: KeyScope; name: string; meaning: string }[] = [
  { value: KeyScope.SEND, name: "Send", meaning: "Send email and read the status of emails that it sent." },
  { value: KeyScope.EMAILS, name: "Emails", meaning: "Read all emails with their content, and cancel them." },
  { value: KeyScope.EVENTS, name: "Events", meaning: "Read and stream events." },
  { value: KeyScope.INBOUND, name: "Inbound", meaning: "Read inbound mail with its content." },
  { value: KeyScope.DOMAINS, name: "Domains", meaning: "Add, check and delete domains." },
  { value: KeyScope.WEBHOOKS, name: "Webhooks", meaning: "Manage webhooks, which receive every event." },
  { value: KeyScope.SUPPRESSIONS, name: "Suppressions", meaning: "Read and change the suppression list." },
  { value: KeyScope.STATS, name: "Statistics", meaning: "Read statistics." },
  { value: KeyScope.AUDIT, name: "Audit log", meaning: "Read the audit log." },
  { value: KeyScope.MANAGE, name: "Manage", meaning: "Manage keys and the queue, and read the workspace." },
];

export function scopeName(value: KeyScope): string {
  return scopes.find((one) => one.value === value)?.name ?? `Scope ${value}`;
}
