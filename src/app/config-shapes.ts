/** The shapes that settings may have: each turns a text into its value, or says what is wrong and how to write it. */
import ipaddr from "ipaddr.js";
import { z } from "zod";
import { parseAddress } from "../mail/address.ts";
import { readSiteLimits } from "../rules/site-limits.ts";
import { readSources } from "../rules/source.ts";

export type Listen = { host: string; port: number };

export const listen = z.string().transform((text, ctx): Listen => {
  const match = /^(?:\[([0-9a-fA-F:.]+)\]|([^\s:[\]]+)):(\d{1,5})$/.exec(text);
  const port = Number(match?.[3]);
  if (!match || port > 65535)
    return fail(ctx, `${quote(text)} is not host:port; write for example 127.0.0.1:8825 or [::1]:8825`);
  return { host: match[1] ?? match[2] ?? "", port };
});

export const commaList = z.string().transform((text) =>
  text
    .split(",")
    .map((item) => item.trim())
    .filter((item) => item !== ""),
);

export const cidrList = commaList.transform((items, ctx) => {
  for (const item of items) {
    if (!isCidr(item)) return fail(ctx, `${quote(item)} is not a CIDR range; write for example 10.0.0.0/8 or fd00::/8`);
  }
  return items;
});

export const ipList = commaList.transform((items, ctx) => {
  for (const item of items) if (!ipaddr.isValid(item)) return fail(ctx, `${quote(item)} is not an IP address`);
  return items;
});

export const listenList = commaList.transform((items, ctx) => {
  const servers = items.map((item) => listen.safeParse(item.includes(":") ? item : `${item}:53`));
  const bad = servers.findIndex((server) => !server.success);
  if (bad >= 0)
    return fail(ctx, `${quote(items[bad] ?? "")} is not host:port; write for example 127.0.0.1:53,[::1]:53`);
  return servers.map((server) => server.data as Listen);
});

export const millisList = commaList.transform((items, ctx) => {
  const values = items.map(Number);
  if (values.length === 0 || values.some((v) => !Number.isInteger(v) || v < 0)) {
    return fail(ctx, "must be a comma list of milliseconds; write for example 30000,120000,300000");
  }
  return values;
});

export const whole = (min: number, max: number) =>
  z.string().transform((text, ctx) => {
    const value = Number(text);
    if (!/^\d+$/.test(text) || value < min || value > max) {
      return fail(ctx, `${quote(text)} is not a whole number from ${min} to ${max}`);
    }
    return value;
  });

export const choice = <const T extends readonly string[]>(...values: T) =>
  z.enum(values, { error: (issue) => `${quote(String(issue.input))} is none of ${values.join(", ")}` });

export const hostName = z
  .string()
  .transform((text) => text.replace(/\.$/, "").toLowerCase())
  .refine(
    (text) => /^(?=.{1,253}$)[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?(\.[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?)+$/.test(text),
    {
      error: (issue) => `${quote(String(issue.input))} is not a host name with at least one dot`,
    },
  );

export const url = (...protocols: string[]) =>
  z.string().refine((text) => URL.canParse(text) && protocols.includes(new URL(text).protocol), {
    error: `must be a URL starting with ${protocols.map((p) => `${p}//`).join(" or ")}`,
  });

export const sender = z.string().transform((text, ctx) => {
  const read = parseAddress(text);
  return read.ok ? text : fail(ctx, `${read.reason}; write for example Posthorn <no-reply@example.com>`);
});

export const siteLimits = z.string().transform((text, ctx) => {
  const read = readSiteLimits(text);
  return read.ok ? read.limits : fail(ctx, read.reason);
});

export const sources = z.string().transform((text, ctx) => {
  const read = readSources(text);
  return read.ok ? read.sources : fail(ctx, read.reason);
});

function isCidr(text: string): boolean {
  return ipaddr.isValidCIDR(text);
}

function fail(ctx: { addIssue(message: string): void }, message: string): never {
  ctx.addIssue(message);
  return z.NEVER;
}

export function quote(text: string): string {
  return JSON.stringify(text);
}
