/** Audits the dependencies: npm run audit. Checks the lock file, and npm's advisories and signatures if the registry answers. */
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

// npm runs an install script only if allowScripts allows it. Report packages that have one and are not listed.
const listed = Object.keys(manifest.allowScripts ?? {});
for (const [path, { hasInstallScript }] of installed) {
  const name = path.slice(path.lastIndexOf("node_modules/") + "node_modules/".length);
  if (hasInstallScript && !listed.includes(name))
    print(`${name} has an install script, which does not run because allowScripts does not list it`);
}

const served = installed.filter(([, { dev }]) => !dev).length;
print(`lock file: ${installed.length} packages, ${served} of them installed with the server`);
const advisories = npmJson(["audit", "--json"]);
const counts = (advisories as { metadata?: { vulnerabilities: Record<string, number> } } | undefined)?.metadata
  ?.vulnerabilities;
if (!counts) print("advisories: the registry did not answer; run this with access to the registry");
else {
  print(
    `advisories: ${Object.entries(counts)
      .map(([level, count]) => `${level} ${count}`)
      .join(", ")}`,
  );
  if (counts.total! > 0) findings.push("npm audit reports vulnerabilities: run npm audit");
}
const signatures = npmJson(["audit", "signatures", "--json"]) as
  | { invalid?: unknown[]; missing?: unknown[] }
  | undefined;
if (!signatures?.invalid) print("signatures: the registry did not answer; run this with access to the registry");
else {
  print(`signatures: ${signatures.invalid.length} invalid, ${signatures.missing?.length ?? 0} missing`);
  if (signatures.invalid.length > 0) findings.push("packages with an invalid signature: run npm audit signatures");
}

for (const finding of findings) print(`FOUND ${finding}`);
process.exit(findings.length > 0 ? 1 : 0);

/** The JSON output of an npm command; undefined if there is none. */
function npmJson(args: string[]): unknown {
  const { stdout } = spawnSync("npm", args, { encoding: "utf8", maxBuffer: 64 * 1024 * 1024, timeout: 60_000 });
  try {
    return JSON.parse(stdout);
  } catch {
    return undefined;
  }
}

function print(line: string): void {
  process.stdout.write(`${line}\n`);
}
