/** Checks SPF, DKIM, DMARC and ARC of an inbound message with mailauth, with limits on time and DNS queries. Runs in the threads of threads.ts;
 * `createVerdicts` is for programs that check a message of their own. */
import { Readable } from "node:stream";
import { domainToASCII, domainToUnicode } from "node:url";
import type { AuthenticateResult } from "mailauth";
import { asNodeResolve, type NodeResolve } from "../dns/node-resolver.ts";
import type { Resolver } from "../dns/resolver.ts";
import type { Verdicts, VerdictWord } from "./rules/events.ts";

/** What the checks need of an IncomingMail. */
export type Judged = { message: Buffer; sender: string; client: { ip: string; helo: string } };

export type JudgeOptions = {
  hostname: string;
  resolve: NodeResolve;
  /** Called before each slice of the message, and after the last. What it throws ends the checks. */
  onSlice?(slice: "next" | "none"): void;
};

/** The sender waits for the checks, and its DNS records decide how many queries they take. */
export const verifyLimitMs = 8000;
const maxQueries = 100;
/** Apart from the others, so that a message with many signatures and seals cannot make DMARC fail for lack of queries. */
const maxPolicyQueries = 50;
const sliceBytes = 64 * 1024;

/** For a message whose checks did not end. */
export const unknownVerdicts: Verdicts = {
  spf: "temperror",
  spfDomain: "",
  dkim: "temperror",
  dkimDomain: "",
  dmarc: "temperror",
  arc: "temperror",
  arcDomain: "",
};

/** Loaded with the first message: mailauth is a third of the code that a start would read, and many nodes receive no mail. Kept, because an
 * import of a module that is loaded takes 40 µs. */
let authentication: Promise<typeof import("mailauth")> | undefined;

export async function judge(mail: Judged, options: JudgeOptions): Promise<Verdicts> {
  authentication ??= import("mailauth");
  const { authenticate } = await authentication;
  const failed = new Set<string>();
  const result = await authenticate(inSlices(mail.message, options.onSlice), {
    ip: mail.client.ip.replace(/^::ffff:/i, ""),
    helo: mail.client.helo,
    // RFC 7208 §2.4: with a null reverse-path, SPF checks the HELO name.
    sender: mail.sender === "" ? `postmaster@${mail.client.helo}` : mail.sender,
    mta: options.hostname,
    disableBimi: true,
    resolver: limitQueries(options.resolve, (name) => failed.add(name)) as never,
  });
  return verdictsOf(result, failed);
}

export function createVerdicts(deps: { resolver: Resolver; hostname: string; onProblem(error: unknown): void }) {
  return async (mail: Judged): Promise<Verdicts> => {
    const signal = AbortSignal.timeout(verifyLimitMs);
    const checks = judge(mail, { hostname: deps.hostname, resolve: asNodeResolve(deps.resolver, signal) });
    const late = new Promise<Verdicts>((resolve) =>
      signal.addEventListener("abort", () => resolve(unknownVerdicts), { once: true }),
    );
    return await Promise.race([checks, late]).catch((error) => {
      deps.onProblem(error);
      return unknownVerdicts;
    });
  };
}

/** The thread serves its messages between two slices, and the checks can be stopped there. A stream for one slice would cost as much as reading
 * a small message. */
function inSlices(message: Buffer, onSlice?: JudgeOptions["onSlice"]): Readable | Buffer {
  if (message.length <= sliceBytes) {
    onSlice?.("next");
    onSlice?.("none");
    return message;
  }
  async function* slices() {
    for (let at = 0; at < message.length; at += sliceBytes) {
      onSlice?.("next");
      yield message.subarray(at, at + sliceBytes);
      await new Promise((resolve) => setImmediate(resolve));
    }
    onSlice?.("none");
  }
  return Readable.from(slices(), { objectMode: false });
}

/** `onFailure` gets the names for which DNS had no answer, which is not the same as no record. */
function limitQueries(resolve: NodeResolve, onFailure: (name: string) => void): NodeResolve {
  const queries = { policies: 0, others: 0 };
  return async (name: string, type?: string) => {
    const kind = name.startsWith("_dmarc.") ? "policies" : "others";
    queries[kind] += 1;
    try {
      if (queries[kind] > (kind === "policies" ? maxPolicyQueries : maxQueries))
        throw Object.assign(new Error("too many DNS queries"), { code: "ESERVFAIL" });
      return await resolve(name, type);
    } catch (error) {
      if (!["ENOTFOUND", "ENODATA"].includes((error as NodeJS.ErrnoException).code ?? "")) onFailure(name);
      throw error;
    }
  };
}

function verdictsOf(result: AuthenticateResult, unanswered: ReadonlySet<string>): Verdicts {
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
    fromDomain: domainName(result.dmarc ? result.dmarc.status?.header?.from : undefined),
    ...arcOf(result.arc || undefined, unanswered),
  };
}

type Sealed = { chain?: { "arc-seal"?: { parsed?: Record<"d" | "s", { value?: unknown } | undefined> } }[] | false };

/** mailauth reports a key that DNS did not return as a failure of the chain. */
function arcOf(
  arc: { status?: { result?: string } } | undefined,
  unanswered: ReadonlySet<string>,
): Pick<Verdicts, "arc" | "arcDomain"> {
  const verdict = wordOf(arc?.status?.result);
  const seals = ((arc as Sealed | undefined)?.chain || []).map((set) => set["arc-seal"]?.parsed);
  if (verdict === "pass") return { arc: "pass", arcDomain: domainName(String(seals.at(-1)?.d?.value ?? "")) };
  const missesKey = seals.some((seal) => unanswered.has(`${seal?.s?.value}._domainkey.${seal?.d?.value}`));
  return { arc: verdict === "fail" && missesKey ? "temperror" : verdict, arcDomain: "" };
}

/** RFC 8601 §2.7. `policy` is a valid signature that a local policy rejects. */
function wordOf(result: string | undefined): VerdictWord {
  const words: readonly string[] = ["pass", "fail", "softfail", "neutral", "none", "temperror", "permerror"];
  if (result === "policy") return "fail";
  return result !== undefined && words.includes(result) ? (result as VerdictWord) : "none";
}

/** The sender controls this text. A U-label (RFC 8616 §3) becomes an A-label. mailauth looked up the keys and policies of exactly these
 * letters, so a name that IDNA would change, for example by dropping an invisible letter, is not shown: it would be that of another owner. */
function domainName(text: string | undefined): string {
  const name = (text ?? "").normalize("NFC").toLowerCase().replace(/\.$/, "");
  if (/^[\x21-\x7e]*$/.test(name)) return name.slice(0, 253);
  const ascii = domainToASCII(name);
  return domainToUnicode(ascii) === name ? ascii.slice(0, 253) : "";
}
