/** What needs a person's attention, each as a fact and an action, most urgent first. attention-card.tsx shows it. */
import { type Timestamp, timestampMs } from "@bufbuild/protobuf/wkt";
import { type Domain, DomainStatus } from "../../../src/gen/v1/domain_pb.ts";
import type { Destination } from "../../../src/gen/v1/queue_pb.ts";
import type { StatsAlert } from "../../../src/gen/v1/stats_pb.ts";
import { type Webhook, WebhookStatus } from "../../../src/gen/v1/webhook_pb.ts";
import type { Quota } from "../../../src/gen/v1/workspace_pb.ts";
import type { Tone } from "../parts/outcome.tsx";
import { formatDuration } from "../stats/scale.ts";
import { quotaNames } from "../workspaces/quota-text.ts";

export type Item = {
  id: string;
  tone: Tone;
  word: string;
  /** The thing that the fact is about, shown bold. */
  subject: string;
  fact: string;
  action: { text: string; to: string; params?: Record<string, string>; search?: Record<string, string> };
};

/** Missing parts could not be read. */
export type Facts = {
  alerts?: readonly StatsAlert[];
  domains?: readonly Domain[];
  webhooks?: readonly Webhook[];
  quotas?: readonly Quota[];
  destinations?: readonly Destination[];
};

/** The sentence for a list without items. It names only the parts that were read. */
export function fineText(parts: readonly string[]): string {
  const list = new Intl.ListFormat("en-GB").format(parts);
  return `Nothing. ${list.charAt(0).toUpperCase()}${list.slice(1)} are fine. Problems appear here with what to do.`;
}

export function attentionOf(facts: Facts, nowMs: number): Item[] {
  return [
    ...(facts.alerts ?? []).map(alertItem),
    ...(facts.domains ?? []).flatMap(domainItem),
    ...(facts.webhooks ?? []).flatMap((webhook) => webhookItem(webhook, nowMs)),
    ...(facts.quotas ?? []).flatMap(quotaItem),
    ...(facts.destinations ?? []).flatMap((destination) => destinationItem(destination, nowMs)),
  ];
}

function alertItem({ figure, message }: StatsAlert): Item {
  const isBounces = figure === "bounces";
  return {
    id: `alert ${figure}`,
    tone: isBounces ? "bounced" : "complained",
    word: "Rate",
    subject: isBounces ? "Bounce rate:" : "Complaint rate:",
    fact: message.replaceAll(" %", "\u00a0%"),
    action: {
      text: "Show emails",
      to: "/emails",
      search: { outcome: isBounces ? "bounced" : "complained", since: "day" },
    },
  };
}

function domainItem({ id, domain, status, summary }: Domain): Item[] {
  const pending = summary?.recordsPending ?? 0;
  if (status === DomainStatus.READY || status === DomainStatus.UNSPECIFIED) return [];
  const isBroken = status === DomainStatus.DEGRADED || status === DomainStatus.FAILED;
  const records = pending === 1 ? "1 record is missing or wrong" : `${pending} records are missing or wrong`;
  return [
    {
      id,
      tone: isBroken ? "bounced" : "delayed",
      word: "DNS",
      subject: domain,
      fact: summary?.canSend ? `can send, but ${records}` : `cannot send: ${records}`,
      action: { text: "Show records", to: "/domains/$id", params: { id } },
    },
  ];
}

function webhookItem({ id, url, status, disabledReason, failingSince }: Webhook, nowMs: number): Item[] {
  const action = { text: "Show attempts", to: "/webhooks/$id", params: { id } };
  const item = { id, tone: "bounced" as const, word: "Webhook", subject: hostOf(url), action };
  // A person who disabled a webhook knows it.
  if (status === WebhookStatus.DISABLED)
    return disabledReason ? [{ ...item, fact: `is disabled: ${disabledReason}` }] : [];
  return failingSince ? [{ ...item, fact: `has failed for ${since(failingSince, nowMs)}` }] : [];
}

function quotaItem({ kind, limit, used }: Quota): Item[] {
  if (limit === undefined || used < 0.8 * limit) return [];
  const percent = limit === 0 ? 100 : Math.floor((used * 100) / limit);
  return [
    {
      id: `quota ${kind}`,
      tone: percent >= 100 ? "bounced" : "delayed",
      word: "Quota",
      subject: quotaNames[kind] ?? "A quota",
      fact: percent >= 100 ? "is used up: more is refused" : `is used to ${percent} %`,
      action: { text: "Show quotas", to: "/workspace" },
    },
  ];
}

function destinationItem({ destination, stalledSince, queued }: Destination, nowMs: number): Item[] {
  if (!stalledSince) return [];
  return [
    {
      id: `queue ${destination}`,
      tone: "delayed",
      word: "Queue",
      subject: destination,
      fact: `has not answered for ${since(stalledSince, nowMs)}; ${queued.toLocaleString("en")} waiting`,
      action: { text: "Show queue", to: "/queue", search: { q: destination } },
    },
  ];
}

function since(at: Timestamp, nowMs: number): string {
  return formatDuration(Math.max(0, nowMs - timestampMs(at)));
}

function hostOf(url: string): string {
  return URL.canParse(url) ? new URL(url).host : url;
}
