/** The settings of single sign-on: one set for each provider that POSTHORN_OIDC names, as POSTHORN_OIDC_<NAME>_ISSUER. --help and
 * deploy/.env.example show the pattern; config.ts reads it. */
import ipaddr from "ipaddr.js";
import { type Role, roles } from "../http/caller.ts";
import type { ProviderSettings } from "../people/rules/provider.ts";
import { choice, commaList, hostName, InvalidSetting, matching, quote, type Shape, text } from "./config-shapes.ts";

const prefix = "POSTHORN_OIDC_";

export const oidcNames: Shape<string[]> = (list) =>
  [...new Set(commaList(list))].map((name) =>
    /^[a-z][a-z0-9]{0,30}$/.test(name)
      ? name
      : refuse(`${quote(name)} is not a name in lower-case letters and digits; write for example google,okta`),
  );

/** RFC 8414 §2: https without query and fragment. Plain http is for a provider on this machine. */
const issuer: Shape<string> = (value) => {
  if (!URL.canParse(value)) return refuse("must be a URL such as https://login.example.com");
  const { protocol, hostname, pathname, search, hash, username } = new URL(value);
  if (search !== "" || hash !== "" || username !== "" || value.includes("/.well-known/"))
    return refuse("must be the issuer itself, without a query, a user or /.well-known/openid-configuration");
  const isLocal = hostname === "localhost" || isLoopbackAddress(hostname.replace(/^\[|\]$/g, ""));
  if (protocol !== "https:" && !(protocol === "http:" && isLocal))
    return refuse("must start with https://; http:// is only for a provider on this machine");
  // There every Microsoft customer can sign in, and each one writes the email addresses of its own people.
  if (hostname === "login.microsoftonline.com" && /^\/(common|organizations|consumers)\b/.test(pathname))
    return refuse("must be the issuer of your own tenant: https://login.microsoftonline.com/TENANT-ID/v2.0");
  return value;
};

function isLoopbackAddress(host: string): boolean {
  return ipaddr.isValid(host) && ipaddr.process(host).range() === "loopback";
}

const domainList: Shape<string[]> = (list) => commaList(list).map(hostName);

/** `admins=owner,devs=developer`. A claim's value may contain `=`, but no comma. */
const roleMap: Shape<{ value: string; role: Role }[]> = (list) =>
  commaList(list).map((pair) => {
    const at = pair.lastIndexOf("=");
    const value = pair.slice(0, Math.max(0, at)).trim();
    const role = roles.find((one) => one === pair.slice(at + 1).trim());
    if (value === "" || !role)
      return refuse(
        `${quote(pair)} is not VALUE=ROLE with a role of ${roles.join(", ")}; write for example admins=owner`,
      );
    return { value, role };
  });

const claimName = matching(/^\S{1,200}$/, "must be the name of a claim, such as groups or realm_access.roles");

/** The settings of one provider, by the end of their names. */
export const oidcSettings = {
  ISSUER: { shape: issuer, help: "URL of the provider, as in its discovery document. Required." },
  CLIENT_ID: { shape: text, help: "Id of this service at the provider. Required." },
  CLIENT_SECRET: {
    shape: text,
    help: "Secret of this service at the provider. Unset: a public client, with PKCE alone.",
  },
  LABEL: {
    shape: matching(/^[^\p{Cc}]{1,60}$/u, "must have 1 to 60 characters"),
    help: "Name on the sign-in button. Default: the name in POSTHORN_OIDC.",
  },
  SCOPES: { shape: text, value: "openid email profile", help: "Scopes to request, separated by spaces." },
  DOMAINS: {
    shape: domainList,
    value: "",
    help: "Domains of the verified email addresses whose people may sign up; comma list. Empty: only people with an account or an invitation.",
  },
  WORKSPACE: {
    shape: text,
    help: "Name or id of the workspace that people join who sign up or get a role. Required with DOMAINS and ROLE_CLAIM.",
  },
  ROLE: {
    shape: choice(...roles),
    value: "viewer",
    help: "Role of people who sign up, without ROLE_CLAIM: owner, developer or viewer.",
  },
  ROLE_CLAIM: {
    shape: claimName,
    help: "Claim that decides the role in the workspace at each sign-in; dots lead into objects.",
  },
  ROLES: {
    shape: roleMap,
    value: "",
    help: "Role for each value of the claim: admins=owner,devs=developer. The highest one counts.",
  },
  EMAIL_VERIFIED_CLAIM: {
    shape: claimName,
    value: "email_verified",
    help: "Claim by which the provider says that it has verified the email address.",
  },
  SECOND_FACTOR: {
    shape: choice("own", "trusted"),
    value: "own",
    help: "trusted: a sign-in by the provider counts as one with a second factor.",
  },
  AUTH_TIME: {
    shape: choice("discovered", "never"),
    value: "discovered",
    help: "never: the provider does not say when a person signed in there, although its discovery document lists auth_time.",
  },
} as const satisfies Record<string, { shape: Shape<unknown>; value?: string; help: string }>;

