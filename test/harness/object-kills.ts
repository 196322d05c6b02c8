/** Kills the program, or a command, at each step of content in object storage, and then checks that nothing is lost and no object is left. */
import { spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import { dayMs } from "../../src/objects/rules/name.ts";
import { sweep } from "../../src/objects/sweep.ts";
import { deleteUnused } from "../../src/objects/unused.ts";
import { endSessions, holdCommits, lockTable, untilBlocked } from "./kill-points.ts";
import { contentOf, createTestContents } from "./object-contents.ts";
import { startObjectStore, type TestStore } from "./object-store.ts";
import { bin, programEnv, runCommand } from "./program.ts";
import { startTestbed, type Testbed } from "./testbed.ts";
import { until } from "./wait.ts";

export type ObjectBed = { testbed: Testbed; store: TestStore; stop(): Promise<void> };

const file = randomBytes(400_000);
const attached = { filename: "film.bin", contentType: "video/mp4", base64Content: file.toString("base64") };

export async function startObjectBed(): Promise<ObjectBed> {
  const store = await startObjectStore();
  const testbed = await startTestbed({ env: store.env });
  return {
    testbed,
    store,
    async stop() {
      await testbed.stop();
      await store.stop();
    },
  };
}

/** Each returns the ids of the emails that were acknowledged, or that are stored without an acknowledgement. */
type Kill = (bed: ObjectBed) => Promise<string[]>;

export const objectKills: Record<string, Kill> = {
  "between the upload and the commit": async ({ testbed, store }) => {
    const lock = await lockTable(testbed, "emails", "share");
    const before = store.requests.length;
    const call = send(testbed).catch(() => undefined);
    await untilBlocked(testbed, "emails");
    if (!store.requests.slice(before).some((one) => one.startsWith("PUT objects/")))
      throw new Error("nothing was uploaded");
    await testbed.newest().kill();
    await endSessions(testbed);
    await lock.release();
    await call;
    await testbed.startNode();
    return [];
  },
  "between the commit and the answer": async ({ testbed }) => {
    const commits = await holdCommits(testbed);
    const call = send(testbed).catch(() => undefined);
    await commits.untilBlocked("emails");
    await testbed.newest().kill();
    await commits.release();
    await call;
    await testbed.startNode();
    return await until("the commit", async () => {
      const rows = await testbed.database.sql<{ id: string }[]>`
        select owner_id as id from content_objects where content = 'emails'`;
      return rows.length > 0 ? rows.map(({ id }) => `em_${id}`) : undefined;
    });
  },
  "in the sweep": async ({ testbed, store }) => {
    const id = await acceptedId(testbed);
    const past = createTestContents(testbed.database.sql, store, () => Date.now() - 3 * dayMs);
    for (let n = 0; n < 5; n++) await past.put(testbed.workspaceId, contentOf(randomBytes(100)));
    await past.stop();
    store.ahead(3 * dayMs);
    await killCommand({ testbed, store }, ["sweep"], (request) => request.startsWith("DELETE objects/"), 3);
    store.ahead(0);
    return [id];
  },
  "in a move to the database": async (bed) => {
    const ids = [await acceptedId(bed.testbed), await acceptedId(bed.testbed), await acceptedId(bed.testbed)];
    await killCommand(bed, ["move", "--to", "database"], (request) => request.startsWith("GET objects/"), 2);
    return ids;
  },
  "in a move to the object storage": async (bed) => {
    const ids = [await acceptedId(bed.testbed), await acceptedId(bed.testbed), await acceptedId(bed.testbed)];
    await content(bed, "move", "--to", "database");
    await killCommand(bed, ["move", "--to", "objects"], (request) => request.startsWith("PUT objects/"), 2);
    return ids;
  },
};

/** Injects the kill. Returns what is broken afterwards. */
export async function killObjects(bed: ObjectBed, kill: Kill): Promise<string[]> {
  const { testbed, store } = bed;
  const { sql } = testbed.database;
  const ids = await kill(bed);
  const broken: string[] = [];
  for (const id of ids) if (!(await isWhole(testbed, id))) broken.push(`${id} cannot be read after the kill`);
  await content(bed, "move", "--to", "objects");
  for (const id of ids) if (!(await isWhole(testbed, id))) broken.push(`${id} cannot be read after the next move`);
  for (const id of ids)
    await until(`${id} to be delivered`, async () => {
      const rows = await sql`select 1 from recipients where email_id = ${id.slice(3)} and status <> 'delivered'`;
      return rows.length === 0;
    });
  // What is left for ever would also be left after two days.
  const contents = createTestContents(sql, store, () => Date.now() + 2 * dayMs);
  store.ahead(2 * dayMs);
  await deleteUnused({ sql, contents, afterMinutes: -1 });
  await sql`delete from settings where name in ('content_sweep', 'content_turn_sweep')`;
  await sweep({ sql, contents, store: "after the kill", nowMs: () => Date.now() + 2 * dayMs });
  await contents.stop();
  store.ahead(0);
  const rows = await sql<{ id: string }[]>`select id from content_objects`;
  const left = (await store.names())
    .filter((name) => name.startsWith("objects/"))
    .map((name) => name.split("/").at(-1)!);
  for (const id of left) if (!rows.some((row) => row.id === id)) broken.push(`the object ${id} is left without a row`);
  for (const { id } of rows) if (!left.includes(id)) broken.push(`the object ${id} is lost`);
  for (const id of ids) if (!(await isWhole(testbed, id))) broken.push(`${id} cannot be read after the sweep`);
  return broken;
}

async function send(testbed: Testbed) {
  return await testbed.call("EmailService/SendEmail", {
    from: "news@sender.test",
    to: ["large@there.test"],
    subject: "Large",
    body: "See the film",
    async: true,
    attachments: [attached],
  });
}

async function acceptedId(testbed: Testbed): Promise<string> {
  const { status, body } = await send(testbed);
  if (status !== 200) throw new Error(JSON.stringify(body));
  return String(body.id);
}

async function isWhole(testbed: Testbed, id: string): Promise<boolean> {
  const { body } = await testbed.call("EmailService/GetEmailContent", { id });
  const raw = Buffer.from(String(body.raw ?? ""), "base64")
    .toString("latin1")
    .replaceAll("\r\n", "");
  return raw.includes(attached.base64Content);
}

function optionsOf({ testbed, store }: Pick<ObjectBed, "testbed" | "store">) {
  const { dataDir } = testbed.program;
  return { dataDir, databaseUrl: testbed.database.url, env: { ...testbed.nodeEnv, ...store.env } };
}

async function content(bed: ObjectBed, ...args: string[]): Promise<void> {
  const { code, stderr } = await runCommand(["content", ...args], optionsOf(bed));
  if (code !== 0) throw new Error(`posthorn content ${args.join(" ")}: ${stderr}`);
}

/** Kills the command when it makes the n-th such request, before the store gets it. */
async function killCommand(
  bed: Pick<ObjectBed, "testbed" | "store">,
  args: string[],
  matches: (request: string) => boolean,
  nth: number,
): Promise<void> {
  const options = optionsOf(bed);
  const child = spawn(process.execPath, [bin, "content", ...args], {
    env: programEnv(options.dataDir, options),
    stdio: "ignore",
  });
  const gone = new Promise((resolve) => child.once("exit", resolve));
  let count = 0;
  bed.store.onRequest(async ({ method, path }) => {
    if (!matches(`${method} ${path}`) || ++count < nth || child.signalCode !== null) return;
    child.kill("SIGKILL");
    await gone;
  });
  await gone;
  bed.store.onRequest(() => {});
  if (child.signalCode !== "SIGKILL") throw new Error(`posthorn content ${args.join(" ")} ended before the kill`);
}
