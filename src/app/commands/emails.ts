/** posthorn emails: lists, shows, counts, cancels, reschedules and exports the emails of a workspace, locally or at another instance. */
import type { JsonObject } from "@bufbuild/protobuf";
import { type Command, type Option, UsageError } from "../command.ts";
import { type Cell, fittedTable, jsonLine, plain, plainLines, type Tone, write } from "../output.ts";
import { confirm, yesOption } from "./confirm.ts";
import { filterFrom, filterOptions } from "./email-filters.ts";
import { type Column, constantText, fieldsText, limitOf, listOptions, printList, timeText } from "./listing.ts";
import { outputOption, refuseJsonWithOutput, withOutput, writeText } from "./output-file.ts";
import { showProgress } from "./progress-line.ts";
import { readMoment, readWords } from "./read-options.ts";
import { nameOf } from "./target.ts";
import { apiOptions, targetOf, withApi, withTarget } from "./with-api.ts";

type WireRecipient = {
  address: string;
  status: string;
  attempts: number;
  lastReply: string;
  lastAttemptAt?: string;
  nextAttemptAt?: string;
  remoteMx: string;
};
type WireEmail = JsonObject & {
  id: string;
  status: string;
  statusMessage: string;
  messageId: string;
  from: string;
  to: string[];
  cc: string[];
  bcc: string[];
  subject: string;
  metadata: Record<string, string>;
  createdAt: string;
  scheduledAt?: string;
  test: boolean;
  outcome?: string;
  recipients: WireRecipient[];
  attachments: { filename: string; contentType: string; sizeBytes: number }[];
  keyId?: string;
};

const tones: Record<string, Tone> = {
  delivered: "green",
  sent: "green",
  delayed: "yellow",
  suppressed: "yellow",
  canceled: "yellow",
  bounced: "red",
  failed: "red",
  complained: "red",
};

function toned(text: string): Cell {
  const tone = tones[text];
  return tone ? { text, tone } : text;
}

/** A version without outcomes has only a status. */
const outcomeOf = ({ outcome, status }: WireEmail) =>
  toned(outcome === undefined ? constantText(status, "EMAIL_STATUS_") : constantText(outcome, "EMAIL_OUTCOME_"));

const columns: Column<WireEmail>[] = [
  { head: "ID", of: ({ id }) => id },
  { head: "ACCEPTED", of: ({ createdAt }) => timeText(createdAt) },
  { head: "OUTCOME", of: outcomeOf },
  { head: "TO", of: ({ to, cc, bcc }) => [...to, ...cc, ...bcc].join(", "), cut: true },
  { head: "SUBJECT", of: ({ subject }) => subject, cut: true },
];

const json: Option = { type: "boolean", help: "print the API's response as JSON" };

const emailsList: Command = {
  name: "emails list",
  summary: "List emails, newest first. All filters that are given must match.",
  options: { ...filterOptions, ...listOptions, ...apiOptions },
  async run(input) {
    const { options, lists } = input;
    limitOf(options);
    const request = filterFrom(options, lists);
    const isFiltered = Object.keys(filterOptions).some((name) => options[name] !== undefined);
    const empty = isFiltered
      ? "No email matches."
      : "No emails yet. Send the first one: posthorn send --from you@example.com ada@example.net";
    await withApi(input, (api) =>
      printList(api, options, { method: "EmailService/ListEmails", request, columns, empty }),
    );
  },
};

const emailsCount: Command = {
  name: "emails count",
  summary: "Count the emails that match the filters, by outcome.",
  options: { ...filterOptions, json, ...apiOptions },
  async run(input) {
    const filter = filterFrom(input.options, input.lists);
    await withApi(input, async (api) => {
      type Count = { outcome: string; emails: number; atLeast: boolean };
      type Counts = { counts: Count[]; total: number; atLeast: boolean };
      const answer = await api.call<Counts>("EmailService/CountEmails", { filter });
      if (input.options.json) return await write(jsonLine(answer));
      const number = (emails: number, atLeast: boolean) => `${atLeast ? "at least " : ""}${emails}`;
      const rows = answer.counts.map((one): Cell[] => [
        toned(constantText(one.outcome, "EMAIL_OUTCOME_")),
        number(one.emails, one.atLeast),
      ]);
      await write(fittedTable([["OUTCOME", "EMAILS"], ...rows, ["total", number(answer.total, answer.atLeast)]], []));
    });
  },
};

const emailsGet: Command = {
  name: "emails get",
  summary: "Show an email with the state of each recipient.",
  words: "EMAIL_ID",
  options: { json, ...apiOptions },
  async run(input) {
    const [id] = readWords(input.words, ["the id of an email"], "emails get em_…");
    await withApi(input, async (api) => {
      const { email } = await api.call<{ email: WireEmail }>("EmailService/GetEmail", { id });
      await write(input.options.json ? jsonLine(email) : show(email));
    });
  },
};

