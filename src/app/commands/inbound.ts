/** posthorn inbound: lists and reads the mail that a workspace received, locally or at another instance. Strangers wrote all of it. */
import type { JsonObject } from "@bufbuild/protobuf";
import type { Command, Option } from "../command.ts";
import { type Cell, fittedTable, jsonLine, plainLines, write } from "../output.ts";
import { type Column, constantText, fieldsText, limitOf, listOptions, printList, timeText } from "./listing.ts";
import { outputOption, refuseJsonWithOutput, refuseTerminal, withOutput, writeText } from "./output-file.ts";
import { readTime, readWords } from "./read-options.ts";
import { apiOptions, withApi } from "./with-api.ts";

type WireAttachment = { id: string; filename: string; contentType: string; sizeBytes: number };
type WireInbound = JsonObject & {
  id: string;
  from: string;
  to: string[];
  subject: string;
  messageId: string;
  parentEmailId: string;
  autoSubmitted: boolean;
  verdicts?: Record<string, string>;
  attachments: WireAttachment[];
  sizeBytes: number;
  receivedAt: string;
  replyTo?: string;
};

const json: Option = { type: "boolean", help: "print the API's response as JSON" };

const columns: Column<WireInbound>[] = [
  { head: "ID", of: ({ id }) => id },
  { head: "RECEIVED", of: ({ receivedAt }) => timeText(receivedAt) },
  { head: "FROM", of: ({ from }) => from, cut: true },
  { head: "TO", of: ({ to }) => to.join(", "), cut: true },
  { head: "SUBJECT", of: ({ subject }) => subject, cut: true },
  { head: "FILES", of: ({ attachments }) => (attachments.length === 0 ? "" : String(attachments.length)) },
];

const filters = {
  domain: { type: "string", help: "only messages to this receiving domain" },
  recipient: { type: "string", help: "only messages to this address" },
  "reply-to": { type: "string", help: "only replies to the email with this id" },
  after: { type: "string", help: "only messages from this time on: 2026-11-01, or 24h for the last day" },
  before: { type: "string", help: "only messages before this time" },
  search: { type: "string", help: "a message id, part of an address, or words of the subject" },
} satisfies Record<string, Option>;

const inboundList: Command = {
  name: "inbound list",
  summary: "List received messages, newest first. All filters that are given must match.",
  options: { ...filters, ...listOptions, ...apiOptions },
  async run(input) {
    const { options } = input;
    limitOf(options);
    const text = (name: string) => String(options[name] ?? "");
    const [receivedAfter, receivedBefore] = [readTime("after", options.after), readTime("before", options.before)];
    const request = {
      domain: text("domain"),
      recipient: text("recipient"),
      parentEmailId: text("reply-to"),
      search: text("search"),
      ...(receivedAfter !== undefined && { receivedAfter }),
      ...(receivedBefore !== undefined && { receivedBefore }),
    };
    const isFiltered = Object.keys(filters).some((name) => options[name] !== undefined);
    const empty = isFiltered
      ? "No message matches."
      : "No mail received yet. Publish the MX record of a domain: posthorn domains records DOMAIN";
    const list = { method: "InboundService/ListInbound", request, columns, empty };
    await withApi(input, (api) => printList(api, options, list));
  },
};

const inboundGet: Command = {
  name: "inbound get",
  summary: "Show a received message with its text and its attachments.",
  words: "MESSAGE_ID",
  options: { json, ...apiOptions },
  async run(input) {
    const [id] = readWords(input.words, ["the id of a message"], "inbound get in_…");
    await withApi(input, async (api) => {
      type Got = { inbound: WireInbound; body: string; newText: string; html: string };
      const answer = await api.call<Got>("InboundService/GetInbound", { id });
      if (input.options.json) return await write(jsonLine(answer));
      await write(show(answer.inbound));
      if (answer.body === "" && answer.html !== "")
        process.stderr.write("The message has only HTML. See --json, or: posthorn inbound content\n");
      else await write(`\n${plainLines(answer.body).trimEnd()}\n`);
    });
  },
};

