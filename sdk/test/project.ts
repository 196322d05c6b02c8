/** Creates an empty project with the package installed from its packed tarball, without a registry. */
import { execFile } from "node:child_process";
import { cp, mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { delimiter, join, relative } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";

export const run = promisify(execFile);
export const sdk = fileURLToPath(new URL("..", import.meta.url));
export const consumer = join(sdk, "test/consumer");

export async function makeProject(): Promise<string> {
  const project = await mkdtemp(join(tmpdir(), "posthorn-consumer-"));
  await writeFile(join(project, "package.json"), '{ "type": "module", "private": true }');
  const tarball = await pack(project);
  // With an empty cache and no registry, the installation fails if the tarball needs anything else.
  await npm(["install", "--offline", "--cache", join(project, "cache"), `./${tarball}`], project);
  return project;
}

/** Packs a copy inside the checkout, because packing rebuilds dist, and other tests use sdk/dist at the same time. */
async function pack(to: string): Promise<string> {
  const output = join(sdk, "../test/output");
  await mkdir(output, { recursive: true });
  const copy = await mkdtemp(join(output, "sdk-"));
  try {
    const isSource = (path: string) => !/^(dist|node_modules|test)\b/.test(relative(sdk, path));
    await cp(sdk, copy, { recursive: true, filter: isSource });
    const { stdout } = await npm(["pack", "--silent", "--pack-destination", to], copy);
    return stdout.trim().split("\n").at(-1)!;
  } finally {
    await rm(copy, { recursive: true, force: true });
  }
}

async function npm(args: string[], cwd: string) {
  const env = {
    ...process.env,
    npm_config_audit: "false",
    npm_config_fund: "false",
    npm_config_update_notifier: "false",
  };
  return await run("npm", args, { cwd, env });
}

/** This Node and every other supported Node in PATH, as a map from version to path. */
export async function nodes(): Promise<Map<string, string>> {
  const found = new Map([[process.version, process.execPath]]);
  for (const folder of (process.env.PATH ?? "").split(delimiter)) {
    const path = join(folder, "node");
    const version = await run(path, ["--version"]).then(
      ({ stdout }) => stdout.trim(),
      () => "v0",
    );
    if (Number(/^v(\d+)/.exec(version)?.[1]) >= 20 && !found.has(version)) found.set(version, path);
  }
  return found;
}
