/** posthorn send: one email from flags and standard input, waited for until every receiver has said something. */
import { readFile } from "node:fs/promises";
import { basename, extname } from "node:path";
import { text } from "node:stream/consumers";
import type { JsonObject } from "@bufbuild/protobuf";
import { type Command, UsageError } from "../command.ts";
import { colour } from "../terminal.ts";
import { workspaceOption } from "./keys.ts";
import { type SendAnswer, urlOption, withReach } from "./reach.ts";

export const send: Command = {
  name: "send",
  summary: "Send an email and say what became of it. The text comes from --body or standard input.",
  words: "TO…",
  options: {
    from: { type: "string", help: "sender, an address of a domain that can send; needed" },
    subject: { type: "string", help: "subject line" },
    cc: { type: "string", many: true, help: "another reader; may be given several times" },
    bcc: { type: "string", many: true, help: "a reader whom nobody sees; may be given several times" },
    body: { type: "string", help: "the text; left out, it is read from standard input" },
    "html-file": { type: "string", help: "a file with the HTML form" },
    attach: { type: "string", many: true, help: "a file to attach; may be given several times" },
    metadata: { type: "string", many: true, help: "name=value, comes back in events; may be given several times" },
    header: { type: "string", many: true, help: "'Name: value'; may be given several times" },
    "reply-to": { type: "string", many: true, help: "where answers go; may be given several times" },
    "in-reply-to": { type: "string", help: "id of the email or inbound message that this one answers" },
    at: { type: "string", help: "send at this time, for example 2027-01-31T09:30:00Z" },
    async: { type: "boolean", help: "do not wait for the first attempt" },
    "idempotency-key": { type: "string", help: "the same key again sends nothing again" },
    workspace: workspaceOption,
    url: urlOption,
    json: { type: "boolean", help: "print the answer as the API gives it" },
  },
  async run(input) {
    const { words, options, lists } = input;
    if (words.length === 0)
      throw new UsageError("Name a recipient: posthorn send --from you@example.com ada@example.net");
    if (typeof options.from !== "string")
      throw new UsageError("--from is missing: the address that the email comes from");
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
    if (options.at !== undefined) request.scheduledAt = timeOf(String(options.at));
    const key = options["idempotency-key"];
    await withReach(input, async (reach) => {
      const answer = await reach.send(request, typeof key === "string" ? { idempotencyKey: key } : {});
      if (options.json) process.stdout.write(`${JSON.stringify(answer)}\n`);
      else process.stdout.write(await inWords(answer, reach.delivers));
      if (answer.status === "EMAIL_STATUS_FAILED") process.exitCode = 1;
    });
  },
};

async function inWords(answer: SendAnswer, delivers: () => Promise<boolean>): Promise<string> {
  const status = answer.status.replace("EMAIL_STATUS_", "");
  const tone = { SENT: "green", FAILED: "red" }[status] ?? "yellow";
  const lines = [`${answer.id}  ${colour(tone as "green", status)}  ${answer.statusMessage}`];
  if (status === "QUEUED" && !(await delivers()))
    lines.push("No Posthorn runs on this database: the email is stored and goes out when one starts.");
  return `${lines.join("\n")}\n`;
}

/** As mail(1) does: without a text on the command line, what is piped in is the text. */
async function textOf(body: string | boolean | undefined, html: string): Promise<string> {
  if (typeof body === "string") return body;
  if (html !== "") return "";
  if (process.stdin.isTTY) process.stderr.write("Write the text, then press Ctrl-D:\n");
  return await text(process.stdin);
}

/** What people attach most; anything else is a file like any other to its reader. */
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
    throw new UsageError(`The file ${path} cannot be read: ${error.message}`);
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
    throw new UsageError(`--at ${JSON.stringify(value)} is no time; write for example 2027-01-31T09:30:00Z`);
  return time.toISOString();
}
