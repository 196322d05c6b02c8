/** Reads the attempts of a delivery, for WebhookService. settle.ts and deliveries.ts write them, each in the statement with the result. */
import type { Sql } from "../../postgres/pool.ts";
import type { Exchange } from "../post.ts";

export type Attempt = Exchange & {
  number: number;
  responseStatus: number | null;
  durationMs: number;
  error: string;
  attemptedAt: Date;
};

/** Newest first. Index: the primary key. */
export async function listAttempts(
  sql: Sql,
  of: { workspaceId: string; webhookId: string; deliveryId: string; before: number | undefined; limit: number },
): Promise<Attempt[]> {
  return await sql<Attempt[]>`
    select number, url, request_headers as "requestHeaders", response_status as "responseStatus", response_headers as "responseHeaders",
      response_body as "responseBody", duration_ms as "durationMs", error, attempted_at as "attemptedAt"
    from webhook_attempts
    where workspace_id = ${of.workspaceId} and webhook_id = ${of.webhookId} and delivery_id = ${of.deliveryId}
      ${of.before === undefined ? sql`` : sql`and number < ${of.before}::integer`}
    order by number desc limit ${of.limit}`;
}
