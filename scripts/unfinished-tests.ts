/** Prints the tests and files that are unfinished at the deadline of the run. scripts/test.ts kills the run one second later. */
import { relative } from "node:path";
import type { TestEvent } from "node:test/reporters";

type Started = { name: string; file?: string };

/** `note` must receive every event of the run. At the deadline, prints to standard error. */
export function watchUnfinished(limitMs: number): { note(event: TestEvent): void; stop(): void } {
  const running = new Map<string, Started>();
  const timer = setTimeout(() => {
    process.stderr.write(`\nThe run did not finish within ${limitMs / 60_000} min. Unfinished:\n${list(running)}`);
  }, limitMs);
  timer.unref();
  return {
    note({ type, data }) {
      if (type === "test:dequeue") running.set(keyOf(data), data);
      else if (type === "test:complete") running.delete(keyOf(data));
    },
    stop: () => clearTimeout(timer),
  };
}

function keyOf({ name, file, nesting, line }: Started & { nesting: number; line?: number }): string {
  return [file, nesting, line, name].join("\0");
}

function list(running: ReadonlyMap<string, Started>): string {
  if (running.size === 0) return "  no test; the runner itself does not exit\n";
  return [...running.values()]
    .map(({ name, file }) => `  ${file === undefined ? name : `${relative(process.cwd(), file)}: ${name}`}\n`)
    .join("");
}
