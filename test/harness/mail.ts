/** Rows that store tests need before there is any mail: a workspace with a domain that may send, and emails in it. */
import { randomBytes } from "node:crypto";
import type { Address } from "../../src/mail/address.ts";
import type { Sql } from "../../src/store/db.ts";
import type { NewEmail } from "../../src/store/emails.ts";
import { makeUuid } from "../../src/store/ids.ts";
import { createWorkspace } from "../../src/store/workspaces.ts";

/** One that has no domain. */
export async function makeBareWorkspace(sql: Sql, name = "test"): Promise<string> {
  const id = makeUuid(Date.now());
  await createWorkspace(sql, { id, name });
  return id;
}

/** One that may send from sender.test. */
export async function makeWorkspace(sql: Sql, name = "test"): Promise<string> {
  const id = await makeBareWorkspace(sql, name);
  await sql`insert into domains (workspace_id, id, domain, token, mail_from_label, region, status, can_send, next_check_at)
    values (${id}, ${makeUuid(Date.now())}, 'sender.test', ${randomWord()}, 'bounce', 'test', 'ready', true, 'infinity')`;
  return id;
}

/** An email from news@sender.test to the given addresses, as accept would store it. */
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
