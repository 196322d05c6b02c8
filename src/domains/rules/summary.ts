/** Summarizes a domain's records: one message on what to do next, with the record and the fix, and a next action. */

import type { RecordState } from "./judge.ts";
import { type ExpectedRecord, nameInZone } from "./records.ts";
import { canReceive, canSend, type DomainStatus } from "./status.ts";

export const nextActions = ["CONFIGURE_DNS", "WAIT", "NONE"] as const;
export type NextAction = (typeof nextActions)[number];

export type JudgedRecord = RecordState & { record: ExpectedRecord; waiting?: boolean; unanswered?: boolean };

export type DomainSummary = {
  message: string;
  nextAction: NextAction;
  recordsPending: number;
  recordsConfigured: number;
  canSend: boolean;
  canReceive: boolean;
};

/** Every record counts as either configured (found) or pending, including those that are not required. The record for TLS reports does not
 * count: domains were complete without it. */
export function summarize(domain: string, status: DomainStatus, all: readonly JudgedRecord[]): DomainSummary {
  const records = all.filter(({ record }) => record.purpose !== "TLS_REPORT");
  const configured = records.filter((one) => one.status === "found").length;
  const lacking = records.filter((one) => one.record.need === "required" && one.status !== "found");
  const waiting = lacking.length > 0 && lacking.every((one) => one.waiting === true);
  const nextAction: NextAction = status === "ready" ? "NONE" : waiting ? "WAIT" : "CONFIGURE_DNS";
  const sending = canSend(status, records);
  const sentences = [
    records.every((one) => one.status === "pending" && one.unanswered !== true)
      ? `The records of ${domain} have not been checked yet. Mail cannot be sent yet.`
      : headline({ domain, status, nextAction, sending, wrong: lacking.filter(isWrong).length }),
    ...(nextAction === "CONFIGURE_DNS" ? fixes(lacking) : []),
    ...(nextAction === "NONE" ? improvements(records) : []),
    ...unansweredNote(records),
  ];
  return {
    message: sentences.join(" "),
    nextAction,
    recordsPending: records.length - configured,
    recordsConfigured: configured,
    canSend: sending,
    canReceive: canReceive(records),
  };
}

type Headline = { domain: string; status: DomainStatus; nextAction: NextAction; sending: boolean; wrong: number };

function headline({ domain, status, nextAction, sending, wrong }: Headline): string {
  const may = sending ? "Mail can already be sent." : "Mail cannot be sent yet.";
  if (status === "ready") return `${domain} is ready.`;
  if (nextAction === "WAIT") {
    return `The records of ${domain} are right at your DNS provider; resolvers still cache an old answer until its TTL expires. You do not need to do anything. ${may}`;
  }
  switch (status) {
    case "pending":
      if (wrong === 0) return `No record of ${domain} has been found yet. ${may}`;
      return `${wrong === 1 ? "One record" : `${wrong} records`} of ${domain} ${wrong === 1 ? "has" : "have"} a wrong value. ${may}`;
    case "verifying":
      return `Some records of ${domain} are in place. ${may}`;
    case "degraded":
      return sending
        ? `${domain} can still send, but required records are missing, and receivers may reject its mail.`
        : `${domain} has lost its DKIM records and cannot send.`;
    case "failed":
      return `No DKIM record of ${domain} has been found for 72 hours, so it cannot send. It recovers automatically once the records are published.`;
  }
}

/** The full fix for the first record, the values of the others that are wrong, and only the names of the rest. */
function fixes(lacking: readonly JudgedRecord[]): string[] {
  const [first, ...others] = lacking.filter((one) => one.waiting !== true);
  if (first === undefined) return [];
  const wrong = others.filter(isWrong).map((one) => `${labelOf(one)} (found: ${one.discoveredValue})`);
  const absent = others.filter((one) => !isWrong(one)).map(labelOf);
  return [
    fix(first),
    ...(wrong.length > 0 ? [`Also wrong: ${wrong.join(", ")}.`] : []),
    ...(absent.length > 0 ? [`Then fix: ${absent.join(", ")}.`] : []),
  ];
}

function fix({ record, status, note, discoveredValue, mergedValue }: JudgedRecord): string {
  const priority = record.priority === undefined ? "" : ` with priority ${record.priority}`;
  if (status === "mismatch") {
    return `The ${record.type} record at ${record.name} is wrong: ${note}. Found: ${discoveredValue}. Expected: ${mergedValue ?? record.value}${priority}.`;
  }
  const why = status === "missing" && note !== "" ? ` (${note})` : "";
  return `Add the ${record.type} record ${nameInZone(record)} with the value ${record.value}${priority} in the DNS of ${record.dnsZone}${why}.`;
}

function isWrong({ status }: JudgedRecord): boolean {
  return status === "mismatch";
}

function labelOf({ record }: JudgedRecord): string {
  return `${record.type} ${record.name}`;
}

function improvements(records: readonly JudgedRecord[]): string[] {
  return records
    .filter((one) => one.record.need === "recommended" && one.status !== "found")
    .map((one) => `Also recommended: the ${one.record.type} record at ${one.record.name}.`);
}

function unansweredNote(records: readonly JudgedRecord[]): string[] {
  const silent = records.filter((one) => one.unanswered === true);
  if (silent.length === 0) return [];
  if (silent.length === records.length) {
    return ["DNS did not answer in the last check; the last known status is kept."];
  }
  const names = silent.map(labelOf);
  return [`DNS gave no answer for ${names.join(", ")} in the last check; the last known status is kept.`];
}
