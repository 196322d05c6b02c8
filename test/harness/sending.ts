/** Helpers for tests that send: the events of one email, its state, and waiting until it is finished. */

import type { Testbed } from "./testbed.ts";
import { until } from "./wait.ts";

export type EmailEvent = { cursor: string; type: string; payload: Record<string, unknown> };

/** The events of one email, in order, with their payloads unwrapped. */
export async function eventsOf(testbed: Testbed, emailId: string): Promise<EmailEvent[]> {
  const { body } = await testbed.call("EmailService/ListEvents", { emailId, pageSize: 500 });
  return (body.data as { cursor: string; event: Record<string, unknown> & { type: string } }[]).map(
    ({ cursor, event }) => ({
      cursor,
      type: event.type,
      payload: event[event.type.replace(/^email\./, "")] as Record<string, unknown>,
    }),
  );
}

/** Waits until the email has an event of this type, and returns all of its events. */
export async function untilEvent(testbed: Testbed, emailId: string, type: string): Promise<EmailEvent[]> {
  return await until(`${type} of ${emailId}`, async () => {
    const events = await eventsOf(testbed, emailId);
    return events.some((event) => event.type === type) ? events : undefined;
  });
}

export type WireEmail = Record<string, unknown> & {
  id: string;
  status: string;
  statusMessage: string;
  createdAt: string;
  recipients: (Record<string, unknown> & { address: string; status: string; attempts: number; lastReply: string })[];
};

export async function getEmail(testbed: Testbed, id: string): Promise<WireEmail> {
  const { status, body } = await testbed.call("EmailService/GetEmail", { id });
  if (status !== 200) throw new Error(`GetEmail ${id}: ${JSON.stringify(body)}`);
  return body.email as WireEmail;
}

/** Waits until every recipient of the email has a final outcome. */
export async function untilFinished(testbed: Testbed, id: string): Promise<WireEmail> {
  return await until(`the final status of ${id}`, async () => {
    const email = await getEmail(testbed, id);
    return /_(SENT|FAILED)$/.test(email.status) ? email : undefined;
  });
}

/** Calls SendEmail, fails unless it is accepted, and returns the new email's id. */
export async function accepted(
  testbed: Testbed,
  request: Record<string, unknown>,
  headers?: Record<string, string>,
): Promise<string> {
  const { status, body } = await testbed.send(request, headers);
  if (status !== 200) throw new Error(`SendEmail: ${JSON.stringify(body)}`);
  return body.id as string;
}

export type Violation = { field: string; description: string };

/** The field violations in the details of an error. */
export function violationsOf(body: Record<string, unknown>): Violation[] {
  const details = (body.details ?? []) as { type: string; debug?: { fieldViolations?: Violation[] } }[];
  return details.flatMap(({ debug }) => debug?.fieldViolations ?? []);
}

/** Makes all scheduled and delayed recipients due now. */
export async function makeDue(testbed: Testbed): Promise<void> {
  const { sql } = testbed.database;
  await sql`update emails set scheduled_at = now() where open > 0 and scheduled_at > now()`;
  await sql`update recipients set due_at = service_time() where status in ('queued', 'delayed') and due_at > service_time()`;
}
