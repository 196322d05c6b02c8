/** A reporter for node's test runner: the files in which something failed, one a line. */
import type { TestEvent } from "node:test/reporters";

export default async function* failedFiles(source: AsyncIterable<TestEvent>): AsyncGenerator<string> {
  const told = new Set<string>();
  for await (const { type, data } of source) {
    if (type !== "test:fail" || data.file === undefined || told.has(data.file)) continue;
    told.add(data.file);
    yield `${data.file}\n`;
  }
}
