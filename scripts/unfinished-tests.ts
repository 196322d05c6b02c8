/**
 * A reporter for node's test runner that prints only when the run passes its deadline: it then names the files and tests that have started
 * and not ended. scripts/test.ts ends the run a moment later.
 */
import { relative } from "node:path";
import type { TestEvent } from "node:test/reporters";

type Started = { name: string; file?: string };

export default async function* unfinishedTests(source: AsyncIterable<TestEvent>): AsyncGenerator<string> {
  const running = new Map<string, Started>();
  const limitMs = Number(process.env.TEST_RUN_LIMIT_MS);
  const timer = setTimeout(() => {
    process.stderr.write(`\nThe run had not ended after ${limitMs / 60_000} min. Unfinished:\n${list(running)}`);
  }, limitMs);
  timer.unref();
  for await (const { type, data } of source) {
    if (type === "test:dequeue") running.set(keyOf(data), data);
    else if (type === "test:complete") running.delete(keyOf(data));
  }
  clearTimeout(timer);
  yield "";
}

function keyOf({ name, file, nesting, line }: Started & { nesting: number; line?: number }): string {
  return [file, nesting, line, name].join("\0");
}

function list(running: ReadonlyMap<string, Started>): string {
  if (running.size === 0) return "  nothing; the runner itself does not end\n";
  return [...running.values()]
    .map(({ name, file }) => `  ${file === undefined ? name : `${relative(process.cwd(), file)}: ${name}`}\n`)
    .join("");
}
