/** For tests that delete or export a person: account mail with everything that follows from it, and a row in every table of people. */
import assert from "node:assert/strict";
import { makeUuid } from "../../src/postgres/ids.ts";
import type { Sql } from "../../src/postgres/pool.ts";
import { fillTables } from "./leftovers.ts";
import { openBrowser } from "./people.ts";
import type { RunningProgram } from "./program.ts";
import { until } from "./wait.ts";

/** Every row contains the address, the name or the id of the person. Returns the ids of the mail about the password and of the reply. */
export async function fillPerson(
  sql: Sql,
  program: RunningProgram,
  person: { id: string; email: string; name: string; workspaceId: string },
): Promise<{ resetId: string; inboundId: string }> {
  const { id, email, name } = person;
  const { status } = await openBrowser(program).post("/auth/request-password-reset", { email });
  assert.equal(status, 200);
  // Mail about accounts is in the system workspace.
  const { reset, workspaceId } = await until("the mail about the password", async () => {
    const [row] = await sql<{ reset: string; workspaceId: string }[]>`
      select r.email_id as reset, r.workspace_id as "workspaceId" from recipients r join emails e on e.workspace_id = r.workspace_id and e.id = r.email_id
      where r.address = ${email} and r.status = 'delivered' and e.subject ilike '%password%'`;
    return row;
  });
  const inbound = makeUuid(Date.now());
  await sql`insert into inbound_messages (workspace_id, id, domain_id, domain, recipients, sender, from_address, subject, kind, content_hash,
      size_bytes, parent_email_id, body, new_text, html)
    values (${workspaceId}, ${inbound}, ${reset}, 'x.test', '{}', ${email}, ${email}, ${name}, 'reply', 'x', 1, ${reset}, ${`${name} body`},
      ${`${name} new text`}, ${`${name} html`})`;
  const raw = Buffer.from(`From: ${name}\r\n\r\nraw`).toString("base64");
  await sql`insert into inbound_contents (workspace_id, inbound_id, piece, data) values (${workspaceId}, ${inbound}, 0, ${raw})`;
  await sql`insert into events (workspace_id, number, id, type, email_id, payload)
    values (${workspaceId}, 1000, gen_random_uuid(), 'email.replied', ${reset},
      ${JSON.stringify({ from: email, body: `${name} body`, newText: `${name} new text`, html: `${name} html` })}::text::jsonb)`;
  await sql`insert into suppressions (workspace_id, address, reason, source_event)
    select ${workspaceId}, ${email}, 'bounce', id from events where email_id = ${reset} limit 1`;
  await sql`insert into unattributed_reports (workspace_id, email_id, kind, reason, id, named_recipient, first_at, last_at)
    values (${workspaceId}, ${reset}, 'bounce', 'no_token', gen_random_uuid(), ${email}, service_time(), service_time())`;
  await sql`insert into idempotency (workspace_id, key, request_hash, email_id, expires_at)
    values (${workspaceId}, ${`owner-mail-1-${email}`}, 'x', ${reset}, now())`;
  await sql`insert into members (workspace_id, id, email, role, invite_hash, invite_expires_at)
    select id, gen_random_uuid(), ${email}, 'viewer', 'hash', now() - interval '1 day' from workspaces where id <> ${person.workspaceId}`;
  const webhookId = makeUuid(Date.now());
  await sql`insert into webhooks (workspace_id, id, url, event_types, secret_sealed, followed, disabled_at, disabled_reason)
    values (${workspaceId}, ${webhookId}, 'https://there.test', '{none}', 'x', 0, now(), 'manual')`;
  await sql`insert into webhook_deliveries (workspace_id, webhook_id, id, event_id, event_type, event_at, status, settled_at, response_head)
    select ${workspaceId}, ${webhookId}, ${webhookId}, id, type, created_at, 'delivered', now(), ${`got ${email}`} from events
    where email_id = ${reset} limit 1`;
  await sql`insert into webhook_attempts (workspace_id, webhook_id, delivery_id, number, url, request_headers, response_headers, response_body,
      duration_ms, error, attempted_at)
    values (${workspaceId}, ${webhookId}, ${webhookId}, 1, 'https://there.test', '', ${`x-got: ${email}`}, ${`got ${email}`}, 1, '', now())`;
  await sql`insert into oidc_flows (state_hash, browser_hash, provider, issuer, nonce, code_verifier, redirect_uri, return_path, session_id,
      confirm_session_id, expires_at, service_expires_at)
    select state, 'b', 'p', 'https://idp.test', 'n', 'c', 'r', ${`/${name}`}, case when state = 'link' then id end,
      case when state = 'confirm' then id end, now() + interval '1 day', service_time() + interval '1 day'
    from unnest(array['link', 'confirm']) as state, lateral (select id from people_sessions where person_id = ${id} limit 1) s`;
  await fillTables(sql, { column: "person_id", id, marker: name, except: [] });
  return { resetId: reset, inboundId: inbound };
}
