/** Webhooks: where events are posted to, which of them, and how they are signed. Secrets lie sealed; the plain one is shown once. */
import { randomBytes } from "node:crypto";
import type { Sql } from "./db.ts";

export type Webhook = {
  workspaceId: string;
  id: string;
  url: string;
  /** Empty: all. */
  eventTypes: string[];
  description: string;
  failingSince: Date | null;
  disabledAt: Date | null;
  disabledReason: string | null;
  /** Set while the secret before the last rotation still signs. */
  previousSecretUntil: Date | null;
  createdAt: Date;
  updatedAt: Date;
};

/** What is needed to sign; the secrets as they are sealed, the newest first. */
export type WebhookSigner = { workspaceId: string; id: string; url: string; sealedSecrets: string[] };

export const maxWebhooks = 50;

/** 32 random bytes in base64, behind a prefix by which people and scanners know a secret when they see one. */
export function makeSigningSecret(): string {
  return `whsec_${randomBytes(32).toString("base64")}`;
}

/** Binds a sealed secret to its webhook. */
export function secretContext(webhookId: string): string {
  return `webhook ${webhookId}`;
}

/** It receives the events that happen from now on. Undefined: the workspace has as many as it may. */
export async function insertWebhook(
  sql: Sql,
  webhook: {
    workspaceId: string;
    id: string;
    url: string;
    eventTypes: string[];
    description: string;
    sealedSecret: string;
  },
): Promise<Webhook | undefined> {
  return await sql.begin(async (tx) => {
    // Two calls at once must not both see room for the last one.
    await tx`select 1 from workspaces where id = ${webhook.workspaceId} for no key update`;
    const [row] = await tx<Webhook[]>`
      insert into webhooks (workspace_id, id, url, event_types, description, secret_sealed, followed)
      select ${webhook.workspaceId}, ${webhook.id}, ${webhook.url}, ${webhook.eventTypes}::text[], ${webhook.description},
        ${webhook.sealedSecret}, last from event_counters where workspace_id = ${webhook.workspaceId}
        and (select count(*) from webhooks where workspace_id = ${webhook.workspaceId}) < ${maxWebhooks}
      returning ${columns(tx)}`;
    return row;
  });
}

export async function getWebhook(sql: Sql, workspaceId: string, id: string): Promise<Webhook | undefined> {
  const [row] = await sql<Webhook[]>`
    select ${columns(sql)} from webhooks where workspace_id = ${workspaceId} and id = ${id}`;
  return row;
}

/** Keyset paging, newest first. Primary key. */
export async function listWebhooks(
  sql: Sql,
  page: { workspaceId: string; before: string | undefined; limit: number },
): Promise<Webhook[]> {
  return await sql<Webhook[]>`
    select ${columns(sql)} from webhooks where workspace_id = ${page.workspaceId}
    ${page.before ? sql`and id < ${page.before}` : sql``} order by id desc limit ${page.limit}`;
}

export type WebhookChange = { url?: string; eventTypes?: string[]; description?: string; enabled?: boolean };

/**
 * A new address starts with a clean record. Enabling goes on at the end of the log, and changes nothing where it is enabled already;
 * so does disabling, which keeps the first reason.
 */
export async function updateWebhook(
  sql: Sql,
  workspaceId: string,
  id: string,
  change: WebhookChange,
): Promise<Webhook | undefined> {
  const { url = null, eventTypes = null, description = null, enabled = null } = change;
  const [row] = await sql<Webhook[]>`
    update webhooks w set url = coalesce(${url}::text, w.url), event_types = coalesce(${eventTypes}::text[], w.event_types),
      description = coalesce(${description}::text, w.description),
      followed = case when ${enabled}::boolean and w.disabled_at is not null then c.last else w.followed end,
      followed_at = case when ${enabled}::boolean and w.disabled_at is not null then now() else w.followed_at end,
      failing_since = case when ${url}::text <> w.url or (${enabled}::boolean and w.disabled_at is not null) then null else w.failing_since end,
      disabled_at = case ${enabled}::boolean when true then null when false then coalesce(w.disabled_at, now()) else w.disabled_at end,
      disabled_reason = case ${enabled}::boolean when true then null when false then coalesce(w.disabled_reason, ${switchedOff}) else w.disabled_reason end,
      updated_at = now()
    from event_counters c where c.workspace_id = w.workspace_id and w.workspace_id = ${workspaceId} and w.id = ${id}
    returning ${columns(sql, sql`w.`)}`;
  return row;
}

const switchedOff = "switched off by UpdateWebhook";

/** What it still had to deliver is removed by the webhook role (dropWaiting), which nobody waits for. */
export async function deleteWebhook(sql: Sql, workspaceId: string, id: string): Promise<Webhook | undefined> {
  const [row] = await sql<Webhook[]>`
    delete from webhooks where workspace_id = ${workspaceId} and id = ${id} returning ${columns(sql)}`;
  return row;
}

/** The secret before the one before is gone with this: two are alive at most. */
export async function rotateSecret(
  sql: Sql,
  rotation: { workspaceId: string; id: string; sealedSecret: string; previousForMs: number },
): Promise<Webhook | undefined> {
  const [row] = await sql<Webhook[]>`
    update webhooks set previous_secret_sealed = secret_sealed, secret_sealed = ${rotation.sealedSecret}, updated_at = now(),
      previous_secret_until = now() + ${rotation.previousForMs} * interval '1 millisecond'
    where workspace_id = ${rotation.workspaceId} and id = ${rotation.id} returning ${columns(sql)}`;
  return row;
}

export async function getSigner(sql: Sql, workspaceId: string, id: string): Promise<WebhookSigner | undefined> {
  const [row] = await sql<WebhookSigner[]>`
    select workspace_id as "workspaceId", id, url, ${sealedSecrets(sql)} as "sealedSecrets"
    from webhooks w where workspace_id = ${workspaceId} and id = ${id}`;
  return row;
}

/** The secrets that sign at this moment. */
export function sealedSecrets(sql: Sql) {
  return sql`case when w.previous_secret_until > now() then array[w.secret_sealed, w.previous_secret_sealed] else array[w.secret_sealed] end`;
}

function columns(sql: Sql, w = sql``) {
  return sql`${w}workspace_id as "workspaceId", ${w}id, ${w}url, ${w}event_types as "eventTypes", ${w}description,
    ${w}failing_since as "failingSince", ${w}disabled_at as "disabledAt", ${w}disabled_reason as "disabledReason",
    case when ${w}previous_secret_until > now() then ${w}previous_secret_until end as "previousSecretUntil",
    ${w}created_at as "createdAt", ${w}updated_at as "updatedAt"`;
}
