/** The value types of settings. Each parser turns a text into its value, or throws with what is wrong and an example. Used by config.ts. */
import ipaddr from "ipaddr.js";
import type { Blocklists } from "../deliverability/blocklists.ts";
import type { SpamFilterSetting } from "../deliverability/spam-filter.ts";
import { readSiteLimits } from "../delivery/rules/site.ts";
import { readSources } from "../delivery/rules/source.ts";
import { parseAddress } from "../mail/address.ts";
import { readStoreAddress, type StoreAddress } from "../objects/address.ts";
import { InvalidDatabaseUrl, readDatabaseUrl } from "../postgres/database-url.ts";

export type Shape<T> = (text: string) => T;

/** Explains why a setting's text is not valid. */
export class InvalidSetting extends Error {}

export type Listen = { host: string; port: number };

export const text: Shape<string> = (any) => any;

export const matching =
  (pattern: RegExp, message: string): Shape<string> =>
  (text) =>
    pattern.test(text) ? text : invalid(message);

export const listen: Shape<Listen> = (text) => {
  const match = /^(?:\[([0-9a-fA-F:.]+)\]|([^\s:[\]]+)):(\d{1,5})$/.exec(text);
  const port = Number(match?.[3]);
  if (!match || port > 65535)
    return invalid(`${quote(text)} is not host:port; write for example 127.0.0.1:8825 or [::1]:8825`);
  return { host: match[1] ?? match[2] ?? "", port };
};

/** Null: do not listen. */
export const listenOrOff: Shape<Listen | null> = (text) => (text === "off" ? null : listen(text));

export const commaList: Shape<string[]> = (text) =>
  text
    .split(",")
    .map((item) => item.trim())
    .filter((item) => item !== "");

export const cidrList: Shape<string[]> = (text) =>
  commaList(text).map((item) =>
    ipaddr.isValidCIDR(item)
      ? item
      : invalid(`${quote(item)} is not a CIDR range; write for example 10.0.0.0/8 or fd00::/8`),
  );

export const ipList: Shape<string[]> = (text) =>
  commaList(text).map((item) => (ipaddr.isValid(item) ? item : invalid(`${quote(item)} is not an IP address`)));

export const listenList: Shape<Listen[]> = (text) =>
  commaList(text).map((item) => {
    try {
      return listen(item.includes(":") ? item : `${item}:53`);
    } catch {
      return invalid(`${quote(item)} is not host:port; write for example 127.0.0.1:53,[::1]:53`);
    }
  });

export const millisList: Shape<number[]> = (text) => {
  const values = commaList(text).map(Number);
  if (values.length === 0 || values.some((v) => !Number.isInteger(v) || v < 0))
    return invalid("must be a comma list of milliseconds; write for example 30000,120000,300000");
  return values;
};

export const whole =
  (min: number, max: number): Shape<number> =>
  (text) => {
    const value = Number(text);
    if (!/^\d+$/.test(text) || value < min || value > max)
      return invalid(`${quote(text)} is not a whole number from ${min} to ${max}`);
    return value;
  };

/** A whole number, or `auto`. */
export const wholeOrAuto =
  (min: number, max: number): Shape<number | "auto"> =>
  (text) => {
    if (text === "auto") return "auto";
    const value = Number(text);
    if (!/^\d+$/.test(text) || value < min || value > max)
      return invalid(`${quote(text)} is neither a whole number from ${min} to ${max} nor auto`);
    return value;
  };

/** A limit. Null: unlimited. */
export const quota: Shape<number | null> = (text) => {
  if (text === "unlimited") return null;
  return /^\d{1,15}$/.test(text) ? Number(text) : invalid(`${quote(text)} is not a whole number or "unlimited"`);
};

export const choice =
  <const T extends readonly string[]>(...values: T): Shape<T[number]> =>
  (text) =>
    values.includes(text) ? text : invalid(`${quote(text)} is not one of: ${values.join(", ")}`);

