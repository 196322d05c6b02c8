/** Takes TLS reports by HTTPS (RFC 8460 §3): POST /tls-reports/<token>. Anyone can write such a report, so it is counted apart and leads to no
 * event. The answer comes after the report is stored. Called by http/dispatch.ts. */
import { clientAddress } from "../http/client-address.ts";
import { type PageHandler, sendText } from "../http/dispatch.ts";
import { closeAfterUnreadBody } from "../http/request-body.ts";
import type { Request, Response } from "../http/server.ts";
import type { ReportResult } from "../mail/reports/read.ts";
import { maxTlsBytes } from "../mail/reports/tls-report.ts";
import { maxPackedBytes } from "../mail/reports/unpack.ts";
import type { Log } from "../ops/log.ts";
import { isDatabaseAway, type Sql } from "../postgres/pool.ts";
import { networksOf } from "../shares/address.ts";
import { createTokenBuckets } from "../shares/token-bucket.ts";
import type { NoteReport, ReportOutcome } from "./receive.ts";
import { problemOf } from "./rules/acceptable.ts";
import { findByToken, isToken } from "./store/domains.ts";
import { storeReport } from "./store/fold.ts";

export type TlsPageDeps = {
  sql: Sql;
  log: Log;
  nowMs(): number;
  trustedProxies: readonly string[];
  /** Reads the body in a thread. `owner`: the network of the client. */
  read(raw: Buffer, owner: string): Promise<ReportResult | { reply: string }>;
  note: NoteReport;
};

/** One client network reports for a few domains a day; a large provider for as many as it sends to. */
const clientRate = { burst: 50, periodMs: 2000, maxKeys: 20_000 };
const tokenRate = { burst: 30, periodMs: 10_000, maxKeys: 20_000 };
/** Bodies that are read at the same time, of one client network and of all. */
const maxReading = { each: 2, all: 8 };
const bodyMs = 30_000;
const maxBytes = Math.min(maxPackedBytes, maxTlsBytes);
const maxDropped = 4 * maxBytes;

class Refused extends Error {
  readonly status: number;
  readonly outcome: ReportOutcome | undefined;
  readonly retryAfterMs: number | undefined;

  constructor(status: number, message: string, more: { outcome?: ReportOutcome; retryAfterMs?: number } = {}) {
    super(message);
    this.status = status;
    this.outcome = more.outcome;
    this.retryAfterMs = more.retryAfterMs;
  }
}

