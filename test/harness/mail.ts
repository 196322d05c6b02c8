/** Rows for tests of stores: a workspace with a domain that may send, emails, and settlements of their recipients. */
import { randomBytes } from "node:crypto";
import type { Leased } from "../../src/delivery/store/lease.ts";
import type { Settlement } from "../../src/delivery/store/settle.ts";
import type { NewEmail } from "../../src/emails/store/emails.ts";
import type { Address } from "../../src/mail/address.ts";
import { makeUuid } from "../../src/postgres/ids.ts";
import type { Sql } from "../../src/postgres/pool.ts";
import { createWorkspace } from "../../src/workspaces/store.ts";

/** Creates a workspace without a domain. */
export async function makeBareWorkspace(sql: Sql, name = "test"): Promise<string> {
  const id = makeUuid(Date.now());
  await createWorkspace(sql, { id, name });
  return id;
}

/** Creates a workspace that may send from sender.test. */
export async function makeWorkspace(sql: Sql, name = "test"): Promise<string> {
  const id = await makeBareWorkspace(sql, name);
  await sql`insert into domains (workspace_id, id, domain, token, mail_from_label, region, status, can_send, next_check_at)
    values (${id}, ${makeUuid(Date.now())}, 'sender.test', ${randomWord()}, 'bounce', 'test', 'ready', true, 'infinity')`;
  return id;
}

/** An email from news@sender.test to the given addresses, in the form that `accept` stores. */
export function newEmail(workspaceId: string, to: readonly string[], extra: Partial<NewEmail> = {}): NewEmail {
  const id = makeUuid(Date.now());
  return {
    id,
    workspaceId,
    keyId: makeUuid(Date.now()),
    domain: "sender.test",
    subject: "Hello",
    messageId: `<${id}@sender.test>`,
    envelope: {
      from: address("news@sender.test"),
      to: to.map(address),
      cc: [],
      bcc: [],
      replyTo: [],
      headers: [],
      references: [],
      requireTls: false,
      attachments: [],
    },
    metadata: {},
    test: false,
    sizeBytes: 5,
    scheduledAt: undefined,
    retryForMs: 48 * 3600_000,
    expiresAt: undefined,
    recipients: to.map((one) => ({ kind: "to", address: one, destination: one.split("@")[1]! })),
    parts: [JSON.stringify({ text: "Hello", html: "" })],
    idempotency: undefined,
    ...extra,
  };
}

export function address(text: string): Address {
  const [local, domain] = text.split("@") as [string, string];
  return { name: "", local, domain, address: text, smtputf8: false };
}

export function randomWord(): string {
  return randomBytes(5).toString("hex");
}

/** A settlement of a leased recipient, as the delivery loop writes it after an attempt. */
export function settlement(row: Leased, status: Settlement["status"], extra: Partial<Settlement> = {}): Settlement {
  return {
    workspaceId: row.workspaceId,
    emailId: row.emailId,
    position: row.position,
    lease: row.lease,
    status,
    dueInMs: status === "delayed" ? 60_000 : undefined,
    attempts: row.attempts + 1,
    inDoubt: row.inDoubt,
    doubts: row.doubts,
    reply: "250 2.0.0 ok",
    remoteMx: "mx.test",
    event: { id: makeUuid(Date.now()), type: `email.${status}`, payload: { recipients: [row.address] } },
    suppress: undefined,
    ...extra,
  };
}
