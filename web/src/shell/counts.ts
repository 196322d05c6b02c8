/** The numbers next to the sections of the navigation, and what they mean in words. Pure: use-counts.ts reads them from the server. */

/** `atLeast`: there are more. */
export type Count = { number: number; atLeast: boolean };

/** A part is missing if the caller may not read it. */
export type Counts = {
  /** Accepted in the last 24 hours. */
  emails?: Count;
  /** Not finished for at least one recipient. */
  waiting?: Count;
  /** The ids of the newest inbound messages, newest first. */
  inbound?: { ids: readonly string[]; atLeast: boolean };
  /** Domains with missing or wrong records. */
  domainsToFix?: Count;
  suppressions?: Count;
  failingWebhooks?: Count;
};

export type SectionCount = {
  text: string;
  /** The whole sentence, for the hint and for screen readers. */
  says: string;
  isProblem: boolean;
};

/** What a section shows. Nothing to say: undefined. `seen` is the newest inbound message that the person has seen in the list. */
export function countOf(section: string, counts: Counts, seen: string): SectionCount | undefined {
  switch (section) {
    case "/emails":
      return plain(counts.emails, "email in the last 24 hours", "emails in the last 24 hours");
    case "/queue":
      return plain(counts.waiting, "email is not finished", "emails are not finished");
    case "/inbound":
      return plain(counts.inbound && unseen(counts.inbound, seen), "new message", "new messages");
    case "/suppressions":
      return plain(counts.suppressions, "address is suppressed", "addresses are suppressed");
    case "/domains":
      return problem(counts.domainsToFix, ["needs DNS", "need DNS"], ["domain lacks", "domains lack"], "DNS records");
    case "/webhooks":
      return problem(counts.failingWebhooks, ["failing", "failing"], ["webhook", "webhooks"], "with failed deliveries");
  }
  return undefined;
}

/** The ids are ordered by time. */
function unseen({ ids, atLeast }: { ids: readonly string[]; atLeast: boolean }, seen: string): Count {
  const isNew = ids.filter((id) => id > seen);
  return { number: isNew.length, atLeast: atLeast && isNew.length === ids.length };
}

function plain(count: Count | undefined, one: string, many: string): SectionCount | undefined {
  if (!count?.number) return undefined;
  const text = textOf(count);
  return { text, says: `${text} ${count.number === 1 ? one : many}`, isProblem: false };
}

type Words = readonly [one: string, many: string];

function problem(count: Count | undefined, short: Words, long: Words, end: string): SectionCount | undefined {
  if (!count?.number) return undefined;
  const form = count.number === 1 ? 0 : 1;
  const text = textOf(count);
  return { text: `${text} ${short[form]}`, says: `${text} ${long[form]} ${end}`, isProblem: true };
}

function textOf({ number, atLeast }: Count): string {
  return `${number.toLocaleString("en")}${atLeast ? "+" : ""}`;
}