/** `path`: what the path of the request has before the token. */
export function tlsReportPage(deps: TlsPageDeps, path: string): PageHandler {
  const clients = createTokenBuckets(clientRate);
  const tokens = createTokenBuckets(tokenRate);
  const reading = new Map<string, number>();

  async function take(request: Request, response: Response): Promise<void> {
    if (request.method !== "POST") {
      response.setHeader("allow", "POST");
      throw new Refused(405, "Use POST.");
    }
    const owner = networksOf(clientAddress(request, deps.trustedProxies)).site;
    requireRate(clients.take(owner, performance.now()).waitMs);
    const token = (request.url ?? "").split(/[?#]/, 1)[0]!.slice(path.length);
    const domain = isToken(token) ? await findByToken(deps.sql, token) : undefined;
    if (!domain) throw new Refused(404, "There is no report address with this token.");
    requireRate(tokens.take(token, performance.now()).waitMs);
    requireType(request);
    const raw = await withinShare(owner, () => readBody(request));
    const read = await deps.read(raw, owner);
    if ("reply" in read)
      throw read.reply.startsWith("4")
        ? new Refused(503, "The server is too busy to read the report now. Retry later.", {
            outcome: "deferred",
            retryAfterMs: 60_000,
          })
        : new Refused(413, "Reading the report takes too much time or memory.", { outcome: "too_large" });
    if ("problem" in read)
      throw new Refused(read.reason === "too_large" ? 413 : 400, sentence(read.problem), { outcome: read.reason });
    const { report } = read;
    if (report.kind !== "tls") throw new Refused(400, "The body is not a TLS report.", { outcome: "invalid" });
    const problem = problemOf(report, domain.domain, deps.nowMs());
    if (problem) throw new Refused(400, sentence(problem), { outcome: "invalid" });
    const nowMs = deps.nowMs();
    const { kind } = await storeReport(deps.sql, {
      domain,
      via: "https",
      reporter: "",
      report,
      nowMs,
      isOwnAddress: () => false,
    });
    if (kind === "gone") throw new Refused(404, "There is no report address with this token.", { outcome: "gone" });
    if (kind === "full")
      throw new Refused(429, "Too many reports for this address today. Retry later.", {
        outcome: "full",
        retryAfterMs: 3_600_000,
      });
    deps.note({ via: "https", kind: "tls", outcome: kind });
    deps.log.info({ domain: domain.domain, kind: "tls", via: "https", again: kind === "seen" }, "stored a report");
    sendText(response, 201, "The report is stored.\n");
  }

  /** A client that sends slowly holds one of a few places. */
  async function withinShare<T>(owner: string, work: () => Promise<T>): Promise<T> {
    const own = reading.get(owner) ?? 0;
    const all = [...reading.values()].reduce((sum, one) => sum + one, 0);
    if (own >= maxReading.each || all >= maxReading.all)
      throw new Refused(503, "Too many reports are being received. Retry later.", { retryAfterMs: 30_000 });
    reading.set(owner, own + 1);
    try {
      return await work();
    } finally {
      const left = reading.get(owner)! - 1;
      if (left === 0) reading.delete(owner);
      else reading.set(owner, left);
    }
  }

  return async (request, response) => {
    try {
      await take(request, response);
    } catch (error) {
      const refused = refusalOf(error);
      if (!(error instanceof Refused) && refused.status === 500) throw error;
      if (refused.outcome) deps.note({ via: "https", kind: "tls", outcome: refused.outcome });
      if (refused.retryAfterMs !== undefined) response.setHeader("retry-after", Math.ceil(refused.retryAfterMs / 1000));
      closeAfterUnreadBody(request, response);
      sendText(response, refused.status, `${refused.message}\n`);
    }
  };
}

function refusalOf(error: unknown): Refused {
  if (error instanceof Refused) return error;
  if (isDatabaseAway(error))
    return new Refused(503, "The report cannot be stored now. Retry later.", {
      outcome: "deferred",
      retryAfterMs: 60_000,
    });
  return new Refused(500, "internal error");
}

function requireRate(waitMs: number): void {
  if (waitMs > 0) throw new Refused(429, "Too many reports. Retry later.", { retryAfterMs: waitMs });
}

/** RFC 8460 §6.4, §6.5. */
function requireType({ headers }: Request): void {
  const type = (headers["content-type"] ?? "").split(";")[0]!.trim().toLowerCase();
  if (type !== "application/tlsrpt+gzip" && type !== "application/tlsrpt+json")
    throw new Refused(415, "Send application/tlsrpt+gzip or application/tlsrpt+json.", { outcome: "invalid" });
  if (headers["content-encoding"] !== undefined && headers["content-encoding"] !== "identity")
    throw new Refused(415, "Send the body without a Content-Encoding.", { outcome: "invalid" });
}

/** A body that is too large is read to its end, within another limit: a client that is still sending would not see the answer. */
async function readBody(request: Request): Promise<Buffer> {
  const tooLarge = () => new Refused(413, `The body has more than ${maxBytes} octets.`, { outcome: "too_large" });
  if (Number(request.headers["content-length"] ?? 0) > maxDropped) throw tooLarge();
  const timer = setTimeout(() => request.destroy(), bodyMs);
  try {
    const chunks: Buffer[] = [];
    let length = 0;
    for await (const chunk of request.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>) {
      length += chunk.length;
      if (length > maxDropped) throw tooLarge();
      if (length <= maxBytes) chunks.push(chunk);
      else chunks.length = 0;
    }
    if (length > maxBytes) throw tooLarge();
    return Buffer.concat(chunks);
  } catch (error) {
    throw error instanceof Refused
      ? error
      : new Refused(400, "The body of the request is not complete.", { outcome: "unreadable" });
  } finally {
    clearTimeout(timer);
  }
}

function sentence(clause: string): string {
  return `${clause[0]!.toUpperCase()}${clause.slice(1)}.`;
}
