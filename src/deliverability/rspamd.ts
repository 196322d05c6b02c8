/** Asks rspamd for its score over HTTP (checkv2). Called by spam-filter.ts. */
import type { SpamFacts } from "./rules/facts.ts";

export type RspamdEnvelope = { from: string; recipient: string; address: string | undefined; helo: string };

const maxAnswerBytes = 1024 * 1024;
/** What rspamd tells a mail server to do with spam. */
const spamActions = ["reject", "add header", "rewrite subject", "quarantine"];

export async function askRspamd(
  url: string,
  { message, envelope, signal }: { message: Buffer; envelope: RspamdEnvelope; signal: AbortSignal },
): Promise<SpamFacts> {
  const response = await fetch(`${url}/checkv2`, {
    method: "POST",
    body: new Uint8Array(message),
    redirect: "error",
    signal,
    headers: {
      from: envelope.from,
      rcpt: envelope.recipient,
      helo: envelope.helo,
      ...(envelope.address && { ip: envelope.address }),
      // All rules, also after the score is high enough to reject.
      pass: "all",
    },
  });
  const text = await readBounded(response);
  const read = response.ok ? readRspamdAnswer(text) : undefined;
  if (!read) throw new Error(`rspamd answers ${response.status} ${JSON.stringify(text.slice(0, 80))}`);
  return read;
}

async function readBounded(response: Response): Promise<string> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of response.body ?? []) {
    size += chunk.length;
    if (size > maxAnswerBytes) throw new Error("the answer of rspamd is too long");
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString("utf8");
}

/** Undefined: the text is not an answer to checkv2. */
export function readRspamdAnswer(text: string): SpamFacts | undefined {
  const answer = parse(text);
  const score = numberOf(answer.score);
  const reject = numberOf(answer.required_score);
  if (score === undefined || reject === undefined) return undefined;
  const symbols = Object.values(objectOf(answer.symbols)).map(objectOf);
  return {
    filter: "rspamd",
    score: rounded(score),
    threshold: reject,
    isSpam: spamActions.includes(String(answer.action)),
    rules: symbols.flatMap((symbol) => {
      const points = numberOf(symbol.score);
      if (typeof symbol.name !== "string" || points === undefined) return [];
      const description = typeof symbol.description === "string" ? symbol.description : "";
      return [{ name: symbol.name, score: rounded(points), description }];
    }),
  };
}

function parse(text: string): Record<string, unknown> {
  try {
    return objectOf(JSON.parse(text));
  } catch {
    return {};
  }
}

function objectOf(value: unknown): Record<string, unknown> {
  return typeof value === "object" && value !== null ? (value as Record<string, unknown>) : {};
}

function numberOf(value: unknown): number | undefined {
  return typeof value === "number" && Number.isFinite(value) ? value : undefined;
}

function rounded(score: number): number {
  return Math.round(score * 100) / 100;
}
