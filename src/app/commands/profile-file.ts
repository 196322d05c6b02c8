/** The file of named profiles: the URL and the key of other instances. Only its owner may read it. Used by target.ts and profiles.ts. */
import { type FileHandle, mkdir, open, realpath, rename, rm, stat } from "node:fs/promises";
import { homedir } from "node:os";
import { dirname, isAbsolute, join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { UsageError } from "../command.ts";

export type Profile = { url: string; key: string };
export type Profiles = {
  /** The profile that commands use unless they name another one. Undefined: the local data directory. */
  current?: string;
  profiles: Record<string, Profile>;
};

/** The name that stands for the local data directory. */
export const localName = "local";

/** XDG Base Directory Specification: a relative path is invalid and ignored. Undefined for an account without a home directory. */
export function profilePath(env: NodeJS.ProcessEnv): string | undefined {
  const configured = env.XDG_CONFIG_HOME ?? "";
  if (isAbsolute(configured)) return join(configured, "posthorn", "profiles.json");
  const home = env.HOME || homeOfAccount();
  return home && isAbsolute(home) ? join(home, ".config", "posthorn", "profiles.json") : undefined;
}

function homeOfAccount(): string | undefined {
  try {
    return homedir();
  } catch {
    return undefined;
  }
}

/** Without a file there are no profiles. A file that other accounts can read is refused, because they may have read its keys. */
export async function readProfiles(path: string | undefined): Promise<Profiles> {
  if (path === undefined) return { profiles: {} };
  let text: string;
  try {
    const file = await open(path, "r");
    try {
      requirePrivate(path, await file.stat());
      text = await file.readFile("utf8");
    } finally {
      await file.close();
    }
  } catch (error) {
    if (error instanceof UsageError) throw error;
    const { code, message } = error as NodeJS.ErrnoException;
    if (code === "ENOENT" || code === "ENOTDIR") return { profiles: {} };
    throw new UsageError(`Cannot read the profiles in ${path}: ${message}`);
  }
  return parse(path, text);
}

function requirePrivate(path: string, { mode, uid }: { mode: number; uid: number }): void {
  // Windows has no such modes.
  if (process.platform === "win32") return;
  if (mode & 0o077)
    throw new UsageError(
      `Other accounts can read ${path}, which holds API keys (mode ${(mode & 0o777).toString(8)}). Run: chmod 600 ${path}\nIf others use this machine, rotate the keys in it: posthorn keys rotate KEY_ID`,
    );
  const own = process.getuid?.();
  if (own !== undefined && uid !== own && uid !== 0)
    throw new UsageError(
      `${path} belongs to another account, which may have changed it. Set XDG_CONFIG_HOME to a folder of your own.`,
    );
}

function parse(path: string, text: string): Profiles {
  const broken = (what: string) =>
    new UsageError(`${path} is not a file of profiles: ${what}. Correct it, or remove it and add your profiles again.`);
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    // The parser's message would quote the file, which holds keys.
    throw broken("it is not JSON");
  }
  const { current, profiles } = (value ?? {}) as { current?: unknown; profiles?: unknown };
  if (typeof profiles !== "object" || profiles === null || Array.isArray(profiles))
    throw broken("it has no object `profiles`");
  for (const [name, profile] of Object.entries(profiles as Record<string, Partial<Profile> | null>))
    if (typeof profile?.url !== "string" || typeof profile.key !== "string")
      throw broken(`the profile ${JSON.stringify(name)} needs a \`url\` and a \`key\``);
  if (current !== undefined && typeof current !== "string") throw broken("`current` must be the name of a profile");
  return { current, profiles: profiles as Record<string, Profile> };
}

export function findProfile({ profiles }: Profiles, name: string): Profile {
  if (Object.hasOwn(profiles, name)) return profiles[name]!;
  const names = Object.keys(profiles);
  const known = names.length > 0 ? `Known: ${[...names, localName].join(", ")}.` : "There are no profiles yet.";
  throw new UsageError(
    `There is no profile ${JSON.stringify(name)}. ${known} Add it with: posthorn profiles add NAME URL`,
  );
}

export function requireProfileName(name: string): void {
  if (name === localName)
    throw new UsageError(`The name ${localName} stands for the local data directory. Choose another name.`);
  if (!/^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/.test(name) || name === "__proto__")
    throw new UsageError(
      `${JSON.stringify(name)} is not a name for a profile: use up to 64 letters, digits, ".", "_" and "-", for example: production`,
    );
}

/** Another command holds the draft for milliseconds. A draft that is older was left by a killed command. */
const draftOldMs = 10_000;
const waitMs = 50;

/** Changes the file atomically. The draft is also the lock: of two commands at a time, one waits for the other. */
export async function changeProfiles(path: string | undefined, change: (profiles: Profiles) => void): Promise<void> {
  if (path === undefined)
    throw new UsageError("This account has no home directory for profiles. Set XDG_CONFIG_HOME to a folder.");
  try {
    await mkdir(dirname(path), { recursive: true, mode: 0o700 });
    // The file may be a symbolic link into a folder of settings, which stays.
    const real = await realpath(path).catch(() => path);
    const draft = `${real}.new`;
    const file = await openDraft(draft);
    try {
      const profiles = await readProfiles(real);
      change(profiles);
      await file.writeFile(`${JSON.stringify(profiles, null, 2)}\n`);
      await file.sync();
      if (!(await isStill(draft, file))) throw new UsageError(`Another command changes ${path}. Repeat the command.`);
      await rename(draft, real);
    } catch (error) {
      if (await isStill(draft, file)) await rm(draft, { force: true });
      throw error;
    } finally {
      await file.close();
    }
  } catch (error) {
    if ((error as NodeJS.ErrnoException).syscall === undefined) throw error;
    throw new UsageError(`Cannot write the profiles to ${path}: ${(error as Error).message}`);
  }
}

/** A command that was stopped for a while may have lost its draft to another one, which took it as left by a killed command. */
async function isStill(draft: string, file: FileHandle): Promise<boolean> {
  const [found, own] = await Promise.all([stat(draft).catch(() => undefined), file.stat()]);
  return found?.ino === own.ino && found.dev === own.dev;
}

async function openDraft(draft: string) {
  for (;;) {
    try {
      return await open(draft, "wx", 0o600);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
    }
    const made = await stat(draft).catch(() => undefined);
    if (made && Math.abs(Date.now() - made.mtimeMs) > draftOldMs) await rm(draft, { force: true });
    else await delay(waitMs);
  }
}
