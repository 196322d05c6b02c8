/** posthorn send: sends one email from flags and standard input, and waits for the first delivery attempts. */
import { readFile } from "node:fs/promises";
import { basename, extname } from "node:path";
import { text } from "node:stream/consumers";
import type { JsonObject } from "@bufbuild/protobuf";
import { type Command, UsageError } from "../command.ts";
import { color, jsonLine, plain, write } from "../output.ts";
import type { SendAnswer } from "./api-client.ts";
import { apiOptions, withApi } from "./with-api.ts";

export const send: Command = {
  name: "send",
  summary: "Send an email and print the result. The text comes from --body or standard input.",
  words: "TO…",
  options: {
    from: { type: "string", help: "sender, at a domain that can send; required" },
    subject: { type: "string", help: "subject line" },
    cc: { type: "string", many: true, help: "copy to this address; repeatable" },
    bcc: { type: "string", many: true, help: "blind copy to this address; repeatable" },
    body: { type: "string", help: "the text; default: standard input" },
    "html-file": { type: "string", help: "file with the HTML version" },
    attach: { type: "string", many: true, help: "file to attach; repeatable" },
    metadata: { type: "string", many: true, help: "name=value, included in events; repeatable" },
    header: { type: "string", many: true, help: "'Name: value'; repeatable" },
    "reply-to": { type: "string", many: true, help: "address for replies; repeatable" },
    "in-reply-to": { type: "string", help: "id of the email or inbound message that this one replies to" },
    unsubscribe: { type: "string", help: "topic that the recipient can unsubscribe from, for one recipient" },
    at: { type: "string", help: "send at this time, for example 2027-01-31T09:30:00Z" },
    async: { type: "boolean", help: "do not wait for the first attempt" },
    "idempotency-key": { type: "string", help: "a retry with the same key does not send the email again" },
    ...apiOptions,
    json: { type: "boolean", help: "print the API's response as JSON" },
  },
  async run(input) {
    const { words, options, lists } = input;
    if (words.length === 0)
      throw new UsageError("Give a recipient: posthorn send --from you@example.com ada@example.net");
    if (typeof options.from !== "string")
      throw new UsageError("--from is missing. Give the sender's address: --from you@example.com");
    const html =
      options["html-file"] === undefined ? "" : (await readOrRefuse(String(options["html-file"]))).toString();
    const request: JsonObject = {
      from: options.from,
      to: words,
      cc: lists.cc ?? [],
      bcc: lists.bcc ?? [],
      subject: String(options.subject ?? ""),
      body: await textOf(options.body, html),
      html,
      metadata: pairs(lists.metadata ?? [], "=", "--metadata"),
      headers: pairs(lists.header ?? [], ":", "--header"),
      replyToAddresses: lists["reply-to"] ?? [],
      replyToEmailId: String(options["in-reply-to"] ?? ""),
      attachments: await Promise.all((lists.attach ?? []).map(attachment)),
      async: options.async === true,
    };
    if (options.unsubscribe !== undefined) request.unsubscribe = { topic: String(options.unsubscribe) };
    if (options.at !== undefined) request.scheduledAt = timeOf(String(options.at));
    const key = options["idempotency-key"];
    await withApi(input, async (api) => {
      const headers: Record<string, string> = typeof key === "string" ? { "idempotency-key": key } : {};
      const answer = await api.call<SendAnswer>("EmailService/SendEmail", request, headers);
      await write(options.json ? jsonLine(answer) : await describe(answer, api.delivers));
      if (answer.status === "EMAIL_STATUS_FAILED") process.exitCode = 1;
    });
  },
};

async function describe(answer: SendAnswer, delivers: () => Promise<boolean>): Promise<string> {
  const status = answer.status.replace("EMAIL_STATUS_", "");
  const tone = { SENT: "green", FAILED: "red" }[status] ?? "yellow";
  const lines = [`${plain(answer.id)}  ${color(tone as "green", plain(status))}  ${plain(answer.statusMessage)}`];
  if (status === "QUEUED" && !(await delivers()))
    lines.push("No Posthorn is running on this database. The email is stored and will be sent when one starts.");
  return `${lines.join("\n")}\n`;
}

/** Like mail(1): without --body, standard input is the text. */
async function textOf(body: string | boolean | undefined, html: string): Promise<string> {
  if (typeof body === "string") return body;
  if (html !== "") return "";
  if (process.stdin.isTTY) process.stderr.write("Type the text, then press Ctrl-D:\n");
  return await text(process.stdin);
}

/** Content types of common attachments. Every other file is application/octet-stream. */
const types: Record<string, string> = {
  ".csv": "text/csv",
  ".docx": "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
  ".gif": "image/gif",
  ".html": "text/html",
  ".ics": "text/calendar",
  ".jpeg": "image/jpeg",
  ".jpg": "image/jpeg",
  ".json": "application/json",
  ".md": "text/markdown",
  ".pdf": "application/pdf",
  ".png": "image/png",
  ".svg": "image/svg+xml",
  ".txt": "text/plain",
  ".webp": "image/webp",
  ".xlsx": "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
  ".xml": "application/xml",
  ".zip": "application/zip",
};

async function attachment(path: string): Promise<JsonObject> {
  const content = await readOrRefuse(path);
  return {
    filename: basename(path),
    contentType: types[extname(path).toLowerCase()] ?? "application/octet-stream",
    base64Content: content.toString("base64"),
  };
}

async function readOrRefuse(path: string): Promise<Buffer> {
  return await readFile(path).catch((error: Error) => {
    throw new UsageError(`Cannot read the file ${path}: ${error.message}`);
  });
}

function pairs(items: readonly string[], separator: string, flag: string): Record<string, string> {
  return Object.fromEntries(
    items.map((item) => {
      const at = item.indexOf(separator);
      if (at < 1) throw new UsageError(`${flag} ${JSON.stringify(item)} is not name${separator}value`);
      return [item.slice(0, at).trim(), item.slice(at + 1).trim()];
    }),
  );
}

function timeOf(value: string): string {
  const time = new Date(value);
  if (Number.isNaN(time.getTime()))
    throw new UsageError(`--at ${JSON.stringify(value)} is not a valid time; write for example 2027-01-31T09:30:00Z`);
  return time.toISOString();
}
