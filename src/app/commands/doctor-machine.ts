/** What posthorn doctor finds on the machine itself: disk, database, clock. */
import { execFile } from "node:child_process";
import { access, constants, mkdir, stat, statfs } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { databaseNowMs, ping, serverVersion } from "../../store/db.ts";
import { schemaState } from "../../store/schema-state.ts";
import { aliveRoles } from "../../store/workers.ts";
import { type Config, roles } from "../config.ts";
import type { Finding } from "./doctor.ts";
import { withStore } from "./with-store.ts";

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
        found: `${dataDir} cannot be written`,
        fix: `Give it to the account that runs Posthorn: chown ${process.getuid?.()} ${dataDir}`,
      },
    ];
  const { bavail, bsize } = await statfs(dataDir);
  const free = bavail * bsize;
  const found: Finding[] = [
    {
      check: "disk",
      result: free > 5 * gigabyte ? "ok" : free > gigabyte / 2 ? "warn" : "fail",
      found: `${(free / gigabyte).toFixed(1)} GB free in ${dataDir}`,
      ...(free > 5 * gigabyte ? {} : { fix: "Make room, or keep content for fewer days: POSTHORN_CONTENT_DAYS." }),
    },
  ];
  for (const name of ["secret", "first-key", "first-sign-up", "postgres.json"]) {
    const mode = (await stat(join(dataDir, name)).catch(() => undefined))?.mode ?? 0;
    if ((mode & 0o077) !== 0)
      found.push({
        check: "disk",
        result: "fail",
        found: `others can read ${join(dataDir, name)}`,
        fix: `chmod 600 ${join(dataDir, name)}`,
      });
  }
  return found;
}

export async function databaseChecks(config: Config): Promise<Finding[]> {
  return await withStore(config, async ({ sql, embedded }) => {
    const began = performance.now();
    await ping(sql);
    const tookMs = performance.now() - began;
    const { text } = await serverVersion(sql);
    const schema = await schemaState(sql);
    const where = embedded ? "our own" : "DATABASE_URL";
    const found: Finding[] = [
      {
        check: "database",
        result: tookMs < 50 ? "ok" : "warn",
        found: `PostgreSQL ${text} (${where}), schema ${schema.version}, answers in ${tookMs.toFixed(1)} ms`,
        ...(tookMs < 50 ? {} : { fix: "Every email waits for its commit: bring the database nearer." }),
      },
    ];
    const skewMs = Math.round(Math.abs((await databaseNowMs(sql)) - Date.now()));
    if (skewMs > 1000)
      found.push({
        check: "clock",
        result: "warn",
        found: `this machine's clock and the database's are ${skewMs} ms apart`,
        fix: "Let NTP set both clocks.",
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
        found: `no running node does: ${missing.join(", ")}`,
        fix: "Start a node with these in POSTHORN_ROLES.",
      });
    else found.push({ check: "nodes", result: "ok", found: "running nodes cover every role" });
    return found;
  });
}

/** Signatures, tokens and retries go by the time of day. */
export async function clockCheck(): Promise<Finding[]> {
  const said = await promisify(execFile)("timedatectl", ["show", "--property=NTPSynchronized", "--value"]).then(
    ({ stdout }) => stdout.trim(),
    () => "",
  );
  if (said === "yes") return [{ check: "clock", result: "ok", found: "set by NTP" }];
  const found =
    said === "no" ? "the system says that its clock is not set by NTP" : "cannot tell whether NTP sets the clock";
  return [
    {
      check: "clock",
      result: "warn",
      found,
      fix: "Run chrony or systemd-timesyncd: receivers judge dates and signatures.",
    },
  ];
}
