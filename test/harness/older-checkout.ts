/** Checks out the program of an older commit as a git worktree in a temporary directory, with the packages installed here. */
import { execFile } from "node:child_process";
import { rmSync } from "node:fs";
import { access, copyFile, mkdir, mkdtemp, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";

const root = fileURLToPath(new URL("../../", import.meta.url));
const run = promisify(execFile);

export type OlderCheckout = { bin: string; settings: ReadonlySet<string>; remove(): Promise<void> };

/** Returns the skip reason if the checkout is not possible: no git, no history, other packages. With TEST_REQUIRE_FOREIGN,
 * missing packages fail the test. Missing history does not, because CI services may make a shallow clone. */
export async function checkOut(commit: string): Promise<OlderCheckout | string> {
  let objects: string;
  try {
    objects = await git(root, "rev-parse", "--git-path", "objects");
  } catch (error) {
    // No git, no repository, or a repository of another account.
    return `git cannot read this checkout: ${(error as Error).message.trim().split("\n").slice(0, 2).join(" ")}`;
  }
  const type = await git(root, "cat-file", "-t", commit).catch(() => "");
  if (type !== "commit")
    return `commit ${commit.slice(0, 7)} is not in the history of this checkout (git fetch --unshallow)`;
  const directory = await mkdtemp(join(tmpdir(), "posthorn-older-"));
  const remove = () => rm(directory, { recursive: true, force: true });
  // For a test that is interrupted.
  process.once("exit", () => rmSync(directory, { recursive: true, force: true }));
  try {
    const checkout = join(directory, "checkout");
    await addWorktree({ directory, checkout, commit, objects: resolve(root, objects) });
    const packages = await linkPackages(checkout);
    if (packages !== undefined) {
      if (process.env.TEST_REQUIRE_FOREIGN) throw new Error(`TEST_REQUIRE_FOREIGN is set, and ${packages}`);
      await remove();
      return packages;
    }
    const config = await readFile(join(checkout, "src/app/config.ts"), "utf8");
    const settings = new Set([...config.matchAll(/\bPOSTHORN_[A-Z_]+\b/g)].map(([name]) => name));
    return { bin: join(checkout, "bin/posthorn.js"), settings, remove };
  } catch (error) {
    await remove();
    throw error;
  }
}

/** Uses a separate repository that borrows the objects of this one, so that nothing is written into this .git even when the
 * test is killed. */
async function addWorktree(to: {
  directory: string;
  checkout: string;
  commit: string;
  objects: string;
}): Promise<void> {
  const repository = join(to.directory, "repository.git");
  await git(to.directory, "init", "--quiet", "--bare", repository);
  await mkdir(join(repository, "objects/info"), { recursive: true });
  await writeFile(join(repository, "objects/info/alternates"), `${to.objects}\n`);
  const shallow = resolve(root, await git(root, "rev-parse", "--git-path", "shallow"));
  await copyFile(shallow, join(repository, "shallow")).catch(() => {});
  await git(repository, "worktree", "add", "--quiet", "--detach", to.checkout, to.commit);
}

/** Links the packages installed here if the lock files are equal, or if every dependency of the older program is installed. */
async function linkPackages(checkout: string): Promise<string | undefined> {
  const [own, older] = await Promise.all(
    [root, checkout].map((folder) => readFile(join(folder, "package-lock.json"), "utf8")),
  );
  if (own !== older) {
    const { dependencies } = JSON.parse(await readFile(join(checkout, "package.json"), "utf8")) as {
      dependencies: Record<string, string>;
    };
    for (const name of Object.keys(dependencies)) {
      const installed = await access(join(root, "node_modules", name)).then(
        () => true,
        () => false,
      );
      if (!installed) return `the older program needs the package ${name}, which is not installed here`;
    }
  }
  await symlink(join(root, "node_modules"), join(checkout, "node_modules"));
  return undefined;
}

async function git(folder: string, ...args: string[]): Promise<string> {
  // A git hook that runs the tests sets GIT_* variables for its own repository.
  const env = Object.fromEntries(Object.entries(process.env).filter(([name]) => !name.startsWith("GIT_")));
  const { stdout } = await run("git", args, { cwd: folder, env, timeout: 60_000 });
  return stdout.trim();
}
