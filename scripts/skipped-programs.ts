/** A reporter for Node's test runner: prints one line per missing foreign program with the number of skipped tests, and the unfinished tests
 * at the deadline of the run. One reporter does both, because Node warns about a third one. Used by test.ts. */
import type { TestEvent } from "node:test/reporters";
import { missingIn } from "../test/harness/foreign.ts";
import { watchUnfinished } from "./unfinished-tests.ts";

export default async function* skippedPrograms(source: AsyncIterable<TestEvent>): AsyncGenerator<string> {
  const skipped = new Map<string, { tests: number; install: string }>();
  const unfinished = watchUnfinished(Number(process.env.TEST_RUN_LIMIT_MS ?? 3_600_000));
  for await (const event of source) {
    unfinished.note(event);
    const { type, data } = event;
    if (type !== "test:pass" || typeof data.skip !== "string") continue;
    for (const { program, install } of missingIn(data.skip))
      skipped.set(program, { tests: (skipped.get(program)?.tests ?? 0) + 1, install });
  }
  unfinished.stop();
  for (const [program, { tests, install }] of [...skipped].sort(([a], [b]) => (a < b ? -1 : 1)))
    yield `${program} is missing: ${tests} ${tests === 1 ? "test was" : "tests were"} skipped. Install it: ${install}\n`;
}
