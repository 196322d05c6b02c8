/** The wording of the audit log: what each action means, and the nouns to filter by. */
import { AuditActor } from "../../../src/gen/v1/audit_pb.ts";

/** Completes a sentence that starts with who acted. */
const actions: Record<string, string> = {
  "account.linked": "linked a sign-in provider",
  "account.unlinked": "unlinked a sign-in provider",
  "domain.added": "added a domain",
  "domain.deleted": "deleted a domain",
  "domain.dkim_rotated": "replaced the DKIM key of a domain",
  "domain.dkim_key_imported": "imported a DKIM key",
  "domain.dkim_key_exported": "exported the private key of a DKIM key",
  "domain.dkim_key_removed": "removed an imported DKIM key",
  "domain.shared": "shared the DNS records of a domain",
  "domain.unshared": "revoked a link to the DNS records of a domain",
  "domain.published": "published the records of a domain to the local DNS",
  "email.canceled": "canceled an email",
  "email.rescheduled": "rescheduled an email",
  "factor.added": "added a second factor",
  "factor.removed": "removed a second factor",
  "factor.updated": "renamed a passkey",
  "confirmation.refused": "failed to confirm their identity",
  "key.created": "created an API key",
  "key.revoked": "revoked an API key",
  "key.rotated": "rotated an API key",
  "key.updated": "changed an API key",
  "log.cut": "recorded that the end of the event log was lost",
  "member.invited": "invited a member",
  "member.joined": "joined the workspace",
  "member.removed": "removed a member",
  "member.updated": "changed the role of a member",
  "operator.added": "made a person an operator",
  "operator.removed": "removed operator rights from a person",
  "password.changed": "changed the password",
  "password.reset": "reset the password",
  "password.reset_requested": "requested a password reset",
  "person.exported": "exported the data of a person",
  "person.reset_link_created": "created a password reset link",
  "person.signed_up": "signed up",
  "person.deleted": "deleted a person",
  "person.disabled": "disabled a person",
  "person.enabled": "enabled a person",
  "queue.paused": "paused a destination",
  "queue.purged": "purged queued mail",
  "queue.resumed": "resumed a destination",
  "queue.retried": "retried mail to a destination",
  "recovery_codes.replaced": "created new recovery codes",
  "secret.replaced": "replaced the secret of the service",
  "secret.revoked": "invalidated everything signed with the previous secret",
  "session.confirmed": "confirmed their identity",
  "session.ended": "ended a session",
  "session.opened": "signed in",
  "sign_in.refused": "failed to sign in",
  "stats.settings_changed": "changed statistics and alert settings",
  "suppression.added": "suppressed an address",
  "suppression.imported": "imported suppressed addresses",
  "suppression.removed": "removed an address from the suppression list",
  "system_mail.unsuppressed": "let an address get mail of the service again",
  "unsubscribe.added": "unsubscribed an address from a topic",
  "unsubscribe.removed": "undid an unsubscription",
  "webhook.created": "created a webhook",
  "webhook.deleted": "deleted a webhook",
  "webhook.redelivered": "redelivered events to a webhook",
  "webhook.secret_rotated": "rotated the secret of a webhook",
  "webhook.updated": "changed a webhook",
  "workspace.created": "created the workspace",
  "workspace.deleted": "deleted the workspace",
  "workspace.erased": "finished deleting the data of the workspace",
  "workspace.exported": "exported the workspace",
  "workspace.quota_changed": "changed the quotas of the workspace",
  "workspace.resumed": "resumed the workspace",
  "workspace.suspended": "suspended the workspace",
  "workspace.updated": "changed the workspace",
};

/** A newer server may record actions that this page does not know. */
export function actionText(action: string): string {
  return actions[action] ?? action;
}

/** For the log of the whole service. */
export const serviceNouns: readonly { value: string; label: string }[] = [
  { value: "person", label: "People" },
  { value: "operator", label: "Operators" },
  { value: "session", label: "Sessions" },
  { value: "sign_in", label: "Refused sign-ins" },
  { value: "factor", label: "Second factors" },
  { value: "password", label: "Passwords" },
  { value: "account", label: "Linked providers" },
  { value: "secret", label: "Secret of the service" },
  { value: "system_mail", label: "System mail" },
];

export const nouns: readonly { value: string; label: string }[] = [
  { value: "key", label: "API keys" },
  { value: "member", label: "Members" },
  { value: "workspace", label: "Workspace" },
  { value: "domain", label: "Domains" },
  { value: "webhook", label: "Webhooks" },
  { value: "suppression", label: "Suppressions" },
  { value: "unsubscribe", label: "Unsubscriptions" },
  { value: "queue", label: "Queue" },
  { value: "email", label: "Emails" },
];

/** The noun of an action, for its badge. */
export function nounText(action: string): string {
  const noun = (action.split(".")[0] ?? "").replaceAll("_", " ");
  if (noun === "key") return "API key";
  return noun === "sign in" ? "Sign-in" : noun.charAt(0).toUpperCase() + noun.slice(1);
}

const actors: Partial<Record<AuditActor, string>> = {
  [AuditActor.COMMAND]: "The operator, on the command line",
  [AuditActor.SERVICE]: "Posthorn",
  [AuditActor.STRANGER]: "A client that was not signed in",
  [AuditActor.PERSON]: "A former member",
  [AuditActor.KEY]: "A deleted key",
};

export function actorText({ actor, actorName }: { actor: AuditActor; actorName: string }): string {
  if (actorName === "") return actors[actor] ?? "Unknown";
  return actor === AuditActor.KEY ? `Key “${actorName}”` : actorName;
}
