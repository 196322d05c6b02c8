/** Where a command acts: on the local data directory, or at another instance that --url, --profile, the environment or the chosen profile
 * names. Used by with-api.ts and profiles.ts. */
import { type Option, UsageError } from "../command.ts";
import { findProfile, localName, profilePath, readProfiles } from "./profile-file.ts";

export type RemoteTarget = {
  url: string;
  key: string;
  /** The name of the profile that it comes from. */
  profile?: string;
};
/** Undefined: the local data directory. */
export type Target = RemoteTarget | undefined;

type Options = Record<string, string | boolean | undefined>;

export const targetOptions = {
  profile: {
    type: "string",
    help: `act at the instance of this profile, or on the ${localName} data directory; default: POSTHORN_PROFILE, or the profile in use`,
  },
  url: {
    type: "string",
    help: "URL of another Posthorn, with its key in POSTHORN_KEY; default: POSTHORN_URL, or else the local data directory",
  },
} satisfies Record<string, Option>;

/** Options win over the environment, and the environment over the profile in use. */
export async function findTarget(options: Options, env: NodeJS.ProcessEnv): Promise<Target> {
  const given = { url: textOf(options.url), profile: textOf(options.profile) };
  // A variable without a value must not move the command to another instance.
  for (const name of ["url", "profile"] as const)
    if (options[name] !== undefined && !given[name])
      throw new UsageError(`--${name} is empty. For the local data directory: --profile ${localName}`);
  if (given.url && given.profile) throw new UsageError("Use either --url or --profile, not both.");
  const set = { url: textOf(env.POSTHORN_URL), profile: textOf(env.POSTHORN_PROFILE) };
  if (!given.url && !given.profile && set.url && set.profile)
    throw new UsageError("POSTHORN_URL and POSTHORN_PROFILE are both set. Unset one of them, or use --profile.");
  const url = given.url ?? (given.profile ? undefined : set.url);
  if (url) return checked({ url, key: (env.POSTHORN_KEY ?? "").trim() });
  const named = given.profile ?? set.profile;
  if (named === localName) return undefined;
  const profiles = await readProfiles(profilePath(env));
  const profile = named ?? profiles.current;
  if (profile === undefined || profile === localName) return undefined;
  return checked({ ...findProfile(profiles, profile), profile });
}

function textOf(value: string | boolean | undefined): string | undefined {
  return typeof value === "string" && value.trim() !== "" ? value.trim() : undefined;
}

export function checked(target: RemoteTarget): RemoteTarget {
  const { key, profile } = target;
  const url = requireUrl(target.url);
  if (key === "")
    throw new UsageError(
      `Set POSTHORN_KEY to an API key of ${url}, or store it with: posthorn profiles add NAME ${url}\nThere is no flag for it, because other accounts on this machine could read it.`,
    );
  if (!/^[\x21-\x7e]+$/.test(key))
    throw new UsageError(
      `The API key ${profile === undefined ? "in POSTHORN_KEY" : `of the profile ${profile}`} contains spaces or other characters that no key has. Copy it again.`,
    );
  return { ...target, url };
}

/** The URL without a slash at its end. */
export function requireUrl(text: string): string {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (!url || !/^https?:$/.test(url.protocol))
    throw new UsageError(`${JSON.stringify(text)} is not a URL such as https://mail.example.com`);
  if (url.username !== "" || url.password !== "" || url.search !== "" || url.hash !== "")
    throw new UsageError(
      "The URL of an instance has no user, password, query or fragment, for example: https://mail.example.com",
    );
  return text.replace(/\/+$/, "");
}

/** For questions and messages: `https://mail.example.com (profile production)`. */
export function nameOf(target: Target): string {
  if (!target) return "the local data directory";
  return target.profile === undefined ? target.url : `${target.url} (profile ${target.profile})`;
}