function show(email: WireEmail): string {
  const fields: [string, Cell][] = [
    ["Id", email.id],
    [
      "Status",
      `${constantText(email.status, "EMAIL_STATUS_")}${email.statusMessage ? `: ${email.statusMessage}` : ""}`,
    ],
    ["Outcome", outcomeOf(email)],
    ["From", email.from],
    ["To", email.to.join(", ")],
    ["Cc", email.cc.join(", ")],
    ["Bcc", email.bcc.join(", ")],
    ["Subject", email.subject],
    ["Message-ID", email.messageId],
    ["Accepted", timeText(email.createdAt)],
    ["Scheduled", timeText(email.scheduledAt)],
    ["Key", `${email.keyId ?? ""}${email.test ? " (test)" : ""}`],
    ...Object.entries(email.metadata).map(([name, value]): [string, Cell] => [`Metadata ${name}`, value]),
    ...email.attachments.map(({ filename, contentType, sizeBytes }): [string, Cell] => [
      "Attachment",
      `${filename} (${contentType}, ${sizeBytes} bytes)`,
    ]),
  ];
  const rows = email.recipients.map((one): Cell[] => [
    one.address,
    toned(constantText(one.status, "RECIPIENT_STATUS_")),
    String(one.attempts),
    timeText(one.lastAttemptAt),
    timeText(one.nextAttemptAt),
    one.lastReply,
  ]);
  const head = ["RECIPIENT", "STATUS", "ATTEMPTS", "LAST ATTEMPT", "NEXT ATTEMPT", "LAST REPLY"];
  return `${fieldsText(fields)}${rows.length > 0 ? `\n${fittedTable([head, ...rows], [5])}` : ""}`;
}

const emailsContent: Command = {
  name: "emails content",
  summary: "Print the text of an email, its HTML or the complete message.",
  words: "EMAIL_ID",
  options: {
    html: { type: "boolean", help: "print the HTML" },
    raw: { type: "boolean", help: "print the complete message (RFC 5322)" },
    output: outputOption,
    json,
    ...apiOptions,
  },
  async run(input) {
    const { options } = input;
    const [id] = readWords(input.words, ["the id of an email"], "emails content em_…");
    const chosen = ["html", "raw", "json"].filter((name) => options[name]);
    if (chosen.length > 1) throw new UsageError(`Use only one of ${chosen.map((name) => `--${name}`).join(", ")}.`);
    refuseJsonWithOutput(options);
    await withApi(input, async (api) => {
      type Content = { raw: string; body: string; html: string };
      const content = await api.call<Content>("EmailService/GetEmailContent", { id });
      if (options.json) return await write(jsonLine(content));
      const raw = Buffer.from(content.raw, "base64");
      const toFile = options.output !== undefined;
      if (!options.raw && !options.html && content.body === "" && content.html !== "")
        process.stderr.write("The email has no plain text. Its HTML: --html\n");
      await withOutput(options.output, async (output) => {
        if (options.raw && (toFile || !process.stdout.isTTY)) await output.write(raw);
        else await writeText(output, options.raw ? raw.toString() : options.html ? content.html : content.body, toFile);
      });
    });
  },
};

const emailsCancel: Command = {
  name: "emails cancel",
  summary: "Cancel an email for every recipient that is still waiting.",
  words: "EMAIL_ID",
  options: { yes: yesOption, json, ...apiOptions },
  async run(input) {
    const { options } = input;
    const [id] = readWords(input.words, ["the id of an email"], "emails cancel em_…");
    const target = await targetOf(input);
    await confirm(`This cancels ${id} at ${nameOf(target)} for every recipient that is still waiting.`, { options });
    await withTarget(input, target, async (api) => {
      const answer = await api.call<{ message: string }>("EmailService/CancelEmail", { id });
      await write(options.json ? jsonLine(answer) : `${plain(answer.message)}\n`);
    });
  },
};

const emailsReschedule: Command = {
  name: "emails reschedule",
  summary: "Change the time of a scheduled email before its first attempt.",
  words: "EMAIL_ID TIME",
  options: { json, ...apiOptions },
  async run(input) {
    const example = "emails reschedule em_… 2027-01-31T09:30:00Z";
    const [id, text] = readWords(input.words, ["the id of an email", "a time"], example);
    const time = readMoment(text);
    if (!time) throw new UsageError(`${JSON.stringify(text)} is not a time; write for example 2027-01-31T09:30:00Z`);
    await withApi(input, async (api) => {
      const request = { id, scheduledAt: time.toISOString() };
      const answer = await api.call<{ message: string }>("EmailService/UpdateEmail", request);
      await write(input.options.json ? jsonLine(answer) : `${plain(answer.message)}\n`);
    });
  },
};

const emailsExport: Command = {
  name: "emails export",
  summary: "Write all emails that match the filters as CSV, or with --json as JSON lines, newest first.",
  options: {
    ...filterOptions,
    output: outputOption,
    json: { type: "boolean", help: "one JSON object per line, with the fields of the API" },
    ...apiOptions,
  },
  async run(input) {
    const { options } = input;
    const filter = filterFrom(options, input.lists);
    const format = options.json ? "EXPORT_FORMAT_JSON_LINES" : "EXPORT_FORMAT_CSV";
    await withApi(input, async (api) => {
      const { total, atLeast } = await api.call<{ total: number; atLeast: boolean }>("EmailService/CountEmails", {
        filter,
      });
      const progress = showProgress();
      const toTerminal = options.output === undefined && process.stdout.isTTY;
      const decoder = new TextDecoder();
      try {
        await withOutput(options.output, async (output) => {
          type Chunk = { chunk?: string; emails?: number };
          for await (const one of api.stream<Chunk>("EmailService/ExportEmails", { filter, format })) {
            const { emails = 0 } = one;
            const octets = Buffer.from(one.chunk ?? "", "base64");
            // A chunk may end within a character.
            await output.write(toTerminal ? plainLines(decoder.decode(octets, { stream: true })) : octets);
            if (!toTerminal) progress.show(`${emails} emails`, atLeast || total === 0 ? undefined : emails / total);
          }
        });
      } finally {
        progress.end();
      }
    });
  },
};

export const emails = [emailsList, emailsGet, emailsContent, emailsCount, emailsCancel, emailsReschedule, emailsExport];
