/** npm run bench [-- name …]: every bench, one after the other, each figure beside the limit measured in the same run. */
import { readFile, writeFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { benchAttachments } from "./attachments.ts";
import { benchDestinations } from "./destinations.ts";
import { benchGrowth } from "./growth.ts";
import { benchHttp } from "./http.ts";
import { benchInbound } from "./inbound.ts";
import { plot } from "./lib/plot.ts";
import { profilePrograms } from "./lib/profile.ts";
import { type Bench, type Row, table, tellProfiles, toTerminal, withRatio } from "./lib/report.ts";
import { benchQueue } from "./queue.ts";
import { benchSend } from "./send.ts";
import { benchStream } from "./stream.ts";
import { benchWebhooks } from "./webhooks.ts";

const benches: Record<string, { run: Bench; about: string }> = {
  http: { run: benchHttp, about: "what a call costs, beside connect-node and plain node:http" },
  send: {
    run: benchSend,
    about: "accepting and delivering with DKIM, beside inserts, signatures and Postfix with OpenDKIM",
  },
  destinations: { run: benchDestinations, about: "delivering to 1,000 domains" },
  queue: {
    run: benchQueue,
    about: "fresh mail beside slow and dead sites, a flood, 1,000,000 queued (BENCH_SCALE=0.1: a tenth)",
  },
  growth: {
    run: benchGrowth,
    about: "calls on a store of 3,000,000 emails and 10,000,000 events, beside a young one (BENCH_SCALE=0.1: a tenth)",
  },
  attachments: { run: benchAttachments, about: "5 MiB each, beside bare SMTP" },
  webhooks: { run: benchWebhooks, about: "events posted, beside plain posts" },
  inbound: { run: benchInbound, about: "messages taken, beside Postfix" },
  stream: { run: benchStream, about: "from the commit to the reader, beside 2,000 idle streams" },
};

const usage = `npm run bench [-- [name …] [--json] [--plot] [--profile] [--from FILE]]

Every bench, or those that are named, one after the other. Each figure stands beside a limit that was measured in the same run.
Quit everything else first: the program, its database, the load and the receiver share the machine.

${Object.entries(benches)
  .map(([name, { about }]) => `  ${name.padEnd(14)}${about}`)
  .join("\n")}

  --json        the rows as JSON on standard output; progress goes to standard error
  --plot        draws the rows into docs/bench.svg
  --from FILE   shows or draws what an earlier run wrote with --json; may be given several times
  --profile     CPU profiles of the program in bench/output/ (open them in Chrome's DevTools); figures are lower then
  --help        this text

Each also runs alone: node bench/send.ts [--json] [--profile]
`;

const plotFile = fileURLToPath(new URL("../docs/bench.svg", import.meta.url));

const { names, options } = readArguments();
const profiles = options.profile ? await profilePrograms() : undefined;
const all = options.from ? await readRows(options.from) : await measure(names);
const rows = Object.values(all).flat();
if (options.json) {
  const told = Object.entries(all).map(([name, some]) => [name, some.map(withRatio)]);
  process.stdout.write(`${JSON.stringify(Object.fromEntries(told))}\n`);
} else process.stdout.write(`\n${table(rows)}`);
if (options.plot) {
  await writeFile(plotFile, plot(rows, new Date()));
  process.stderr.write(`plot: ${plotFile}\n`);
}
if (profiles) await tellProfiles(await profiles());

async function measure(which: readonly string[]): Promise<Record<string, Row[]>> {
  const measured: Record<string, Row[]> = {};
  for (const [i, name] of which.entries()) {
    process.stderr.write(`${name} (${i + 1} of ${which.length})\n`);
    const began = performance.now();
    measured[name] = await benches[name]!.run(toTerminal);
    toTerminal(`done in ${Math.round((performance.now() - began) / 1000)} s`);
  }
  return measured;
}

async function readRows(files: readonly string[]): Promise<Record<string, Row[]>> {
  const read = await Promise.all(files.map(async (file) => JSON.parse(await readFile(file, "utf8"))));
  return Object.assign({}, ...read);
}

function readArguments() {
  try {
    const { values, positionals } = parseArgs({
      options: {
        ...{ json: { type: "boolean" }, plot: { type: "boolean" } },
        from: { type: "string", multiple: true },
        ...{ profile: { type: "boolean" }, help: { type: "boolean", short: "h" } },
      },
      allowPositionals: true,
    });
    if (values.help) {
      process.stdout.write(usage);
      process.exit(0);
    }
    const unknown = positionals.filter((name) => !(name in benches));
    if (unknown.length > 0) throw new Error(`There is no bench ${unknown.join(", ")}.`);
    return { names: positionals.length > 0 ? positionals : Object.keys(benches), options: values };
  } catch (error) {
    process.stderr.write(`${(error as Error).message}\n\n${usage}`);
    process.exit(2);
  }
}
