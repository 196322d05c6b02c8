/** Stores webhooks: URL, event types, state and signing secrets. Secrets are stored sealed; a plain secret is returned only when it is
 * created. Called by WebhookService. */
import { randomBytes } from "node:crypto";
import type { Sql } from "../../postgres/pool.ts";

export type Webhook = {
  workspaceId: string;
  id: string;
  url: string;
  /** Empty: all types. */
  eventTypes: string[];
  description: string;
  failingSince: Date | null;
  /** At most a minute too early, as settle.ts writes them. */
  lastSuccessAt: Date | null;
  lastFailureAt: Date | null;
  disabledAt: Date | null;
  disabledReason: string | null;
  /** Set while the previous secret still signs. */
  previousSecretUntil: Date | null;
  createdAt: Date;
  updatedAt: Date;
};

/** `sealedSecrets`: the valid secrets, newest first. */
export type WebhookSigner = { workspaceId: string; id: string; url: string; sealedSecrets: string[] };

const disabledByUpdate = "disabled by UpdateWebhook";

/** 32 random bytes in base64, with a prefix by which secret scanners recognize it. */
export function makeSigningSecret(): string {
  return `whsec_${randomBytes(32).toString("base64")}`;
}

/** Binds a sealed secret to its webhook. */
export function secretContext(webhookId: string): string {
  return `webhook ${webhookId}`;
}

/** The webhook receives the events from now on. Call it in the transaction that checks the quota. */
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
): Promise<Webhook> {
  const [row] = await sql.write<Webhook[]>`
    insert into webhooks (workspace_id, id, url, event_types, description, secret_sealed, followed)
    select ${webhook.workspaceId}, ${webhook.id}, ${webhook.url}, ${webhook.eventTypes}::text[], ${webhook.description},
      ${webhook.sealedSecret}, last from event_counters where workspace_id = ${webhook.workspaceId}
    returning ${columns(sql)}`;
  return row!;
}

export async function getWebhook(sql: Sql, workspaceId: string, id: string): Promise<Webhook | undefined> {
  const [row] = await sql<Webhook[]>`
    select ${columns(sql)} from webhooks where workspace_id = ${workspaceId} and id = ${id}`;
  return row;
}

/** Newest first, with keyset paging. Index: the primary key. */
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
 * A new URL resets `failingSince`. Enabling a disabled webhook continues at the end of the log. Enabling an enabled one or disabling a
 * disabled one does not change its state; the first reason stays.
 */
export async function updateWebhook(
  sql: Sql,
  workspaceId: string,
  id: string,
  change: WebhookChange,
): Promise<Webhook | undefined> {
  const { url = null, eventTypes = null, description = null, enabled = null } = change;
  const [row] = await sql.write<Webhook[]>`
    update webhooks w set url = coalesce(${url}::text, w.url), event_types = coalesce(${eventTypes}::text[], w.event_types),
      description = coalesce(${description}::text, w.description),
      followed = case when ${enabled}::boolean and w.disabled_at is not null then c.last else w.followed end,
      followed_at = case when ${enabled}::boolean and w.disabled_at is not null then (select service_time()) else w.followed_at end,
      failing_since = case when ${url}::text <> w.url or (${enabled}::boolean and w.disabled_at is not null) then null else w.failing_since end,
      disabled_at = case ${enabled}::boolean when true then null when false then coalesce(w.disabled_at, now()) else w.disabled_at end,
      disabled_reason = case ${enabled}::boolean when true then null when false then coalesce(w.disabled_reason, ${disabledByUpdate}) else w.disabled_reason end,
      updated_at = now()
    from event_counters c where c.workspace_id = w.workspace_id and w.workspace_id = ${workspaceId} and w.id = ${id}
    returning ${columns(sql, sql`w.`)}`;
  return row;
}

/** The webhook loop removes its queued deliveries later, with `dropWaiting`. */
export async function deleteWebhook(sql: Sql, workspaceId: string, id: string): Promise<Webhook | undefined> {
  const [row] = await sql.write<Webhook[]>`
    delete from webhooks where workspace_id = ${workspaceId} and id = ${id} returning ${columns(sql)}`;
  return row;
}

/** At most two secrets are valid: a rotation ends the secret before the previous one. */
export async function rotateSecret(
  sql: Sql,
  rotation: { workspaceId: string; id: string; sealedSecret: string; previousForMs: number },
): Promise<Webhook | undefined> {
  const [row] = await sql.write<Webhook[]>`
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

/** Undefined when the webhook is disabled or deleted. */
export async function getEnabledSigner(
  sql: Sql,
  { workspaceId, webhookId }: { workspaceId: string; webhookId: string },
): Promise<WebhookSigner | undefined> {
  const [row] = await sql<WebhookSigner[]>`
    select workspace_id as "workspaceId", id, url, ${sealedSecrets(sql)} as "sealedSecrets"
    from webhooks w where workspace_id = ${workspaceId} and id = ${webhookId} and disabled_at is null`;
  return row;
}

/** The secrets that are valid now, newest first. */
export function sealedSecrets(sql: Sql) {
  return sql`case when w.previous_secret_until > now() then array[w.secret_sealed, w.previous_secret_sealed] else array[w.secret_sealed] end`;
}

/** Since when the endpoint fails, in service time. `failing_since` is the same moment in wall time, which is shown; an older program writes
 * only that one. */
export function failingFrom(sql: Sql) {
  return sql`case when w.failing_since is not null then coalesce(w.failing_from, w.failing_since) end`;
}

function columns(sql: Sql, w = sql``) {
  return sql`${w}workspace_id as "workspaceId", ${w}id, ${w}url, ${w}event_types as "eventTypes", ${w}description,
    ${w}failing_since as "failingSince", ${w}last_success_at as "lastSuccessAt", ${w}last_failure_at as "lastFailureAt", ${w}disabled_at as "disabledAt",
    ${w}disabled_reason as "disabledReason",
    case when ${w}previous_secret_until > now() then ${w}previous_secret_until end as "previousSecretUntil",
    ${w}created_at as "createdAt", ${w}updated_at as "updatedAt"`;
}
