/** Judges what is installed with us: node scripts/audit.ts. The lock file by itself, then npm's advisories and signatures where the registry answers. */
import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";

type Locked = {
  version?: string;
  integrity?: string;
  link?: boolean;
  resolved?: string;
  hasInstallScript?: boolean;
  dev?: boolean;
};
type Manifest = {
  dependencies?: Record<string, string>;
  devDependencies?: Record<string, string>;
  allowScripts?: Record<string, boolean>;
};

const read = <T>(path: string) => JSON.parse(readFileSync(new URL(`../${path}`, import.meta.url), "utf8")) as T;
const { packages } = read<{ packages: Record<string, Locked> }>("package-lock.json");
const manifest = read<Manifest>("package.json");
const folders = ["", "sdk", "web"];
const installed = Object.entries(packages).filter(([path, { link }]) => path.includes("node_modules/") && !link);
const findings: string[] = [];

for (const [path, { integrity, resolved }] of installed) {
  if (!integrity) findings.push(`${path} has no checksum in the lock file`);
  if (resolved && !resolved.startsWith("https://registry.npmjs.org/")) findings.push(`${path} comes from ${resolved}`);
}

for (const folder of folders) {
  const { dependencies, devDependencies } = read<Manifest>(`${folder === "" ? "" : `${folder}/`}package.json`);
  for (const [name, version] of Object.entries({ ...dependencies, ...devDependencies }))
    if (!/^\d+\.\d+\.\d+/.test(version))
      findings.push(`${name} of ${folder || "the server"} is not pinned: ${version}`);
}

// npm runs no install script that allowScripts does not name; each that wants one must have been decided about.
const decided = Object.keys(manifest.allowScripts ?? {});
for (const [path, { hasInstallScript }] of installed) {
  const name = path.slice(path.lastIndexOf("node_modules/") + "node_modules/".length);
  if (hasInstallScript && !decided.includes(name))
    say(`${name} wants to run a script when it is installed; allowScripts does not name it, so it does not`);
}

const served = installed.filter(([, { dev }]) => !dev).length;
say(`lock file: ${installed.length} packages, ${served} of them installed with the server`);
const advisories = ask(["audit", "--json"]);
const counts = (advisories as { metadata?: { vulnerabilities: Record<string, number> } } | undefined)?.metadata
  ?.vulnerabilities;
if (!counts) say("advisories: the registry did not answer; run it where it does");
else {
  say(
    `advisories: ${Object.entries(counts)
      .map(([level, count]) => `${level} ${count}`)
      .join(", ")}`,
  );
  if (counts.total! > 0) findings.push("npm audit knows of vulnerabilities: run npm audit");
}
const signatures = ask(["audit", "signatures", "--json"]) as { invalid?: unknown[]; missing?: unknown[] } | undefined;
if (!signatures?.invalid) say("signatures: the registry did not answer; run it where it does");
else {
  say(`signatures: ${signatures.invalid.length} wrong, ${signatures.missing?.length ?? 0} without one`);
  if (signatures.invalid.length > 0) findings.push("packages with a wrong signature: run npm audit signatures");
}

for (const finding of findings) say(`FOUND ${finding}`);
process.exit(findings.length > 0 ? 1 : 0);

function ask(args: string[]): unknown {
  const { stdout } = spawnSync("npm", args, { encoding: "utf8", maxBuffer: 64 * 1024 * 1024, timeout: 60_000 });
  try {
    return JSON.parse(stdout);
  } catch {
    return undefined;
  }
}

function say(line: string): void {
  process.stdout.write(`${line}\n`);
}
