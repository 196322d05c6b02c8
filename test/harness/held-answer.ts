/** Helpers for tests that stop a program of started.ts while it has an email in flight. */
import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { call } from "./program.ts";
import type { Started } from "./started.ts";
import type { Testbed } from "./testbed.ts";

/** Leaves an email in flight: the receiver has the message and sends its reply one byte at a time. */
export async function holdAnswer(testbed: Testbed, started: Started, address: string): Promise<void> {
  testbed.sink.script = ({ verb }) => (verb === "dot" ? { reply: "250 2.0.0 Queued", dripMs: 60 } : undefined);
  await sendTo(testbed, started, address);
  await testbed.sink.until((sink) =>
    sink.deliveries.some(({ complete, recipients }) => complete && recipients.includes(address)),
  );
}

export async function sendTo(testbed: Testbed, started: Started, to: string): Promise<void> {
  const { http } = await started.ports();
  assert.ok(http > 0, started.output());
  const email = { from: "news@sender.test", to: [to], subject: "Hello", body: "Hello", async: true };
  const key = testbed.nodeEnv.POSTHORN_API_KEY!;
  const { status, body } = await call(`http://127.0.0.1:${http}`, "EmailService/SendEmail", email, { key });
  assert.equal(status, 200, JSON.stringify(body));
}

export async function recipientOf(testbed: Testbed, address: string) {
  const [row] = await testbed.database
    .sql`select status, attempts, in_doubt from recipients where address = ${address}`;
  return row;
}

/** Asserts that the program and then its embedded database shut down cleanly. */
export async function stoppedWithDatabase(started: Started): Promise<void> {
  assert.equal(await started.ended, 0, started.output());
  assert.match(started.output(), /stopped/);
  assert.doesNotMatch(started.output(), /ended unexpectedly|did not stop cleanly/);
  assert.match(await readFile(join(started.dataDir, "postgres.log"), "utf8"), /database system is shut down\s*$/);
}
