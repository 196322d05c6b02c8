/** npm run bench [-- name …]: runs the benches one at a time. Each figure is compared with a limit measured in the same run. */
import { rmSync } from "node:fs";
import { chmod, mkdtemp, readFile, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { benchAttachments } from "./attachments.ts";
import { benchBatches } from "./batches.ts";
import { benchDestinations } from "./destinations.ts";
import { benchFanout } from "./fanout.ts";
import { benchGrowth } from "./growth.ts";
import { benchHttp } from "./http.ts";
import { benchInbound } from "./inbound.ts";
import { nameOfChild, runInChild, serveBench, stopCurrent } from "./lib/child.ts";
import { preparedVariable, prepareServer } from "./lib/kept.ts";
import { describeMachine, readMachine } from "./lib/machine.ts";
import { minutes, plan } from "./lib/plan.ts";
import { plot } from "./lib/plot.ts";
import { profilePrograms } from "./lib/profile.ts";
import { type Bench, printProfiles, type Row, startProgress, summary, table, withRatio } from "./lib/report.ts";
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
  batches: {
    run: benchBatches,
    about: "accepting in batches of 100, compared with an email per call (--scale 0.3: fewer)",
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

const usage = `npm run bench [-- [name …] [--quick] [--scale N] [--json] [--plot] [--profile] [--from FILE]]

Runs the named benches, one at a time. Without names, it runs all of them except growth, planned for 10 minutes on two cores. Each figure is
compared with a limit or with another program that is measured in the same run. Stop other programs first: the program, its database, the load
generator and the receiver share the machine.

${Object.entries(benches)
  .map(([name, { about }]) => `  ${name.padEnd(14)}${about}`)
  .join("\n")}

  --quick       fewer emails, one measurement of each figure, and only the benches with targets: planned for 2 minutes, less exact
  --scale N     store or send N times as much, in the benches that name it; also as BENCH_SCALE
  --keep DIR    growth: leave the filled stores in DIR and use them again the next time; drops no weeks
  --json        print the rows as JSON on standard output; progress goes to standard error
  --plot        draw the rows into docs/bench.svg
  --from FILE   print or draw the rows that an earlier run wrote with --json; repeatable
  --profile     write CPU profiles of the program to bench/output/ (open them in Chrome's DevTools); this lowers the figures
  --help        show this help

In the table:
  25 % of 400   the ratio to the limit or to the other program, which was measured in turn with the figure
  ±6 %, 3 runs  half of the range of the measurements. A figure is the mean of two, or the median of three if two differ by more than 10 %
  target        what a figure should reach. A missed target changes neither the exit status nor a test
  CPU           the shares of one core that the load generator, the receiver, the program, PostgreSQL and others took meanwhile (Linux).
                Others are the rest of the machine, such as Postfix while it is measured, or programs that disturb the measurement

In a run of all benches, some have a smaller scale, which is printed. Named alone, they have their full size: queue fills 1,000,000 rows.
`;

const plotFile = fileURLToPath(new URL("../docs/bench.svg", import.meta.url));

// run.ts starts itself once for each bench.
if (nameOfChild) await serveBench(async () => await benches[nameOfChild!]!.run(startProgress()));

const { names, options } = readArguments();
const profiles = options.profile ? await profilePrograms() : undefined;
const failed: string[] = [];
let preparing: Promise<void> | undefined;
const all = options.from ? await readRows(options.from) : await measure();
const rows = Object.values(all).flat();
if (options.json) {
  const entries = Object.entries(all).map(([name, some]) => [name, some.map(withRatio)]);
  process.stdout.write(`${JSON.stringify(Object.fromEntries(entries))}\n`);
} else process.stdout.write(`\n${table(rows)}\n${summary(rows)}`);
if (options.plot) {
  await writeFile(plotFile, plot(rows, new Date()));
  process.stderr.write(`plot: ${plotFile}\n`);
}
if (profiles) await printProfiles(await profiles());
if (failed.length > 0) {
  process.stderr.write(`failed: ${failed.join(", ")}\n`);
  process.exitCode = 1;
}

/** A bench that fails or hangs does not stop the others. */
async function measure(): Promise<Record<string, Row[]>> {
  const { quick = false } = options;
  const planned = plan(Object.keys(benches), names, {
    quick,
    scale: options.scale ?? (process.env.BENCH_SCALE || undefined),
  });
  // With --json too: standard error has everything that is not a row.
  process.stderr.write(describeMachine(await readMachine()));
  if (quick) process.stderr.write("--quick: fewer emails and one measurement of each figure, so figures vary more.\n");
  const began = performance.now();
  if (planned.length > 1) {
    preparing = prepareOnce();
    await preparing;
  }
  const expected = planned.reduce((sum, { seconds }) => sum + seconds, 0);
  const measured: Record<string, Row[]> = {};
  for (const [i, { name, seconds, limitMs, scale }] of planned.entries()) {
    const elapsed = minutes((performance.now() - began) / 1000);
    const size = scale === undefined ? "" : ` with --scale ${scale}`;
    process.stderr.write(
      `${name}${size} (${i + 1} of ${planned.length}), about ${seconds} s; ${elapsed} of about ${minutes(expected)} minutes elapsed\n`,
    );
    const progress = startProgress();
    try {
      const env = scale && { env: { BENCH_SCALE: String(scale) } };
      measured[name] = await runInChild({ script: fileURLToPath(import.meta.url), name, limitMs, ...env });
      progress("done");
    } catch (error) {
      failed.push(name);
      progress(`FAILED: ${(error as Error).message}`);
    }
  }
  process.stderr.write(`${minutes((performance.now() - began) / 1000)} minutes in all\n`);
  return measured;
}

async function prepareOnce(): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), "posthorn-bench-server-"));
  process.once("exit", () => rmSync(folder, { recursive: true, force: true }));
  // PostgreSQL runs with another account than root.
  await chmod(folder, 0o755);
  process.env[preparedVariable] = join(folder, "data");
  await prepareServer(process.env[preparedVariable]!);
}

async function readRows(files: readonly string[]): Promise<Record<string, Row[]>> {
  try {
    const read = await Promise.all(files.map(async (file) => JSON.parse(await readFile(file, "utf8"))));
    return Object.assign({}, ...read);
  } catch (error) {
    process.stderr.write(`--from: ${(error as Error).message}\n`);
    process.exit(2);
  }
}

function readArguments() {
  try {
    const { values, positionals } = parseArgs({
      options: {
        // quick and scale are also read by lib/scale.ts, keep by growth.ts.
        quick: { type: "boolean" },
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
    if (unknown.length > 0)
      throw new Error(`There is no bench ${unknown.join(", ")}. Benches: ${Object.keys(benches).join(", ")}.`);
    if (values.from && positionals.length > 0)
      throw new Error(`--from measures nothing. Leave out ${positionals.join(", ")}.`);
    for (const name of ["SIGINT", "SIGTERM"] as const) {
      // test/harness/program.ts ends the process at once.
      process.removeAllListeners(name);
      process.once(name, async () => {
        process.stderr.write("stopping the bench …\n");
        // Its server would write into the folder while that is removed.
        await preparing?.catch(() => {});
        await stopCurrent();
        process.exit(130);
      });
    }
    return { names: positionals, options: values };
  } catch (error) {
    process.stderr.write(`${(error as Error).message}\n\n${usage}`);
    process.exit(2);
  }
}
