/** What the table says about a source: its mark, what receivers did with its mail, and what to do about it. */
import type { DmarcCounts, DmarcSource } from "../../../src/gen/v1/report_pb.ts";
import type { Tone } from "../parts/outcome.tsx";
import { formatCount } from "../stats/scale.ts";

export type SourceLabel = { text: string; tone: Tone };

type Counts = Pick<DmarcCounts, "messages" | "aligned">;

export function sourceLabel({ messages, aligned }: Counts): SourceLabel {
  if (aligned >= messages) return { text: "Aligned", tone: "delivered" };
  return aligned > 0 ? { text: "Partly aligned", tone: "delayed" } : { text: "Not aligned", tone: "bounced" };
}

/** Undefined without messages. */
export function alignedRate({ messages, aligned }: Counts): number | undefined {
  return messages > 0 ? aligned / messages : undefined;
}

/** What receivers did: the usual case in one word, everything else with its number. */
export function treatmentText(counts: Pick<DmarcCounts, "delivered" | "quarantined" | "rejected">): string {
  const { delivered, quarantined, rejected } = counts;
  if (quarantined + rejected === 0) return delivered > 0 ? "Delivered" : "Not reported";
  const parts: [number, string][] = [
    [rejected, "rejected"],
    [quarantined, "quarantined"],
    [delivered, "delivered"],
  ];
  return parts
    .filter(([count]) => count > 0)
    .map(([count, word]) => `${formatCount(count)} ${word}`)
    .join(", ");
}

/** The name of a source. The server counts addresses past its limits together, without an address. */
export function sourceName({ ip, host }: Pick<DmarcSource, "ip" | "host">): string {
  return host || ip || "Other addresses";
}

type Judged = Pick<DmarcSource, "ip" | "own" | "dkimDomains" | "spfDomains" | "overrides"> & { counts?: Counts };

/** What the numbers of a source mean, and what to do. */
export function adviceOf({ ip, own, counts, dkimDomains, spfDomains, overrides }: Judged, domain: string): string {
  if (ip === "") return "Addresses past the limits on stored addresses, counted together.";
  if (!counts || counts.aligned >= counts.messages)
    return own
      ? "Mail that this service sent. All of it passed."
      : "All of its mail passed DMARC: it is signed for your domain, or your SPF record permits it.";
  if (own)
    return "Mail that this service sent. Some of it failed, for example because it was changed on the way or sent before the DKIM records were in place. Check the DNS records of the domain.";
  if (overrides.some((reason) => forwarding.has(reason)))
    return "Receivers recognized it as a forwarder or a mailing list, which changes mail on the way. This is normal for a small share of your mail.";
  if (counts.aligned > 0)
    return "Part of its mail passes. Forwarding can break the rest; if it is a server or a service of yours, check that it signs all of its mail with DKIM.";
  const signers = [...new Set([...dkimDomains, ...spfDomains])].filter((name) => name !== domain);
  const as = signers.length > 0 ? ` It authenticates as ${signers.slice(0, 3).join(", ")}.` : "";
  return `None of its mail passes.${as} If you know this sender, set up DKIM for ${domain} there. If you do not, it may be forged mail, which a stricter policy stops.`;
}

/** RFC 9990: reasons for which receivers did not apply the policy. */
const forwarding = new Set(["mailing_list", "trusted_forwarder", "forwarded"]);