function show(message: WireInbound): string {
  const verdicts = Object.entries(message.verdicts ?? {})
    .map(([name, verdict]) => [name, constantText(String(verdict), "VERDICT_")])
    .filter(([, text]) => text !== "")
    .map((words) => words.join(" "));
  const fields = fieldsText([
    ["Id", message.id],
    ["From", message.from],
    ["To", message.to.join(", ")],
    ["Reply-To", message.replyTo],
    ["Subject", message.subject],
    ["Received", timeText(message.receivedAt)],
    ["Message-ID", message.messageId],
    ["Reply to", message.parentEmailId],
    ["Automatic", message.autoSubmitted ? "yes" : ""],
    ["Checks", verdicts.join(", ")],
    ["Size", `${message.sizeBytes} bytes`],
  ]);
  if (message.attachments.length === 0) return fields;
  const rows = message.attachments.map((one): Cell[] => [one.id, one.contentType, String(one.sizeBytes), one.filename]);
  return `${fields}\n${fittedTable([["ATTACHMENT", "TYPE", "BYTES", "NAME"], ...rows], [3])}`;
}

const inboundContent: Command = {
  name: "inbound content",
  summary: "Print a received message exactly as it arrived.",
  words: "MESSAGE_ID",
  options: { output: outputOption, json, ...apiOptions },
  async run(input) {
    const { options } = input;
    const [id] = readWords(input.words, ["the id of a message"], "inbound content in_…");
    refuseJsonWithOutput(options);
    await withApi(input, async (api) => {
      const answer = await api.call<{ raw: string }>("InboundService/GetInboundContent", { id });
      if (options.json) return await write(jsonLine(answer));
      const raw = Buffer.from(answer.raw, "base64");
      const toTerminal = options.output === undefined && process.stdout.isTTY;
      await withOutput(options.output, (output) =>
        toTerminal ? writeText(output, raw.toString(), false) : output.write(raw),
      );
    });
  },
};

const inboundAttachment: Command = {
  name: "inbound attachment",
  summary: "Write an attachment of a received message to a file or a pipe.",
  words: "MESSAGE_ID ATTACHMENT_ID",
  options: { output: outputOption, json, ...apiOptions },
  async run(input) {
    const { options } = input;
    const names = ["the id of a message", "the id of an attachment"] as const;
    const [id, attachmentId] = readWords(input.words, names, "inbound attachment in_… 1 --output FILE");
    refuseJsonWithOutput(options);
    if (!options.json) refuseTerminal(options.output, "An attachment");
    await withApi(input, async (api) => {
      const answer = await api.call<{ content: string }>("InboundService/GetInboundAttachment", { id, attachmentId });
      if (options.json) return await write(jsonLine(answer));
      // The name that the sender chose is not used: it could be that of an important file.
      await withOutput(options.output, (output) => output.write(Buffer.from(answer.content, "base64")));
    });
  },
};

type WireReport = JsonObject & {
  emailId: string;
  kind: string;
  explanation: string;
  namedRecipient: string;
  reports: number;
  lastReceivedAt?: string;
};

const reportColumns: Column<WireReport>[] = [
  { head: "EMAIL", of: ({ emailId }) => emailId },
  { head: "KIND", of: ({ kind }) => constantText(kind, "UNATTRIBUTED_REPORT_KIND_") },
  { head: "REPORTS", of: ({ reports }) => String(reports) },
  { head: "LAST", of: ({ lastReceivedAt }) => timeText(lastReceivedAt) },
  { head: "NAMED RECIPIENT", of: ({ namedRecipient }) => namedRecipient, cut: true },
  { head: "WHY IT CHANGED NOTHING", of: ({ explanation }) => explanation, cut: true },
];

const inboundReports: Command = {
  name: "inbound reports",
  summary:
    "List bounces and complaints that changed nothing, because they do not prove which recipient they are about.",
  options: { ...listOptions, ...apiOptions },
  async run(input) {
    limitOf(input.options);
    const empty = "No such bounce or complaint has arrived.";
    const method = "InboundService/ListUnattributedReports";
    const list = { method, request: {}, columns: reportColumns, empty };
    await withApi(input, (api) => printList(api, input.options, list));
  },
};

export const inbound = [inboundList, inboundGet, inboundContent, inboundAttachment, inboundReports];
