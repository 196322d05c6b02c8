/** The checks of posthorn doctor on the machine itself: disk, database, clock. */
import { execFile } from "node:child_process";
import { access, constants, mkdir, stat, statfs } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { outageOf } from "../../../postgres/outage.ts";
import { databaseNowMs, ping, serverVersion } from "../../../postgres/pool.ts";
import { schemaState } from "../../../postgres/schema-state.ts";
import { aliveRoles } from "../../../postgres/workers.ts";
import type { Config } from "../../config.ts";
import type { Store } from "../../open-store.ts";
import { roles } from "../../settings.ts";
import { withStore } from "../with-store.ts";
import type { Finding } from "./finding.ts";
import { replicationChecks } from "./replication.ts";

const gigabyte = 1024 ** 3;

export async function diskChecks({ dataDir }: Config): Promise<Finding[]> {
  await mkdir(dataDir, { recursive: true, mode: 0o700 });
  const writable = await access(dataDir, constants.W_OK).then(
    () => true,
    () => false,
  );
  if (!writable)
    return [
      {
        check: "disk",
        result: "fail",
        found: `${dataDir} is not writable`,
        fix: `Make it belong to the account that runs Posthorn: chown ${process.getuid?.()} ${dataDir}`,
      },
    ];
  const { bavail, bsize } = await statfs(dataDir);
  const free = bavail * bsize;
  const found: Finding[] = [
    {
      check: "disk",
      result: free > 5 * gigabyte ? "ok" : free > gigabyte / 2 ? "warn" : "fail",
      found: `${(free / gigabyte).toFixed(1)} GB free in ${dataDir}`,
      ...(free > 5 * gigabyte
        ? {}
        : { fix: "Free some space, or keep content for fewer days: POSTHORN_CONTENT_DAYS." }),
    },
  ];
  for (const name of ["secret", "secret.previous", "first-key", "first-sign-up", "postgres.json"]) {
    const mode = (await stat(join(dataDir, name)).catch(() => undefined))?.mode ?? 0;
    if ((mode & 0o077) !== 0)
      found.push({
        check: "disk",
        result: "fail",
        found: `other accounts can read ${join(dataDir, name)}`,
        fix: `chmod 600 ${join(dataDir, name)}`,
      });
  }
  return found;
}

export async function databaseChecks(config: Config): Promise<Finding[]> {
  return await withStore(config, checkStore, { waitForServerMs: 2000 }).catch((error) => {
    const found = brokenDatabase(error);
    if (!found) throw error;
    return [found];
  });
}

/** The finding for an outage, with its own fix. Undefined for any other error. */
function brokenDatabase(error: unknown): Finding | undefined {
  const cause = (error as Error).cause;
  const outage = outageOf(error) ?? outageOf(cause);
  if (!outage) return undefined;
  const { message } = (outageOf(error) ? error : cause) as Error;
  return { check: "database", result: "fail", found: `${outage.problem}: ${message}`, fix: outage.fix };
}

async function checkStore({ sql, embedded }: Store): Promise<Finding[]> {
  const began = performance.now();
  await ping(sql);
  const tookMs = performance.now() - began;
  const { text } = await serverVersion(sql);
  const schema = await schemaState(sql);
  const where = embedded ? "embedded" : "DATABASE_URL";
  const found: Finding[] = [
    {
      check: "database",
      result: tookMs < 50 ? "ok" : "warn",
      found: `PostgreSQL ${text} (${where}), schema ${schema.version}, answers in ${tookMs.toFixed(1)} ms`,
      ...(tookMs < 50 ? {} : { fix: "Every email waits for a commit, so run the database closer to this machine." }),
    },
  ];
  found.push(...(await replicationChecks(sql)));
  const skewMs = Math.round(Math.abs((await databaseNowMs(sql)) - Date.now()));
  if (skewMs > 1000)
    found.push({
      check: "clock",
      result: "warn",
      found: `the clocks of this machine and of the database differ by ${skewMs} ms`,
      fix: "Synchronize both with NTP.",
    });
  const alive = await aliveRoles(sql);
  const missing = roles.filter((role) => !alive.has(role));
  if (alive.size === 0)
    found.push({
      check: "nodes",
      result: "warn",
      found: "no Posthorn runs on this database",
      fix: "Start one: npm start",
    });
  else if (missing.length > 0)
    found.push({
      check: "nodes",
      result: "fail",
      found: `no running node has the roles: ${missing.join(", ")}`,
      fix: "Start a node with these roles in POSTHORN_ROLES.",
    });
  else found.push({ check: "nodes", result: "ok", found: "running nodes cover every role" });
  const unwritable = await sql.health.testWrite().then(() => undefined, brokenDatabase);
  return unwritable ? [unwritable, ...found] : found;
}

/** Signatures, tokens and retries depend on the time of day. */
export async function clockCheck(): Promise<Finding[]> {
  const synchronized = await promisify(execFile)("timedatectl", ["show", "--property=NTPSynchronized", "--value"]).then(
    ({ stdout }) => stdout.trim(),
    () => "",
  );
  if (synchronized === "yes") return [{ check: "clock", result: "ok", found: "synchronized by NTP" }];
  const found =
    synchronized === "no"
      ? "the clock is not synchronized by NTP"
      : "cannot determine whether NTP synchronizes the clock";
  return [
    {
      check: "clock",
      result: "warn",
      found,
      fix: "Run chrony or systemd-timesyncd: receivers check dates and signatures.",
    },
  ];
}
