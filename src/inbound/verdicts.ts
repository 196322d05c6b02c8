/** Checks SPF, DKIM and DMARC of an inbound message with mailauth, using our resolver and limits on time and DNS queries. Called by
 * receive.ts. */
import { Readable } from "node:stream";
import type { AuthenticateResult } from "mailauth";
import { asNodeResolve } from "../dns/node-resolver.ts";
import type { Resolver } from "../dns/resolver.ts";
import type { IncomingMail } from "../smtp/server/session.ts";
import type { Verdicts, VerdictWord } from "./rules/events.ts";

export type Authenticator = (mail: IncomingMail) => Promise<Verdicts>;

/** The sender waits for the checks, and its DNS records decide how many queries they take. */
const limitMs = 8000;
const maxQueries = 100;
const sliceBytes = 64 * 1024;

export function createVerdicts(deps: {
  resolver: Resolver;
  hostname: string;
  onProblem(error: unknown): void;
}): Authenticator {
  return async (mail) => {
    const signal = AbortSignal.timeout(limitMs);
    const unknown: Verdicts = {
      spf: "temperror",
      spfDomain: "",
      dkim: "temperror",
      dkimDomain: "",
      dmarc: "temperror",
    };
    try {
      // Loaded with the first message: mailauth is a third of the code that a start would read, and many nodes receive no mail.
      const { authenticate } = await import("mailauth");
      const checks = authenticate(inSlices(mail.message), {
        ip: mail.client.ip.replace(/^::ffff:/i, ""),
        helo: mail.client.helo,
        // RFC 7208 §2.4: with a null reverse-path, SPF checks the HELO name.
        sender: mail.sender === "" ? `postmaster@${mail.client.helo}` : mail.sender,
        mta: deps.hostname,
        disableArc: true,
        disableBimi: true,
        resolver: limitQueries(asNodeResolve(deps.resolver, signal)) as never,
      });
      const late = new Promise<undefined>((resolve) =>
        signal.addEventListener("abort", () => resolve(undefined), { once: true }),
      );
      checks.catch(() => {});
      const result = await Promise.race([checks, late]);
      return result ? verdictsOf(result) : unknown;
    } catch (error) {
      deps.onProblem(error);
      return unknown;
    }
  };
}

/** Hashing 40 MiB at once would block the event loop. With slices, it runs other work in between. */
function inSlices(message: Buffer): Readable {
  async function* slices() {
    for (let at = 0; at < message.length; at += sliceBytes) {
      yield message.subarray(at, at + sliceBytes);
      if (message.length > sliceBytes) await new Promise((resolve) => setImmediate(resolve));
    }
  }
  return Readable.from(slices(), { objectMode: false });
}

function limitQueries(resolve: (name: string, type?: string) => Promise<unknown[]>) {
  let queries = 0;
  return (name: string, type?: string) => {
    queries += 1;
    if (queries > maxQueries) throw Object.assign(new Error("too many DNS queries"), { code: "ESERVFAIL" });
    return resolve(name, type);
  };
}

function verdictsOf(result: AuthenticateResult): Verdicts {
  const signatures = result.dkim?.results ?? [];
  const passed = signatures.filter(({ status }) => status?.result === "pass");
  const best = passed.find(({ status }) => status?.aligned) ?? passed[0];
  const failed = signatures.find(({ status }) => status?.result === "fail") ?? signatures[0];
  const spf = result.spf || undefined;
  return {
    spf: wordOf(spf?.status?.result),
    spfDomain: domainName(spf?.domain),
    dkim: best ? "pass" : wordOf(failed?.status?.result),
    dkimDomain: domainName(best?.signingDomain),
    dmarc: wordOf(result.dmarc ? result.dmarc.status?.result : undefined),
  };
}

/** RFC 8601 §2.7. `policy` is a valid signature that a local policy rejects. */
function wordOf(result: string | undefined): VerdictWord {
  const words: readonly string[] = ["pass", "fail", "softfail", "neutral", "none", "temperror", "permerror"];
  if (result === "policy") return "fail";
  return result !== undefined && words.includes(result) ? (result as VerdictWord) : "none";
}

/** The sender controls this text. */
function domainName(text: string | undefined): string {
  return (text ?? "")
    .replace(/[^\x21-\x7e]/g, "")
    .slice(0, 253)
    .toLowerCase();
}
