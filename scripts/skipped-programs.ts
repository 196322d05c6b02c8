/** A reporter for node's test runner: one line for each foreign program that is missing, with the number of tests that were skipped for it. */
import type { TestEvent } from "node:test/reporters";
import { missingIn } from "../test/harness/foreign.ts";

export default async function* skippedPrograms(source: AsyncIterable<TestEvent>): AsyncGenerator<string> {
  const skipped = new Map<string, { tests: number; install: string }>();
  for await (const { type, data } of source) {
    if (type !== "test:pass" || typeof data.skip !== "string") continue;
    for (const { program, install } of missingIn(data.skip))
      skipped.set(program, { tests: (skipped.get(program)?.tests ?? 0) + 1, install });
  }
  for (const [program, { tests, install }] of [...skipped].sort(([a], [b]) => (a < b ? -1 : 1)))
    yield `${program} is missing: ${tests} ${tests === 1 ? "test was" : "tests were"} skipped. Install it: ${install}\n`;
}
