/** posthorn profiles: names for other instances, each with its URL and key, in a file that only its owner can read. */
import { text } from "node:stream/consumers";
import { Problem } from "../../ops/problem.ts";
import { type Command, UsageError } from "../command.ts";
import { fittedTable, jsonLine, write } from "../output.ts";
import { createApi } from "./api-client.ts";
import { confirm, yesOption } from "./confirm.ts";
import {
  changeProfiles,
  findProfile,
  localName,
  profilePath,
  readProfiles,
  requireProfileName,
} from "./profile-file.ts";
import { readHidden } from "./read-hidden.ts";
import { readWords } from "./read-options.ts";
import { checked, requireUrl } from "./target.ts";

const profilesAdd: Command = {
  name: "profiles add",
  summary: "Store the URL and the key of another instance. The key comes from POSTHORN_KEY or standard input.",
  words: "NAME URL",
  options: {
    replace: { type: "boolean", help: "replace a profile that has this name" },
    "no-check": { type: "boolean", help: "do not try the key at the instance" },
  },
  async run({ words, options }) {
    const example = "profiles add production https://mail.example.com";
    const [name, given] = readWords(words, ["a name", "the URL of an instance"], example);
    requireProfileName(name);
    const url = requireUrl(given);
    const path = profilePath(process.env);
    const refuseSecond = (profiles: Record<string, unknown>) => {
      if (Object.hasOwn(profiles, name) && !options.replace)
        throw new UsageError(`The profile ${name} exists. To replace it: --replace`);
    };
    refuseSecond((await readProfiles(path)).profiles);
    // Before the key is typed or sent.
    if (new URL(url).protocol === "http:" && !isLoopback(url))
      process.stderr.write(`${url} is not encrypted: others on the network can read the key. Use https if you can.\n`);
    const key = await readKey(url);
    checked({ url, key });
    if (!options["no-check"]) await tryKey(url, key);
    await changeProfiles(path, ({ profiles }) => {
      refuseSecond(profiles);
      profiles[name] = { url, key };
    });
    await write(
      `Profile ${name} stored in ${path}. Use it with --profile ${name}, or for all commands: posthorn profiles use ${name}\n`,
    );
  },
};

function isLoopback(url: string): boolean {
  return /^(localhost|127\.\d+\.\d+\.\d+|\[::1\])$/.test(new URL(url).hostname);
}

/** Not from an option: other accounts on this machine can read the arguments of a process. */
async function readKey(url: string): Promise<string> {
  const fromEnv = (process.env.POSTHORN_KEY ?? "").trim();
  const other = otherInstance(url);
  if (fromEnv !== "" && other === undefined) return fromEnv;
  const key = (process.stdin.isTTY ? await readHidden(`API key of ${url}: `) : await text(process.stdin)).trim();
  if (key === "" && fromEnv !== "")
    throw new UsageError(
      `No key was given. The one in POSTHORN_KEY belongs to ${other}, which POSTHORN_URL names. Write the key of ${url} to standard input.`,
    );
  if (key === "") throw new UsageError("No key was given. Set POSTHORN_KEY, or write the key to standard input.");
  return key;
}

/** The instance in POSTHORN_URL, if it is not the one at `url`: the key in POSTHORN_KEY must not be sent to another one. */
function otherInstance(url: string): string | undefined {
  const set = (process.env.POSTHORN_URL ?? "").trim();
  return set === "" || new URL(requireUrl(set)).href === new URL(url).href ? undefined : set;
}

/** Every key may ask for an email, or learns that it may not. Both prove that the key is valid. */
async function tryKey(url: string, key: string): Promise<void> {
  const id = "em_00000000-0000-7000-8000-000000000000";
  await createApi({ url, key })
    .call("EmailService/GetEmail", { id })
    .catch((error) => {
      if (!(error instanceof Problem)) throw error;
      if (error.code === "not_found" || error.code === "permission_denied") return;
      throw new Problem(error.code, `${error.message} Nothing was stored. To store it anyway: --no-check`, {
        cause: error,
      });
    });
}

const profilesList: Command = {
  name: "profiles list",
  summary: "List the profiles, without their keys.",
  options: { json: { type: "boolean", help: "one JSON object per line" } },
  async run({ options }) {
    const { current, profiles } = await readProfiles(profilePath(process.env));
    const rows = Object.entries(profiles).map(([name, { url, key }]) => ({
      name,
      url,
      keyPrefix: prefixOf(key),
      inUse: name === current,
    }));
    if (options.json) for (const row of rows) await write(jsonLine(row));
    else if (rows.length === 0) await write("No profiles yet. Add the first one: posthorn profiles add NAME URL\n");
    else {
      const lines = rows.map(({ name, url, keyPrefix, inUse }) => [name, url, `${keyPrefix}…`, inUse ? "yes" : ""]);
      await write(fittedTable([["NAME", "URL", "KEY", "IN USE"], ...lines], []));
    }
  },
};

/** The public part of a key. A key that an operator chose has none. */
function prefixOf(key: string): string {
  return /^(ph_(?:test_)?[0-9A-Za-z]{8})_/.exec(key)?.[1] ?? "";
}

const profilesUse: Command = {
  name: "profiles use",
  summary: `Let all commands act at the instance of a profile, or with ${localName} on the local data directory again.`,
  words: `NAME|${localName}`,
  options: {},
  async run({ words }) {
    const [name] = readWords(words, ["a name"], "profiles use production");
    const path = profilePath(process.env);
    await changeProfiles(path, (profiles) => {
      if (name !== localName) findProfile(profiles, name);
      profiles.current = name === localName ? undefined : name;
    });
    const { profiles } = await readProfiles(path);
    const place = name === localName ? "on the local data directory" : `at ${profiles[name]?.url}`;
    await write(`Commands act ${place} from now on.\n`);
  },
};

const profilesRemove: Command = {
  name: "profiles remove",
  summary: "Remove a profile and its key from the file. The key itself stays valid.",
  words: "NAME",
  options: { yes: yesOption },
  async run({ words, options }) {
    const [name] = readWords(words, ["a name"], "profiles remove production");
    const path = profilePath(process.env);
    findProfile(await readProfiles(path), name);
    await confirm(`This removes the profile ${name} and its key from ${path}.`, { options });
    await changeProfiles(path, (profiles) => {
      delete profiles.profiles[name];
      if (profiles.current === name) profiles.current = undefined;
    });
    await write(`Profile ${name} removed. If the key is no longer used, revoke it at the instance.\n`);
  },
};

export const profiles = [profilesAdd, profilesList, profilesUse, profilesRemove];
