/** Replaces curl on machines without it: parses the options that the docs use, makes the same request with Node, and prints
 * what curl prints. test/harness/shell.ts puts it into PATH as `curl`; test/harness/curl.test.ts compares it with the real one. */
import { request as httpRequest, type IncomingMessage } from "node:http";
import { buffer } from "node:stream/consumers";
import { fileURLToPath } from "node:url";
import nodemailer from "nodemailer";

export type Command = {
  url: string;
  method: string | undefined;
  headers: [name: string, value: string][];
  /** The parts of -d and --data-binary; `@-` stands for standard input. */
  data: { text: string; binary: boolean }[];
  writeOut: string;
  maxTimeMs: number | undefined;
  failOnError: boolean;
  upload: string | undefined;
  mailFrom: string;
  mailTo: string[];
};

/** curl's exit codes. */
const badUsage = 2;
const noConnection = 7;
const httpError = 22;
const timedOut = 28;

/** Throws on an unknown option, so that no option in the docs is ignored silently. */
export function readCommand(words: readonly string[]): Command {
  const command: Command = {
    url: "",
    method: undefined,
    headers: [],
    data: [],
    writeOut: "",
    maxTimeMs: undefined,
    failOnError: false,
    upload: undefined,
    mailFrom: "",
    mailTo: [],
  };
  const rest = splitFlags(words);
  for (let word = rest.shift(); word !== undefined; word = rest.shift()) {
    const value = () => rest.shift() ?? fail(`option ${word}: requires parameter`);
    if (["-s", "--silent", "-S", "--show-error", "-N", "--no-buffer", "--http1.1"].includes(word)) continue;
    if (["-f", "--fail"].includes(word)) command.failOnError = true;
    else if (["-X", "--request"].includes(word)) command.method = value();
    else if (["-H", "--header"].includes(word)) command.headers.push(readHeader(value()));
    else if (["-d", "--data"].includes(word)) command.data.push({ text: value(), binary: false });
    else if (word === "--data-binary") command.data.push({ text: value(), binary: true });
    else if (["-w", "--write-out"].includes(word)) command.writeOut = value();
    else if (["-m", "--max-time"].includes(word)) command.maxTimeMs = Number(value()) * 1000;
    else if (["-T", "--upload-file"].includes(word)) command.upload = value();
    else if (word === "--mail-from") command.mailFrom = value();
    else if (word === "--mail-rcpt") command.mailTo.push(value());
    else if (word.startsWith("-")) fail(`option ${word}: is not supported by test/harness/curl.ts`);
    else if (command.url !== "") fail(`a second address: ${word}`);
    else command.url = word;
  }
  if (command.url === "") fail("no URL specified");
  return command;
}

/** `-sSN` is `-s -S -N`; `-XPOST` is `-X POST`. */
function splitFlags(words: readonly string[]): string[] {
  return words.flatMap((word) => {
    if (!/^-[A-Za-z]./.test(word)) return [word];
    const flags = /^-([sSNf]*)(.*)$/s.exec(word)!;
    const [, plain = "", rest = ""] = flags;
    const withValue = rest === "" ? [] : rest.length === 1 ? [`-${rest}`] : [`-${rest[0]}`, rest.slice(1)];
    return [...[...plain].map((flag) => `-${flag}`), ...withValue];
  });
}

function readHeader(line: string): [string, string] {
  const colon = line.indexOf(":");
  return [line.slice(0, colon), line.slice(colon + 1).trim()];
}

function fail(message: string): never {
  throw new Error(message);
}

/** The method, headers and body that curl would send. */
export function requestOf(
  command: Command,
  input: Buffer,
): { method: string; headers: Map<string, string>; body: Buffer } {
  const parts = command.data.map(({ text, binary }) => {
    if (!text.startsWith("@")) return Buffer.from(text);
    if (text !== "@-") fail(`${text}: test/harness/curl.ts reads data only from standard input (@-)`);
    // curl's -d removes line breaks from the data it reads; --data-binary keeps them.
    return binary ? input : Buffer.from(input.toString("latin1").replace(/[\r\n]/g, ""), "latin1");
  });
  const body = Buffer.concat(parts.flatMap((part, i) => (i === 0 ? [part] : [Buffer.from("&"), part])));
  const headers = new Map<string, string>();
  if (command.data.length > 0) {
    headers.set("content-type", "application/x-www-form-urlencoded");
    headers.set("content-length", String(body.length));
  }
  for (const [name, value] of command.headers) headers.set(name.toLowerCase(), value);
  return { method: command.method ?? (command.data.length > 0 ? "POST" : "GET"), headers, body };
}

async function run(words: readonly string[]): Promise<number> {
  let command: Command;
  try {
    command = readCommand(words);
  } catch (error) {
    process.stderr.write(`curl: ${(error as Error).message}\n`);
    return badUsage;
  }
  const readsInput = command.upload === "-" || command.data.some(({ text }) => text === "@-");
  const input = readsInput ? await buffer(process.stdin) : Buffer.alloc(0);
  return command.url.startsWith("smtp://") ? await sendMail(command, input) : await sendRequest(command, input);
}

async function sendRequest(command: Command, input: Buffer): Promise<number> {
  const { method, headers, body } = requestOf(command, input);
  return await new Promise((resolve) => {
    const out = httpRequest(command.url, {
      method,
      setDefaultHeaders: false,
      headers: {
        host: new URL(command.url).host,
        accept: "*/*",
        "user-agent": "curl (replacement)",
        ...Object.fromEntries(headers),
      },
    });
    if (command.maxTimeMs !== undefined) setTimeout(() => resolve(timedOut), command.maxTimeMs).unref();
    out.on("error", (error) => {
      process.stderr.write(`curl: (${noConnection}) ${error.message}\n`);
      resolve(noConnection);
    });
    out.on("response", (response: IncomingMessage) => {
      const failed = command.failOnError && response.statusCode! >= 400;
      if (failed) response.resume();
      else response.on("data", (chunk: Buffer) => process.stdout.write(chunk));
      response.on("end", () => {
        process.stdout.write(writtenOut(command.writeOut, response.statusCode!));
        resolve(failed ? httpError : 0);
      });
    });
    out.end(body);
  });
}

function writtenOut(format: string, status: number): string {
  return format.replaceAll("\\n", "\n").replaceAll("%{http_code}", String(status));
}

async function sendMail({ url, mailFrom, mailTo }: Command, raw: Buffer): Promise<number> {
  const { hostname, port } = new URL(url);
  const transport = nodemailer.createTransport({ host: hostname, port: Number(port), ignoreTLS: true });
  await transport.sendMail({ envelope: { from: mailFrom, to: mailTo }, raw });
  return 0;
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const code = await run(process.argv.slice(2));
  // Exits after standard output is flushed.
  process.stdout.write("", () => process.exit(code));
}
