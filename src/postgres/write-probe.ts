/**
 * Tests whether the database stores data: on a new connection it fills new pages of a table that is rolled back, then commits a small
 * row. Called by health.ts while something is wrong, and by posthorn doctor. Costs a few milliseconds.
 */
import { randomUUID } from "node:crypto";
import type { Client } from "pg";
import { outageOf } from "./outage.ts";
import { probeText } from "./receipts.ts";

const limitMs = 2_000;

/**
 * A row fits into free space of an existing page, so it proves nothing about a full disk: only new pages do. An unlogged table adds
 * almost nothing to the write-ahead log, which must not grow on a full disk.
 */
const fillPages = (table: string) => `begin; create unlogged table ${table} (filler text);
  insert into ${table} select repeat('x', 1500) from generate_series(1, 700)`;

/** Rejects with the error of the first step that fails. */
export async function probeWrite(connect: () => Promise<Client>): Promise<void> {
  const client = await connect();
  client.on("error", () => {});
  try {
    // Repeated on the client's side, for a server that hangs.
    const run = (text: string) => client.query({ text, query_timeout: 2 * limitMs } as { text: string });
    // The messages, because client.ts recognizes a commit that is not replicated by its warning.
    await run(`set statement_timeout = ${limitMs}; set lock_timeout = ${limitMs}; set client_min_messages = notice`);
    try {
      await run(fillPages(`posthorn_probe_${randomUUID().replaceAll("-", "")}`));
    } catch (error) {
      // A role that may not create tables can still write rows.
      if (outageOf(error)) throw error;
    }
    await run("rollback");
    await run(probeText);
  } finally {
    // Not awaited: a server that hangs does not answer the goodbye either.
    void client.end().catch(() => {});
  }
}
