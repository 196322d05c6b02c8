/** posthorn content: large content in object storage, on a running or a stopped instance. */

import { describeAddress } from "../../objects/address.ts";
import type { ContentStore } from "../../objects/content-store.ts";
import { patienceMinutes } from "../../objects/patience.ts";
import { meanings } from "../../objects/rules/mark.ts";
import { countObjects, readSweep } from "../../objects/store/objects.ts";
import { storeOutages } from "../../objects/store-error.ts";
import { sweep } from "../../objects/sweep.ts";
import { Problem } from "../../ops/problem.ts";
import { type Command, UsageError } from "../command.ts";
import type { Config } from "../config.ts";
import { moveContent } from "../move-content.ts";
import { confirm, yesOption } from "./confirm.ts";
import { showProgress } from "./progress-line.ts";
import { withStore } from "./with-store.ts";

const json = { type: "boolean", help: "print JSON" } as const;

const contentStatus: Command = {
  name: "content status",
  summary: "Show where large content is, whether the object storage serves, and to which database it belongs.",
  options: { json },
  async run({ options, config: read }) {
    const config = read();
    await withStore(config, async ({ sql, contents }) => {
      const counts = await countObjects(sql);
      const { state } = await readSweep(sql);
      const store = contents && (await standingOf(config, contents));
      // PostgreSQL writes microseconds and +00:00.
      const lastSweep = state?.finishedAt && new Date(state.finishedAt).toISOString();
      const status = { ...counts, lastSweep, store };
      if (options.json) return void process.stdout.write(`${JSON.stringify(status)}\n`);
      const lines = [
        store
          ? `Object storage: ${store.address}`
          : "Object storage: none (POSTHORN_CONTENT_URL is not set). All new content goes to the database.",
        ...(store ? [`State: ${store.state}. ${store.advice}`] : []),
        `Parts in object storage: ${counts.objects} (${mebibytes(counts.bytes)} MiB)`,
        `Objects that wait to be deleted: ${counts.unused}`,
        ...(lastSweep ? [`Last sweep: ${lastSweep}`] : []),
      ];
      process.stdout.write(`${lines.join("\n")}\n`);
    });
  },
};

async function standingOf(config: Config, contents: ContentStore) {
  const address = describeAddress(config.content!.address);
  const problem = await contents.check();
  const standing = contents.standing.last()?.standing;
  if (problem && problem.kind !== "wrongMark")
    return { address, standing, state: storeOutages[problem.kind].state, advice: storeOutages[problem.kind].fix };
  return { address, standing, state: problem ? "wrong mark" : "ok", advice: meanings[standing ?? "new"] };
}

const contentMove: Command = {
  name: "content move",
  summary:
    "Carry stored content into the object storage, or back into the database, while mail flows. Repeat it after an interruption.",
  options: {
    to: { type: "string", help: "objects or database" },
    json,
  },
  async run({ options, config: read, stop }) {
    const { to } = options;
    if (to !== "objects" && to !== "database") throw new UsageError("--to: say objects or database.");
    await withStore(read(), async ({ sql, contents }) => {
      const progress = showProgress();
      const done = await moveContent({
        sql,
        contents: required(contents),
        to,
        signal: stop,
        onProgress: ({ moved, bytes, share, waitsFor }) =>
          progress.show(
            `${moved} parts, ${mebibytes(bytes)} MiB${waitsFor ? `; waiting up to ${patienceMinutes} minutes for the object storage (${waitsFor})` : ""}`,
            share,
          ),
      }).finally(progress.end);
      const { moved, bytes, lost } = done;
      if (options.json)
        return void process.stdout.write(`${JSON.stringify({ moved, bytes, lost, stopped: stop.aborted })}\n`);
      if (lost > 0)
        process.stdout.write(
          `${lost} parts are missing or damaged in the object storage and were not moved. Restore their objects, or wait for the end of their retention.\n`,
        );
      process.stdout.write(
        `${moved} parts (${mebibytes(bytes)} MiB) moved to ${to === "objects" ? "the object storage" : "the database"}.\n`,
      );
      if (stop.aborted) process.stdout.write("Stopped before the end. Repeat the command to continue.\n");
      else if (to === "database")
        process.stdout.write(
          "New large content still goes to the object storage while POSTHORN_CONTENT_URL is set. The objects are deleted after an hour.\n",
        );
    });
  },
};

const contentAdopt: Command = {
  name: "content adopt",
  summary: "Make this database the owner of the objects, after a restore, a failover or a change of instances.",
  options: { yes: yesOption, json },
  async run({ options, config: read }) {
    const config = read();
    await confirm(
      "From now on this database decides which objects are deleted. No other copy of it, and no other instance, may use them any longer.",
      { options },
    );
    await withStore(config, async ({ contents }) => {
      await required(contents).standing.adopt();
      const store = await standingOf(config, contents!);
      process.stdout.write(options.json ? `${JSON.stringify(store)}\n` : `${store.advice}\n`);
    });
  },
};

const contentSweep: Command = {
  name: "content sweep",
  summary:
    "Delete objects that no email refers to and that are older than a day. A running program does so once a day.",
  options: { json },
  async run({ options, config: read, stop }) {
    const config = read();
    await withStore(config, async ({ sql, contents, nowMs }) => {
      const progress = showProgress();
      const done = await sweep({
        sql,
        contents: required(contents),
        store: describeAddress(config.content!.address),
        nowMs,
        signal: stop,
        onPage: ({ seen, deleted }) => progress.show(`${seen} objects, ${deleted} deleted`),
      }).finally(progress.end);
      if (options.json) process.stdout.write(`${JSON.stringify(done)}\n`);
      else process.stdout.write(`${done.seen} objects, ${done.deleted} deleted.\n`);
      if (done.kind === "busy")
        throw new Problem("aborted", "Another node is sweeping the object storage. Try again later.");
      if (done.kind === "not allowed") throw new Problem("failed_precondition", meanings.copy);
    });
  },
};

function required(contents: ContentStore | undefined): ContentStore {
  if (!contents) throw new UsageError("POSTHORN_CONTENT_URL is not set: there is no object storage.");
  return contents;
}

function mebibytes(bytes: number): string {
  return (bytes / (1024 * 1024)).toFixed(1);
}

export const content = [contentStatus, contentMove, contentAdopt, contentSweep];
