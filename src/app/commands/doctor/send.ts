/** posthorn doctor --send: checks a domain and a sample email against the demands of large receivers, locally or at another instance. Sends nothing. */
import { readFile } from "node:fs/promises";
import type { JsonObject } from "@bufbuild/protobuf";
import { type Option, UsageError } from "../../command.ts";
import { color, jsonLine, plain, type Tone, write } from "../../output.ts";
import { type ApiInput, apiOptions, withApi } from "../with-api.ts";

export const sendOptions = {
  send: {
    type: "boolean",
    help: "check a domain and a sample email against the demands of Gmail, Yahoo and Microsoft instead; sends nothing",
  },
  domain: { type: "string", help: "with --send: the domain; default: the sender's" },
  from: { type: "string", help: "with --send: the sender of the sample" },
  file: {
    type: "string",
    help: "with --send: the sample, a .json file with the fields of SendEmail, or a message (.eml)",
  },
  email: { type: "string", help: "with --send: id of a sent email, as the sample" },
  bulk: { type: "boolean", help: "with --send: marketing or subscribed mail, or more than 5,000 messages a day" },
  ...apiOptions,
} satisfies Record<string, Option>;

type Wire = {
  domain: string;
  summary: string;
  checks: {
    id: string;
    title: string;
    result: string;
    found: string;
    fix: string;
    demands: { receiver: string; required: boolean; url: string }[];
    records: { type: string; name: string; value: string }[];
  }[];
  spam?: { filter: string; score: number; threshold: number; rules: { name: string; score: number }[] };
};

type Result = "ok" | "warn" | "fail" | "unknown" | "skip";

const results: Record<string, Result> = {
  DELIVERABILITY_RESULT_PASS: "ok",
  DELIVERABILITY_RESULT_WARN: "warn",
  DELIVERABILITY_RESULT_FAIL: "fail",
  DELIVERABILITY_RESULT_UNKNOWN: "unknown",
  DELIVERABILITY_RESULT_NOT_NEEDED: "skip",
};
const tones: Record<Result, Tone> = { ok: "green", warn: "yellow", fail: "red", unknown: "cyan", skip: "gray" };

export function requireSend(options: ApiInput["options"]): void {
  const needless = Object.keys(sendOptions).find((name) => name !== "send" && options[name] !== undefined);
  if (needless) throw new UsageError(`--${needless} needs --send.`);
}

export async function checkSending(input: ApiInput): Promise<void> {
  const { options } = input;
  const request = await requestOf(options);
  await withApi(input, async (api) => {
    const answer = await api.call<Wire>("DeliverabilityService/CheckDeliverability", request);
    const checks = answer.checks.map((check) => ({ ...check, result: results[check.result] ?? "unknown" }));
    for (const check of checks) await write(options.json ? jsonLine(findingOf(check)) : lineOf(check));
    if (!options.json) await write(`\n${plain(answer.summary)}\n`);
    if (checks.some(({ result }) => result === "fail")) process.exitCode = 1;
  });
}

async function requestOf({ domain, from, file, email, bulk }: ApiInput["options"]): Promise<JsonObject> {
  if (file !== undefined && email !== undefined) throw new UsageError("Use either --file or --email, not both.");
  const request: JsonObject = { bulk: bulk === true };
  if (typeof domain === "string") request.domain = domain;
  else if (typeof from === "string") request.domain = domainOf(from);
  if (typeof email === "string") request.emailId = email;
  if (typeof file === "string") Object.assign(request, await sampleOf(file, from));
  return request;
}

async function sampleOf(file: string, from: string | boolean | undefined): Promise<JsonObject> {
  const content = await readFile(file).catch((error: Error) => {
    throw new UsageError(`Cannot read the file ${file}: ${error.message}`);
  });
  if (!file.toLowerCase().endsWith(".json")) return { raw: withCrlf(content).toString("base64") };
  const sample = parse(content.toString("utf8"), file);
  return { email: typeof from === "string" ? { ...sample, from } : sample };
}

/** Programs on Unix keep messages with LF and add the CR when they send. A file with a CR is taken as it is. */
function withCrlf(message: Buffer): Buffer {
  if (message.includes("\r")) return message;
  return Buffer.from(message.toString("latin1").replaceAll("\n", "\r\n"), "latin1");
}

function parse(text: string, file: string): JsonObject {
  try {
    const value: unknown = JSON.parse(text);
    if (typeof value === "object" && value !== null && !Array.isArray(value)) return value as JsonObject;
  } catch {
    // Reported below.
  }
  throw new UsageError(`${file} does not contain a JSON object with the fields of SendEmail.`);
}

/** `Shop <news@example.com>` or `news@example.com`. The server checks the name. */
function domainOf(from: string): string {
  return from
    .slice(from.lastIndexOf("@") + 1)
    .replace(/>\s*$/, "")
    .trim();
}

type Shown = Omit<Wire["checks"][number], "result"> & { result: Result };

/** The form of the other findings of doctor. */
function findingOf({ id, result, found, fix, demands, records }: Shown) {
  const receivers = demands.map(({ receiver }) => receiver.replace("MAIL_RECEIVER_", "").toLowerCase());
  return { check: id, result, found, ...(fix && { fix }), receivers, records };
}

function lineOf({ id, result, found, fix, records }: Shown): string {
  const indent = " ".repeat(28);
  const lines = [`${color(tones[result], result.padEnd(7))}  ${plain(id).padEnd(17)}  ${plain(found)}`];
  if (fix !== "") lines.push(indent + color("gray", plain(fix)));
  for (const { type, name, value } of records) lines.push(`${indent}${plain(`${name} ${type} ${value}`)}`);
  return `${lines.join("\n")}\n`;
}
