/** Who an arriving message can be trusted to come from: SPF, DKIM and DMARC by mailauth, with our resolver and within bounds. */
import { Readable } from "node:stream";
import type { AuthenticateResult } from "mailauth";
import { asNodeResolve } from "../dns/node-resolver.ts";
import type { Resolver } from "../dns/resolver.ts";
import type { Verdicts, VerdictWord } from "../rules/inbound-events.ts";
import type { IncomingMail } from "../smtp/server-session.ts";

export type Authenticator = (mail: IncomingMail) => Promise<Verdicts>;

/** Judging must not keep a sender waiting, nor let its DNS keep us busy. */
const limitMs = 8000;
const maxQuestions = 100;
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
      // Loaded by the first message: a third of what a start has to read, and many a node receives none.
      const { authenticate } = await import("mailauth");
      const judged = authenticate(slowly(mail.message), {
        ip: mail.client.ip.replace(/^::ffff:/i, ""),
        helo: mail.client.helo,
        // RFC 7208 §2.4: the null path is judged by the name in HELO.
        sender: mail.sender === "" ? `postmaster@${mail.client.helo}` : mail.sender,
        mta: deps.hostname,
        disableArc: true,
        disableBimi: true,
        resolver: bounded(asNodeResolve(deps.resolver, signal)) as never,
      });
      const late = new Promise<undefined>((resolve) =>
        signal.addEventListener("abort", () => resolve(undefined), { once: true }),
      );
      judged.catch(() => {});
      const result = await Promise.race([judged, late]);
      return result ? verdictsOf(result) : unknown;
    } catch (error) {
      deps.onProblem(error);
      return unknown;
    }
  };
}

/** Hashing 40 MiB in one go would keep everybody waiting: between two slices others have their turn. */
function slowly(message: Buffer): Readable {
  async function* slices() {
    for (let at = 0; at < message.length; at += sliceBytes) {
      yield message.subarray(at, at + sliceBytes);
      if (message.length > sliceBytes) await new Promise((resolve) => setImmediate(resolve));
    }
  }
  return Readable.from(slices(), { objectMode: false });
}

function bounded(resolve: (name: string, type?: string) => Promise<unknown[]>) {
  let asked = 0;
  return (name: string, type?: string) => {
    asked += 1;
    if (asked > maxQuestions) throw Object.assign(new Error("too many questions"), { code: "ESERVFAIL" });
    return resolve(name, type);
  };
}

function verdictsOf(result: AuthenticateResult): Verdicts {
  const signatures = result.dkim?.results ?? [];
  const passed = signatures.filter((one) => one.status?.result === "pass");
  const best = passed.find((one) => one.status?.aligned) ?? passed[0];
  const failed = signatures.find((one) => one.status?.result === "fail") ?? signatures[0];
  const spf = result.spf || undefined;
  return {
    spf: wordOf(spf?.status?.result),
    spfDomain: name(spf?.domain),
    dkim: best ? "pass" : wordOf(failed?.status?.result),
    dkimDomain: name(best?.signingDomain),
    dmarc: wordOf(result.dmarc ? result.dmarc.status?.result : undefined),
  };
}

/** RFC 8601 §2.7; `policy` is a signature that is good but not good enough. */
function wordOf(result: string | undefined): VerdictWord {
  const words: readonly string[] = ["pass", "fail", "softfail", "neutral", "none", "temperror", "permerror"];
  if (result === "policy") return "fail";
  return result !== undefined && words.includes(result) ? (result as VerdictWord) : "none";
}

function name(text: string | undefined): string {
  return (text ?? "")
    .replace(/[^\x21-\x7e]/g, "")
    .slice(0, 253)
    .toLowerCase();
}
