import assert from "node:assert/strict";
import { test } from "node:test";
import type { TestEvent } from "node:test/reporters";
import unfinishedTests from "./unfinished-tests.ts";

const event = (type: string, name: string) =>
  ({ type, data: { name, file: `${process.cwd()}/src/a.test.ts`, nesting: 0, line: 1 } }) as unknown as TestEvent;

test("at the deadline of the run the unfinished tests are named, and not those that have ended", async (t) => {
  t.mock.timers.enable({ apis: ["setTimeout"] });
  const written = t.mock.method(process.stderr, "write", () => true);
  const before = process.env.TEST_RUN_LIMIT_MS;
  process.env.TEST_RUN_LIMIT_MS = "60000";
  t.after(() => {
    if (before === undefined) delete process.env.TEST_RUN_LIMIT_MS;
    else process.env.TEST_RUN_LIMIT_MS = before;
  });
  async function* events(): AsyncGenerator<TestEvent> {
    yield event("test:dequeue", "ends");
    yield event("test:dequeue", "hangs");
    yield event("test:complete", "ends");
    t.mock.timers.tick(60_000);
  }
  for await (const text of unfinishedTests(events())) assert.equal(text, "");
  const said = written.mock.calls.map(({ arguments: [text] }) => String(text)).join("");
  assert.equal(said, "\nThe run had not ended after 1 min. Unfinished:\n  src/a.test.ts: hangs\n");
});
