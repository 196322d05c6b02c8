/** npm run faults: injects every fault that Posthorn must survive into the real program under load, and prints a report.
 * See docs/faults.md. */
import { parseArgs } from "node:util";
import { allFaults } from "../test/faults/all.ts";
import type { Fault } from "../test/faults/fault.ts";
import { startTestServer } from "../test/harness/database.ts";
import type { Findings } from "../test/harness/under-load.ts";

const usage = `npm run faults [-- options]

Injects faults into the real program on its own PostgreSQL: kills, stops, full disks, bad receivers.
Meanwhile a client sends mail and keeps a ledger. Afterwards the ledger, the receiver and the event log are compared.

  --only WORDS   only faults whose name contains these words; repeatable
  --times N      how often to inject each fault (default: see --list)
  --json         print the report as JSON on standard output
  --list         list the faults and what must hold
  --help         show this help

Progress goes to standard error. Exit code 1: a promise is broken. Exit code 2: a mistake in the command.
`;

const args = readArguments();
if (args.help) {
  process.stdout.write(usage);
  process.exit(0);
}
const only = (args.only ?? []).map((words) => words.toLowerCase());
const chosen = allFaults.filter(
  ({ name }) => only.length === 0 || only.some((words) => name.toLowerCase().includes(words)),
);
if (chosen.length === 0) {
  process.stderr.write(`No fault's name contains ${only.join(" or ")}. See: npm run faults -- --list\n`);
  process.exit(2);
}
if (args.list) {
  for (const { name, promise, times } of chosen) process.stdout.write(`${name} (${times} times)\n  ${promise}\n`);
  process.exit(0);
}

type Result = { fault: string; promise: string; skipped?: string; seconds: number } & Partial<Findings>;

const server = await startTestServer();
process.env.TEST_DATABASE_URL = server.url;
const results: Result[] = [];
for (const [i, fault] of chosen.entries()) {
  printProgress(`${fault.name} (${i + 1} of ${chosen.length})`);
  const result = await run(fault);
  results.push(result);
  printProgress(`  ${result.skipped ? `skipped: ${result.skipped}` : verdict(result)}, ${result.seconds.toFixed(0)} s`);
  for (const message of (result.broken ?? []).slice(0, 5)) printProgress(`    ${message}`);
}
await server.stop();
process.stdout.write(args.json ? `${JSON.stringify(results)}\n` : `\n${report(results)}`);
process.exit(results.some(isBroken) ? 1 : 0);

async function run(fault: Fault): Promise<Result> {
  const { name, promise } = fault;
  const skipped = fault.cannot?.();
  if (skipped) return { fault: name, promise, skipped, seconds: 0 };
  const began = performance.now();
  const seconds = () => (performance.now() - began) / 1000;
  try {
    const found = await fault.inject(args.times ?? fault.times, (message) => printProgress(`  ${message}`));
    return { fault: name, promise, ...found, seconds: seconds() };
  } catch (error) {
    return { fault: name, promise, broken: [(error as Error).stack ?? String(error)], seconds: seconds() };
  }
}

function isBroken({ broken = [], lost = 0, gaps = 0 }: Result): boolean {
  return broken.length > 0 || lost > 0 || gaps > 0;
}

function verdict(result: Result): string {
  return isBroken(result) ? "BROKEN" : "kept";
}

function report(all: readonly Result[]): string {
  const head = ["fault", "times", "in flight", "lost", "twice", "in doubt", "gaps", "recovery", ""];
  const rows = all.map((one) => {
    if (one.skipped) return [one.fault, "skipped", "", "", "", "", "", "", one.skipped];
    const numbers = [one.injected, one.inFlight, one.lost, one.duplicated, one.inDoubt, one.gaps];
    const recovery = one.recoveryMs === undefined ? "" : `${(one.recoveryMs / 1000).toFixed(1)} s`;
    return [one.fault, ...numbers.map((n) => n?.toLocaleString("en") ?? "?"), recovery, verdict(one)];
  });
  const widths = head.map((_, column) => Math.max(...[head, ...rows].map((row) => row[column]!.length)));
  const line = (row: readonly string[]) =>
    row
      .map((cell, column) =>
        column === 0 || column === row.length - 1 ? cell.padEnd(widths[column]!) : cell.padStart(widths[column]!),
      )
      .join("  ")
      .trimEnd();
  const notes = all.flatMap(({ fault, note }) => (note ? [`${fault}: ${note}`] : []));
  const broken = all.filter(isBroken);
  const last =
    broken.length === 0 ? "Every promise was kept." : `${broken.length} of ${all.length} faults broke a promise.`;
  return [head, ...rows]
    .map(line)
    .concat("", ...notes, ...(notes.length > 0 ? [""] : []), last, "")
    .join("\n");
}

function printProgress(line: string): void {
  process.stderr.write(`${line}\n`);
}

function readArguments() {
  try {
    const { values } = parseArgs({
      options: {
        only: { type: "string", multiple: true },
        times: { type: "string" },
        json: { type: "boolean" },
        list: { type: "boolean" },
        help: { type: "boolean", short: "h" },
      },
    });
    const times = values.times === undefined ? undefined : Number(values.times);
    if (times !== undefined && !(Number.isInteger(times) && times > 0))
      throw new Error("--times must be a whole number above 0");
    return { ...values, times };
  } catch (error) {
    process.stderr.write(`${(error as Error).message}\n\n${usage}`);
    process.exit(2);
  }
}
