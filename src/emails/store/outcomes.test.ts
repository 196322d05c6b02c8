/** The SQL of outcomes decides as rules/outcome.ts does. src/delivery/store/states.test.ts checks the counts after every transition. */
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { createTestDatabase, type TestDatabase } from "../../../test/harness/database.ts";
import { outcomeOf, outcomes } from "../rules/outcome.ts";
import { outcomeNow } from "./outcomes.ts";

let database: TestDatabase;
before(async () => {
  database = await createTestDatabase();
});
after(async () => await database.drop());

test("of any two outcomes among the recipients, SQL and the rules choose the same for the email", async () => {
  const { sql } = database;
  const none = Object.fromEntries(outcomes.map((outcome) => [outcome, 0])) as Record<(typeof outcomes)[number], number>;
  for (const one of outcomes)
    for (const other of outcomes) {
      const counts = { ...none, [one]: 1, [other]: 1 };
      const open = counts.queued + counts.delayed;
      const [row] = await sql<{ outcome: string }[]>`
        select ${outcomeNow(sql)} as outcome from (select ${counts.complained}::int as complained, ${counts.bounced}::int as bounced,
          ${counts.failed}::int as failed, ${counts.suppressed}::int as suppressed, ${counts.delayed}::int as delayed, ${open}::int as open,
          ${counts.canceled}::int as canceled, ${counts.sent}::int as sent) c`;
      assert.equal(row!.outcome, outcomeOf(counts), `${one} and ${other}`);
    }
});