type Values = { [K in keyof typeof oidcSettings]: ReturnType<(typeof oidcSettings)[K]["shape"]> };

/** Whether the name is one of a provider. Such names are not in the table of settings. */
export function isOidcSetting(name: string): boolean {
  return name.startsWith(prefix);
}

/** Reads the settings of all named providers, and reports names in the environment that belong to none. */
export function readProviders(
  env: Record<string, string | undefined>,
  names: readonly string[],
  problems: string[],
): ProviderSettings[] {
  for (const name of Object.keys(env).filter(isOidcSetting)) problems.push(...unknownSetting(name, names));
  return names.flatMap((name) => readProvider(env, name, problems) ?? []);
}

function readProvider(
  env: Record<string, string | undefined>,
  name: string,
  problems: string[],
): ProviderSettings | undefined {
  const before = problems.length;
  const nameOf = (end: keyof typeof oidcSettings) => `${prefix}${name.toUpperCase()}_${end}`;
  const read: Record<string, unknown> = {};
  for (const [end, setting] of Object.entries(oidcSettings) as [
    keyof Values,
    { shape: Shape<unknown>; value?: string },
  ][]) {
    const value = env[nameOf(end)]?.trim() || setting.value;
    if (value === undefined) continue;
    try {
      read[end] = setting.shape(value);
    } catch (error) {
      if (!(error instanceof InvalidSetting)) throw error;
      problems.push(`${nameOf(end)}: ${error.message}`);
    }
  }
  if (problems.length > before) return undefined;
  const values = read as Partial<Values>;
  const need = (end: keyof Values, why: string) => {
    if (values[end] === undefined) problems.push(`${nameOf(end)}: ${why}`);
  };
  need("ISSUER", `is required, because POSTHORN_OIDC names ${name}`);
  need("CLIENT_ID", `is required, because POSTHORN_OIDC names ${name}`);
  if (values.DOMAINS!.length > 0 || values.ROLE_CLAIM) need("WORKSPACE", "is required: the workspace that people join");
  if (values.ROLE_CLAIM && values.ROLES!.length === 0)
    problems.push(
      `${nameOf("ROLES")}: is required with ${nameOf("ROLE_CLAIM")}; write for example admins=owner,devs=developer`,
    );
  if (!values.ROLE_CLAIM && values.ROLES!.length > 0)
    problems.push(`${nameOf("ROLE_CLAIM")}: is required with ${nameOf("ROLES")}; write for example groups`);
  if (!values.SCOPES!.split(/\s+/).includes("openid")) problems.push(`${nameOf("SCOPES")}: must contain openid`);
  if (problems.length > before) return undefined;
  return {
    name,
    label: values.LABEL ?? name,
    issuer: values.ISSUER!,
    clientId: values.CLIENT_ID!,
    clientSecret: values.CLIENT_SECRET,
    scopes: values.SCOPES!,
    domains: values.DOMAINS!,
    workspace: values.WORKSPACE,
    workspaceSetting: nameOf("WORKSPACE"),
    role: values.ROLE!,
    roleClaim: values.ROLE_CLAIM,
    roles: values.ROLES!,
    emailVerifiedClaim: values.EMAIL_VERIFIED_CLAIM!,
    secondFactorTrusted: values.SECOND_FACTOR === "trusted",
    neverSaysWhen: values.AUTH_TIME === "never",
  };
}

function unknownSetting(setting: string, names: readonly string[]): string[] {
  const rest = setting.slice(prefix.length);
  const name = names.find((one) => rest.startsWith(`${one.toUpperCase()}_`));
  const ends = Object.keys(oidcSettings);
  if (name === undefined)
    return [
      `${setting} is not a setting of a provider that POSTHORN_OIDC names (${names.join(", ") || "it names none"}); name the provider there, or remove it`,
    ];
  if (ends.includes(rest.slice(name.length + 1))) return [];
  return [`${setting} is not a Posthorn setting; a provider has ${ends.map((end) => `_${end}`).join(", ")}`];
}

function refuse(message: string): never {
  throw new InvalidSetting(message);
}
