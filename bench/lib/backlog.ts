/** Fills the queue with SQL, which is far faster than the API: emails with one recipient each, with or without content. */
import type { Sql } from "../../src/postgres/pool.ts";
import { senderDomain } from "../../test/harness/testbed.ts";

export type Backlog = {
  workspaceId: string;
  count: number;
  /** Rows are spread over d0.NAME, d1.NAME and so on; a single destination is NAME itself. */
  destinations: { name: string; count: number };
  /** 0: due now. */
  dueInSeconds: number;
  /** Emails need content only if they will be delivered. */
  content: boolean;
};

const batchRows = 50_000;

/** The envelope of an email to one recipient, as `emails.envelope` stores it. */
export function storedEnvelope(domain: string, address: string): string {
  return JSON.stringify({
    from: { name: "", local: "shop", domain: senderDomain, address: `shop@${senderDomain}`, smtputf8: false },
    to: [{ name: "", local: "u", domain, address, smtputf8: false }],
    cc: [],
    bcc: [],
    replyTo: [],
    headers: [],
    references: [],
    requireTls: false,
    attachments: [],
  });
}

export async function fillQueue(sql: Sql, backlog: Backlog): Promise<void> {
  const { workspaceId, count, destinations, dueInSeconds } = backlog;
  const [domain] = await sql<{ id: string }[]>`
    select id from domains where workspace_id = ${workspaceId} and domain = ${senderDomain}`;
  const text = JSON.stringify({ text: "Your order has been shipped. ".repeat(40), html: "" });
  for (let done = 0; done < count; done += batchRows) {
    const size = Math.min(batchRows, count - done);
    await sql.begin(async (tx) => {
      await tx.unsafe("set local synchronous_commit = off");
      await tx`
        with row as (
          select n, (t || '-7' || lpad(to_hex(n % 4096), 3, '0') || '-8' || substr(md5(random()::text), 1, 3) || '-' || substr(md5(random()::text), 1, 12))::uuid as id,
            case when ${destinations.count} = 1 then ${destinations.name} else 'd' || n % ${destinations.count} || '.' || ${destinations.name} end as destination
          from generate_series(${done}::int, ${done + size - 1}::int) n,
            (select regexp_replace(lpad(to_hex((extract(epoch from now()) * 1000)::bigint), 12, '0'), '^(.{8})', '\\1-') as t) time
        ), email as (
          insert into emails (workspace_id, id, domain_id, domain, from_address, subject, message_id, envelope, open, total, size_bytes, content_day, expires_at)
          select ${workspaceId}, id, ${domain!.id}, ${senderDomain}, ${`shop@${senderDomain}`}, 'Your order', '<' || id || '@' || ${senderDomain} || '>',
            ${storedEnvelope(destinations.name, `u@${destinations.name}`)}::jsonb, 1, 1, 1200, current_date, now() + interval '2 days' from row
        ), content as (
          insert into email_contents (workspace_id, email_id, day, part, piece, data)
          select ${workspaceId}, id, current_date, 0, 0, ${text} from row where ${backlog.content}
        )
        insert into recipients (workspace_id, email_id, position, kind, address, destination, status, due_at)
        select ${workspaceId}, id, 0, 'to', 'u' || n || '@' || destination, destination, 'queued', now() + ${dueInSeconds}::int * interval '1 second' from row`;
    });
  }
}

export async function emptyQueue(sql: Sql): Promise<void> {
  await sql`truncate emails, recipients, email_contents, events, sites, destinations`;
  await sql`update event_counters set last = 0, oldest = 1`;
}
