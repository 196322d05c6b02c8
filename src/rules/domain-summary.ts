/** Says in one message what a domain needs next, which record it is about and how to fix it. */
import { type AskedRecord, nameInZone } from "./dns-records.ts";
import { canReceive, canSend, type DomainStatus } from "./domain-status.ts";
import type { RecordState } from "./record-judge.ts";

export const nextActions = ["CONFIGURE_DNS", "WAIT", "NONE"] as const;
export type NextAction = (typeof nextActions)[number];

export type JudgedRecord = RecordState & { record: AskedRecord; waiting?: boolean; unanswered?: boolean };

export type DomainSummary = {
  message: string;
  nextAction: NextAction;
  recordsPending: number;
  recordsConfigured: number;
  canSend: boolean;
  canReceive: boolean;
};

/** Every record is either configured (found) or pending, also the ones that are not needed for ready. */
export function summarise(domain: string, status: DomainStatus, records: readonly JudgedRecord[]): DomainSummary {
  const configured = records.filter((one) => one.status === "found").length;
  const lacking = records.filter((one) => one.record.need === "required" && one.status !== "found");
  const waiting = lacking.length > 0 && lacking.every((one) => one.waiting === true);
  const nextAction: NextAction = status === "ready" ? "NONE" : waiting ? "WAIT" : "CONFIGURE_DNS";
  const sending = canSend(status, records);
  const sentences = [
    records.every((one) => one.status === "pending" && one.unanswered !== true)
      ? `The records of ${domain} were not looked up yet. Nothing can be sent yet.`
      : headline(domain, status, nextAction, sending),
    ...(nextAction === "CONFIGURE_DNS" ? fixes(lacking) : []),
    ...(nextAction === "NONE" ? improvements(records) : []),
    ...silence(records),
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

function headline(domain: string, status: DomainStatus, nextAction: NextAction, sending: boolean): string {
  const may = sending ? "Mail can be sent meanwhile." : "Nothing can be sent yet.";
  if (status === "ready") return `${domain} is ready.`;
  if (nextAction === "WAIT") {
    return `The records of ${domain} are right at your DNS provider; resolvers still hold an old answer, which they drop within its time to live. Nothing is left to do. ${may}`;
  }
  switch (status) {
    case "pending":
      return `No record of ${domain} was found yet. ${may}`;
    case "verifying":
      return `Some records of ${domain} are in place. ${may}`;
    case "degraded":
      return sending
        ? `${domain} still sends, but needed records are missing, and receivers may refuse its mail.`
        : `${domain} has lost its DKIM records and cannot send.`;
    case "failed":
      return `No DKIM record of ${domain} was found for 72 hours, so it cannot send. It recovers by itself once the records are there.`;
  }
}

/** The first record with its fix in full; the others by name, so that the message stays readable. */
function fixes(lacking: readonly JudgedRecord[]): string[] {
  const [first, ...others] = lacking.filter((one) => one.waiting !== true);
  if (first === undefined) return [];
  const names = others.map(({ record }) => `${record.type} ${record.name}`);
  return [fix(first), ...(names.length > 0 ? [`Then see to: ${names.join(", ")}.`] : [])];
}

function fix({ record, status, note, discoveredValue }: JudgedRecord): string {
  const { host, zone } = nameInZone(record);
  const priority = record.priority === undefined ? "" : ` with priority ${record.priority}`;
  if (status === "mismatch") {
    return `The ${record.type} record at ${record.name} is not right: ${note}. Found: ${discoveredValue}. Wanted: ${record.value}${priority}.`;
  }
  const why = status === "missing" && note !== "" ? ` (${note})` : "";
  return `Add the ${record.type} record ${host} with the value ${record.value}${priority} in the DNS of ${zone}${why}.`;
}

function improvements(records: readonly JudgedRecord[]): string[] {
  return records
    .filter((one) => one.record.need === "recommended" && one.status !== "found")
    .map((one) => `Recommended as well: the ${one.record.type} record at ${one.record.name}.`);
}

function silence(records: readonly JudgedRecord[]): string[] {
  const silent = records.filter((one) => one.unanswered === true);
  if (silent.length === 0) return [];
  if (silent.length === records.length) {
    return ["DNS could not be asked in the last check; what was known before is kept."];
  }
  const names = silent.map(({ record }) => `${record.type} ${record.name}`);
  return [`DNS gave no answer for ${names.join(", ")} in the last check; what was known before is kept.`];
}
