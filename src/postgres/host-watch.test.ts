import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { createTestDatabase, type TestDatabase } from "../../test/harness/database.ts";
import { until } from "../../test/harness/wait.ts";
import type { Log } from "../ops/log.ts";
import { readDatabaseUrl } from "./database-url.ts";
import { createHostWatch } from "./host-watch.ts";

let database: TestDatabase;
before(async () => {
  database = await createTestDatabase({ migrated: false });
});
after(async () => await database?.drop());

test("an error of the listener is logged, and the hosts are asked again", async () => {
  const { config, hosts } = readDatabaseUrl(database.url);
  const logged: unknown[] = [];
  let calls = 0;
  const watch = createHostWatch({
    config,
    addresses: [hosts[0]!, hosts[0]!],
    limitMs: 10_000,
    log: { error: ({ err }: { err: unknown }) => logged.push(err) } as unknown as Log,
    onView() {
      calls++;
      throw new Error("a bug");
    },
  });
  watch.start();
  await until("the second round", () => calls >= 4);
  watch.close();
  assert.ok(logged.length >= 2);
  assert.match(String(logged[0]), /a bug/);
});
