/** What sending journeys ask of a world again and again: the events about one email, its state, and its end. */
import { until } from "./wait.ts";
import type { World } from "./world.ts";

export type Told = { cursor: string; type: string; payload: Record<string, unknown> };

/** The events about one email, in order, with their payloads unwrapped. */
export async function tellOf(world: World, emailId: string): Promise<Told[]> {
  const { body } = await world.call("EmailService/ListEvents", { emailId, pageSize: 500 });
  return (body.data as { cursor: string; event: Record<string, unknown> & { type: string } }[]).map(
    ({ cursor, event }) => ({
      cursor,
      type: event.type,
      payload: event[event.type.replace(/^email\./, "")] as Record<string, unknown>,
    }),
  );
}

/** Waits until the email's events include one of this type, and gives all of them. */
export async function untilTold(world: World, emailId: string, type: string): Promise<Told[]> {
  return await until(`${type} of ${emailId}`, async () => {
    const told = await tellOf(world, emailId);
    return told.some((one) => one.type === type) ? told : undefined;
  });
}

export type WireEmail = Record<string, unknown> & {
  id: string;
  status: string;
  statusMessage: string;
  recipients: (Record<string, unknown> & { address: string; status: string; attempts: number; lastReply: string })[];
};

export async function getEmail(world: World, id: string): Promise<WireEmail> {
  const { status, body } = await world.call("EmailService/GetEmail", { id });
  if (status !== 200) throw new Error(`GetEmail ${id}: ${JSON.stringify(body)}`);
  return body.email as WireEmail;
}

/** Waits until nothing of the email is open. */
export async function untilFinished(world: World, id: string): Promise<WireEmail> {
  return await until(`the end of ${id}`, async () => {
    const email = await getEmail(world, id);
    return /_(SENT|FAILED)$/.test(email.status) ? email : undefined;
  });
}

/** SendEmail that must be accepted; gives the new email's id. */
export async function accepted(
  world: World,
  request: Record<string, unknown>,
  headers?: Record<string, string>,
): Promise<string> {
  const { status, body } = await world.send(request, headers);
  if (status !== 200) throw new Error(`SendEmail: ${JSON.stringify(body)}`);
  return body.id as string;
}

export type Violation = { field: string; description: string };

/** The field violations of an error, as its detail tells them. */
export function violationsOf(body: Record<string, unknown>): Violation[] {
  const details = (body.details ?? []) as { type: string; debug?: { fieldViolations?: Violation[] } }[];
  return details.flatMap(({ debug }) => debug?.fieldViolations ?? []);
}

/** As if this much time had passed: what waits for a later moment is due now. */
export async function makeDue(world: World): Promise<void> {
  await world.database
    .sql`update recipients set due_at = now() where status in ('queued', 'delayed') and due_at > now()`;
}
