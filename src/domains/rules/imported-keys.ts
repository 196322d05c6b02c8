/** Judges the records of imported DKIM keys. A key signs while its record is found. result.ts calls it for every check of the domain. */
import { type Judgment, judgeRecord, type RecordFinding, unchecked } from "./judge.ts";
import { type ExpectedRecord, importedKeyRecord } from "./records.ts";

export type ImportedKey = {
  id: string;
  selector: string;
  publicKey: string;
  bits: number;
  primes: number;
  /** The judgment of the last check. Empty before the first one. */
  finding: Partial<Judgment>;
  lastSignedAt: Date | null;
  createdAt: Date;
};

export type ImportedKeyChecks = {
  keys: { id: string; finding: Judgment }[];
  /** Every imported key was found. */
  complete: boolean;
  changed: boolean;
  /** For the event: which keys were found or lost. Empty if none was. */
  message: string;
};

export function judgeImportedKeys(
  before: { domain: string; dnsZone?: string | null; importedKeys: readonly ImportedKey[] },
  findings: ReadonlyMap<ExpectedRecord["key"], RecordFinding>,
): ImportedKeyChecks {
  const judged = before.importedKeys.map((key) => {
    const record = importedKeyRecord(before, key);
    const finding = findings.get(record.key);
    const previous = findingOf(key);
    return { key, previous, now: finding ? judgeRecord(record, finding, previous) : previous };
  });
  return {
    keys: judged.map(({ key, now }) => ({ id: key.id, finding: now })),
    complete: judged.every(({ now }) => now.status === "found"),
    changed: judged.some(
      ({ previous, now }) => now.status !== previous.status || now.discoveredValue !== previous.discoveredValue,
    ),
    message: judged.flatMap(({ key, previous, now }) => changeOf(key, previous, now)).join(" "),
  };
}

export function isFound(key: Pick<ImportedKey, "finding">): boolean {
  return key.finding.status === "found";
}

/** The stored judgment, or that of a key that was not checked yet. */
export function findingOf({ finding }: Pick<ImportedKey, "finding">): Judgment {
  return { ...unchecked, waiting: false, unanswered: false, ...finding };
}

function changeOf({ selector }: ImportedKey, previous: Judgment, now: Judgment): string[] {
  if (now.status === previous.status) return [];
  if (now.status === "found") return [`The record of the imported DKIM key ${selector} was found, and the key signs.`];
  return previous.status === "found"
    ? [`The record of the imported DKIM key ${selector} is gone, and the key no longer signs.`]
    : [];
}