export const hostName: Shape<string> = (text) => {
  const name = text.replace(/\.$/, "").toLowerCase();
  const valid = /^(?=.{1,253}$)[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?(\.[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?)+$/.test(name);
  return valid ? name : invalid(`${quote(name)} is not a host name with at least one dot`);
};

export const url =
  (...protocols: string[]): Shape<string> =>
  (text) =>
    URL.canParse(text) && protocols.includes(new URL(text).protocol)
      ? text
      : invalid(`must be a URL starting with ${protocols.map((p) => `${p}//`).join(" or ")}`);

/** Returns the text: postgres/hosts.ts reads it again. */
export const databaseUrl: Shape<string> = (text) => {
  try {
    readDatabaseUrl(text);
    return text;
  } catch (error) {
    return error instanceof InvalidDatabaseUrl ? invalid(error.message) : invalid("is not a valid URL");
  }
};

/** A URL that paths are appended to, as `URL` writes it: a host in ASCII, for header fields of emails, and no slash at the end. */
export const baseUrl =
  (...protocols: string[]): Shape<string> =>
  (text) => {
    const { href, username, password } = new URL(url(...protocols)(text));
    // Everyone who gets an email with a link would read them.
    if (username !== "" || password !== "") invalid("must not have a user name or password");
    if (/[?#]/.test(href)) invalid("must not have a query (?) or a fragment (#): paths are appended to it");
    return href.replace(/\/+$/, "");
  };

export const sender: Shape<string> = (text) => {
  const read = parseAddress(text);
  return read.ok ? text : invalid(`${read.reason}; write for example Posthorn <no-reply@example.com>`);
};

/** `3,outlook.com`: after three failures in a row at any site, and always at outlook.com. Empty: no fallback. */
export const relayFallback: Shape<{ afterFailures: number; sites: Set<string> } | undefined> = (text) => {
  const words = commaList(text);
  if (words.length === 0) return undefined;
  const numbers = words.filter((word) => /^[1-9]\d{0,3}$/.test(word)).map(Number);
  const sites = words.filter((word) => !/^\d+$/.test(word)).map((word) => word.toLowerCase());
  return { afterFailures: Math.min(Number.POSITIVE_INFINITY, ...numbers), sites: new Set(sites) };
};

export const siteLimits = (text: string) => {
  const read = readSiteLimits(text);
  return read.ok ? read.limits : invalid(read.reason);
};

export const sources = (text: string) => {
  const read = readSources(text);
  return read.ok ? read.sources : invalid(read.reason);
};

/** `zen.spamhaus.org,domain:dbl.spamhaus.org`: lists of addresses, and lists of domains. `off`: none. */
export const blocklists: Shape<Blocklists> = (text) => {
  const entries = text === "off" ? [] : commaList(text);
  const domains = entries.filter((entry) => entry.startsWith("domain:")).map((entry) => entry.slice(7));
  const addresses = entries.filter((entry) => !entry.startsWith("domain:"));
  return { addresses: addresses.map(hostName), domains: domains.map(hostName) };
};

export const contentUrl: Shape<StoreAddress> = (text) => {
  const read = readStoreAddress(text);
  return read.ok ? read.address : invalid(read.reason);
};

export const spamFilter: Shape<SpamFilterSetting> = (text) => {
  const spamd = /^spamd:(.+)$/.exec(text)?.[1];
  if (spamd !== undefined) return { kind: "spamd", ...listen(spamd) };
  const base = /^rspamd:(https?:\/\/.+)$/.exec(text)?.[1] ?? "";
  if (!URL.canParse(base) || new URL(base).search !== "" || new URL(base).hash !== "")
    return invalid(
      `${quote(text)} is not a spam filter; write for example rspamd:http://127.0.0.1:11333 or spamd:127.0.0.1:783`,
    );
  return { kind: "rspamd", url: base.replace(/\/+$/, "") };
};

function invalid(message: string): never {
  throw new InvalidSetting(message);
}

export function quote(text: string): string {
  return JSON.stringify(text);
}
