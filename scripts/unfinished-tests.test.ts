import assert from "node:assert/strict";
import { test } from "node:test";
import type { TestEvent } from "node:test/reporters";
import { watchUnfinished } from "./unfinished-tests.ts";

const event = (type: string, name: string) =>
  ({ type, data: { name, file: `${process.cwd()}/src/a.test.ts`, nesting: 0, line: 1 } }) as unknown as TestEvent;

test("at the deadline of the run, only the unfinished tests are printed", (t) => {
  t.mock.timers.enable({ apis: ["setTimeout"] });
  const written = t.mock.method(process.stderr, "write", () => true);
  const watch = watchUnfinished(60_000);
  watch.note(event("test:dequeue", "ends"));
  watch.note(event("test:dequeue", "hangs"));
  watch.note(event("test:complete", "ends"));
  t.mock.timers.tick(60_000);
  const output = written.mock.calls.map(({ arguments: [text] }) => String(text)).join("");
  assert.equal(output, "\nThe run did not finish within 1 min. Unfinished:\n  src/a.test.ts: hangs\n");
});
