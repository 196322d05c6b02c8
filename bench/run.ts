/** npm run bench [-- name …]: runs the benches one at a time. Each figure is compared with a limit measured in the same run. */
import { readFile, writeFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { benchAttachments } from "./attachments.ts";
import { benchDestinations } from "./destinations.ts";
import { benchFanout } from "./fanout.ts";
import { benchGrowth } from "./growth.ts";
import { benchHttp } from "./http.ts";
import { benchInbound } from "./inbound.ts";
import { plot } from "./lib/plot.ts";
import { profilePrograms } from "./lib/profile.ts";
import { type Bench, printProfiles, printProgress, type Row, table, withRatio } from "./lib/report.ts";
import { benchPartitions } from "./partitions.ts";
import { benchProcesses } from "./processes.ts";
import { benchQueue } from "./queue.ts";
import { benchRecipients } from "./recipients.ts";
import { benchSend } from "./send.ts";
import { benchSign } from "./sign.ts";
import { benchStart } from "./start.ts";
import { benchStream } from "./stream.ts";
import { benchSubmission } from "./submission.ts";
import { benchWebhooks } from "./webhooks.ts";

const benches: Record<string, { run: Bench; about: string }> = {
  http: { run: benchHttp, about: "unary calls, compared with connect-node and plain node:http" },
  send: {
    run: benchSend,
    about: "accepting and delivering with DKIM, compared with inserts, signatures, and Postfix with OpenDKIM",
  },
  sign: { run: benchSign, about: "signatures with two and three primes, and with other sizes of keys" },
  recipients: {
    run: benchRecipients,
    about: "delivering to 1, 5 and 50 recipients per email at one site (--scale 0.3: fewer emails)",
  },
  destinations: { run: benchDestinations, about: "delivering to 1,000 domains" },
  queue: {
    run: benchQueue,
    about: "new mail next to slow and dead sites, a flood, 1,000,000 queued rows (--scale 0.1: a tenth)",
  },
  growth: {
    run: benchGrowth,
    about:
      "calls on a store of 3,333,333 emails and 10,000,000 events, compared with a young store (--scale 3: three times as many)",
  },
  partitions: {
    run: benchPartitions,
    about: "what a year of weekly partitions costs an email (--scale 0.3: fewer stored emails)",
  },
  attachments: { run: benchAttachments, about: "attachments of 5 MiB, compared with bare SMTP" },
  webhooks: { run: benchWebhooks, about: "events posted to webhooks, compared with plain node:http" },
  inbound: { run: benchInbound, about: "inbound messages, compared with Postfix" },
  submission: { run: benchSubmission, about: "messages submitted over SMTP, compared with Postfix" },
  processes: {
    run: benchProcesses,
    about: "accepting and delivering with 1, 2 and 4 processes (--scale 0.3: fewer emails)",
  },
  fanout: {
    run: benchFanout,
    about: "events to 1,000 live streams, compared with plain writes (--scale 0.3: fewer events)",
  },
  stream: { run: benchStream, about: "time from commit to stream reader, alone and with 2,000 idle streams" },
  start: { run: benchStart, about: "time of a start on 100,000 emails until ready (--scale 0.1: fewer emails)" },
};

const usage = `npm run bench [-- [name …] [--scale N] [--json] [--plot] [--profile] [--from FILE]]

Runs every bench, or the named ones, one at a time. Each figure is compared with a limit measured in the same run.
Stop other programs first: the program, its database, the load and the receiver share the machine.

${Object.entries(benches)
  .map(([name, { about }]) => `  ${name.padEnd(14)}${about}`)
  .join("\n")}

  --scale N     store or send N times as much, in the benches that name it; also as BENCH_SCALE
  --keep DIR    growth: leave the filled stores in DIR and use them again the next time; drops no weeks
  --json        print the rows as JSON on standard output; progress goes to standard error
  --plot        draw the rows into docs/bench.svg
  --from FILE   print or draw the rows that an earlier run wrote with --json; repeatable
  --profile     write CPU profiles of the program to bench/output/ (open them in Chrome's DevTools); this lowers the figures
  --help        show this help
`;

const plotFile = fileURLToPath(new URL("../docs/bench.svg", import.meta.url));

const { names, options } = readArguments();
const profiles = options.profile ? await profilePrograms() : undefined;
const all = options.from ? await readRows(options.from) : await measure(names);
const rows = Object.values(all).flat();
if (options.json) {
  const entries = Object.entries(all).map(([name, some]) => [name, some.map(withRatio)]);
  process.stdout.write(`${JSON.stringify(Object.fromEntries(entries))}\n`);
} else process.stdout.write(`\n${table(rows)}`);
if (options.plot) {
  await writeFile(plotFile, plot(rows, new Date()));
  process.stderr.write(`plot: ${plotFile}\n`);
}
if (profiles) await printProfiles(await profiles());

async function measure(which: readonly string[]): Promise<Record<string, Row[]>> {
  const measured: Record<string, Row[]> = {};
  for (const [i, name] of which.entries()) {
    process.stderr.write(`${name} (${i + 1} of ${which.length})\n`);
    const began = performance.now();
    measured[name] = await benches[name]!.run(printProgress);
    printProgress(`done in ${Math.round((performance.now() - began) / 1000)} s`);
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
        // Read by lib/scale.ts.
        scale: { type: "string" },
        keep: { type: "string" },
        json: { type: "boolean" },
        plot: { type: "boolean" },
        from: { type: "string", multiple: true },
        profile: { type: "boolean" },
        help: { type: "boolean", short: "h" },
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
