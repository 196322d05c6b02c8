/** The shapes that settings may have: each turns a text into its value, or says what is wrong and how to write it. */
import ipaddr from "ipaddr.js";
import { parseAddress } from "../mail/address.ts";
import { readSiteLimits } from "../rules/site-limits.ts";
import { readSources } from "../rules/source.ts";

export type Shape<T> = (text: string) => T;

/** What is wrong with a setting's text. */
export class WrongText extends Error {}

export type Listen = { host: string; port: number };

export const text: Shape<string> = (any) => any;

export const matching =
  (pattern: RegExp, otherwise: string): Shape<string> =>
  (text) =>
    pattern.test(text) ? text : wrong(otherwise);

export const listen: Shape<Listen> = (text) => {
  const match = /^(?:\[([0-9a-fA-F:.]+)\]|([^\s:[\]]+)):(\d{1,5})$/.exec(text);
  const port = Number(match?.[3]);
  if (!match || port > 65535)
    return wrong(`${quote(text)} is not host:port; write for example 127.0.0.1:8825 or [::1]:8825`);
  return { host: match[1] ?? match[2] ?? "", port };
};

export const commaList: Shape<string[]> = (text) =>
  text
    .split(",")
    .map((item) => item.trim())
    .filter((item) => item !== "");

export const cidrList: Shape<string[]> = (text) =>
  commaList(text).map((item) =>
    ipaddr.isValidCIDR(item)
      ? item
      : wrong(`${quote(item)} is not a CIDR range; write for example 10.0.0.0/8 or fd00::/8`),
  );

export const ipList: Shape<string[]> = (text) =>
  commaList(text).map((item) => (ipaddr.isValid(item) ? item : wrong(`${quote(item)} is not an IP address`)));

export const listenList: Shape<Listen[]> = (text) =>
  commaList(text).map((item) => {
    try {
      return listen(item.includes(":") ? item : `${item}:53`);
    } catch {
      return wrong(`${quote(item)} is not host:port; write for example 127.0.0.1:53,[::1]:53`);
    }
  });

export const millisList: Shape<number[]> = (text) => {
  const values = commaList(text).map(Number);
  if (values.length === 0 || values.some((v) => !Number.isInteger(v) || v < 0))
    return wrong("must be a comma list of milliseconds; write for example 30000,120000,300000");
  return values;
};

export const whole =
  (min: number, max: number): Shape<number> =>
  (text) => {
    const value = Number(text);
    if (!/^\d+$/.test(text) || value < min || value > max)
      return wrong(`${quote(text)} is not a whole number from ${min} to ${max}`);
    return value;
  };

export const choice =
  <const T extends readonly string[]>(...values: T): Shape<T[number]> =>
  (text) =>
    values.includes(text) ? text : wrong(`${quote(text)} is none of ${values.join(", ")}`);

export const hostName: Shape<string> = (text) => {
  const name = text.replace(/\.$/, "").toLowerCase();
  const is = /^(?=.{1,253}$)[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?(\.[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?)+$/.test(name);
  return is ? name : wrong(`${quote(name)} is not a host name with at least one dot`);
};

export const url =
  (...protocols: string[]): Shape<string> =>
  (text) =>
    URL.canParse(text) && protocols.includes(new URL(text).protocol)
      ? text
      : wrong(`must be a URL starting with ${protocols.map((p) => `${p}//`).join(" or ")}`);

export const sender: Shape<string> = (text) => {
  const read = parseAddress(text);
  return read.ok ? text : wrong(`${read.reason}; write for example Posthorn <no-reply@example.com>`);
};

export const siteLimits = (text: string) => {
  const read = readSiteLimits(text);
  return read.ok ? read.limits : wrong(read.reason);
};

export const sources = (text: string) => {
  const read = readSources(text);
  return read.ok ? read.sources : wrong(read.reason);
};

function wrong(message: string): never {
  throw new WrongText(message);
}

export function quote(text: string): string {
  return JSON.stringify(text);
}
