/** Asks SpamAssassin's spamd for its score, in its own protocol (SPAMC/1.5). Called by spam-filter.ts. */
import { connect } from "node:net";
import type { SpamFacts } from "./rules/facts.ts";

/** The text report is a few kilobytes. */
const maxAnswerBytes = 256 * 1024;

export async function askSpamd(
  at: { host: string; port: number },
  message: Buffer,
  signal: AbortSignal,
): Promise<SpamFacts> {
  const answer = await exchange(at, message, signal);
  const read = readSpamdAnswer(answer);
  if (!read) throw new Error(`spamd answers ${JSON.stringify(answer.slice(0, 80))}`);
  return read;
}

function exchange(at: { host: string; port: number }, message: Buffer, signal: AbortSignal): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket = connect(at);
    const chunks: Buffer[] = [];
    let size = 0;
    const abort = () => socket.destroy(new Error("spamd did not answer in time"));
    signal.addEventListener("abort", abort, { once: true });
    if (signal.aborted) abort();
    socket.once("connect", () => {
      socket.write(`REPORT SPAMC/1.5\r\nContent-length: ${message.length}\r\n\r\n`, "latin1");
      socket.end(message);
    });
    socket.on("data", (chunk: Buffer) => {
      size += chunk.length;
      if (size > maxAnswerBytes) socket.destroy(new Error("the answer of spamd is too long"));
      else chunks.push(chunk);
    });
    socket.once("error", reject);
    socket.once("close", () => {
      signal.removeEventListener("abort", abort);
      resolve(Buffer.concat(chunks).toString("utf8"));
    });
  });
}

/** Undefined: the text is not an answer to REPORT. */
export function readSpamdAnswer(answer: string): SpamFacts | undefined {
  const [head = "", ...rest] = answer.split("\r\n\r\n");
  const score =
    /^Spam:\s*(True|False|Yes|No)\s*;\s*(-?\d{1,6}(?:\.\d{1,6})?)\s*\/\s*(-?\d{1,6}(?:\.\d{1,6})?)\s*$/im.exec(head);
  if (!/^SPAMD\/\d\.\d 0 /.test(head) || !score) return undefined;
  return {
    filter: "SpamAssassin",
    score: Number(score[2]),
    threshold: Number(score[3]),
    isSpam: /^(?:true|yes)$/i.test(score[1]!),
    rules: readRules(rest.join("\r\n\r\n")),
  };
}

/** Lines such as ` 0.1 MISSING_MID            Missing Message-Id: header`; a long description continues on the next line. */
function readRules(report: string): SpamFacts["rules"] {
  const rules: SpamFacts["rules"] = [];
  for (const line of report.split(/\r?\n/)) {
    const rule = /^\s{0,4}(-?\d{1,4}(?:\.\d{1,3})?)\s+([A-Z][A-Z0-9_]+)\s*(.*)$/.exec(line);
    if (rule) rules.push({ name: rule[2]!, score: Number(rule[1]), description: rule[3]!.trim() });
    else if (rules.length > 0 && /^\s{10,}\S/.test(line)) rules.at(-1)!.description += ` ${line.trim()}`;
  }
  return rules;
}
