/** Judges one asked record by its purpose from what DNS says about it: a pure function, called for each record of a check. */
import type { AskedRecord, RecordStatus } from "./dns-records.ts";
import { judgeDkim, judgeDmarc, judgeMx, judgeSpf, type Opinion } from "./record-judge-purpose.ts";
import type { RecordView } from "./record-view.ts";

/** What is stored for a record between checks. */
export type RecordState = { status: RecordStatus; discoveredValue: string; note: string };

export type RecordFinding = {
  recursive: RecordView;
  /** What the domain's own servers say; absent where they were not or could not be asked. */
  authoritative?: RecordView;
  /** The record stands at this name instead, because the provider added its zone. */
  misplacedAt?: string;
};

export type Judgement = RecordState & {
  /** The domain's own servers have it right and the resolver does not show it yet. */
  waiting: boolean;
  /** DNS told nothing in this check: the status is the previous one. */
  unanswered: boolean;
};

export const unchecked: RecordState = { status: "pending", discoveredValue: "", note: "" };

export function judgeRecord(record: AskedRecord, finding: RecordFinding, previous: RecordState = unchecked): Judgement {
  const seen = judgeView(record, finding.recursive);
  const own = finding.authoritative && judgeView(record, finding.authoritative);

  if (seen.status === "unknown") {
    return { ...previous, note: `${seen.note}; the last known status is kept`, waiting: false, unanswered: true };
  }
  if (seen.status === "found") {
    return {
      status: "found",
      discoveredValue: seen.discoveredValue,
      note: seen.note,
      waiting: false,
      unanswered: false,
    };
  }
  const ownHasIt = own?.status === "found";
  if (ownHasIt && previous.status === "found") {
    const note = "a resolver shows something else for now, your own DNS servers still have it right";
    return { status: "found", discoveredValue: own.discoveredValue, note, waiting: false, unanswered: false };
  }
  const note = ownHasIt
    ? "your own DNS servers have it right, resolvers still hold the old answer"
    : finding.misplacedAt !== undefined
      ? `it was found at ${finding.misplacedAt}: your provider adds the domain by itself, so enter the name without it`
      : seen.note;
  return { status: seen.status, discoveredValue: seen.discoveredValue, note, waiting: ownHasIt, unanswered: false };
}

/** What one source says about the record, on its own. */
export function judgeView(record: AskedRecord, view: RecordView): Opinion {
  switch (record.purpose) {
    case "DKIM":
      return judgeDkim(record, view);
    case "SPF":
    case "MAIL_FROM_SPF":
      return judgeSpf(record, view);
    case "DMARC":
      return judgeDmarc(view);
    case "MX_INBOUND":
    case "MAIL_FROM_MX":
      return judgeMx(record, view);
  }
}
