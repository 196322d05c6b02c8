/** How to enter a record at a DNS provider. The advice depends on what a check found at the name. Called by wire.ts. */
import type { RecordState } from "./judge.ts";
import { type ExpectedRecord, nameInZone } from "./records.ts";
import { unquote } from "./spf-merge.ts";

export type FoundState = Pick<RecordState, "status" | "discoveredValue" | "mergedValue">;

export function recordInstructions(
  record: ExpectedRecord,
  found: FoundState = { status: "pending", discoveredValue: "" },
): string {
  const other = found.status === "mismatch" ? found.discoveredValue : "";
  switch (record.purpose) {
    case "DKIM":
      return join(
        howToEnter(record),
        "If your provider offers to proxy the record (an orange cloud, for example), turn that off.",
        other !== "" && `Replace the current value: ${other}`,
      );
    case "SPF":
    case "MAIL_FROM_SPF":
      return join(...spfAdvice(record, { other, merged: found.mergedValue ?? "" }));
    case "DMARC":
      return join(
        howToEnter(record),
        "If you already have a DMARC record, keep it: any valid policy is fine. To see its reports here, add the address in rua= to it.",
        other !== "" && `The current value is not a policy that receivers accept: ${other}`,
      );
    case "MX_INBOUND":
      return join(
        howToEnter(record),
        "Needed only to receive mail here.",
        other === ""
          ? `If ${record.domain} receives mail elsewhere, do not add this record: all mail to ${record.domain} would come here. Use a sub-domain instead.`
          : `Careful: ${record.domain} receives its mail at ${other}. With this record, all of that mail would come here. To avoid that, leave this record out and receive mail on a sub-domain instead.`,
      );
    case "TLS_REPORT":
      return join(
        howToEnter(record),
        "Optional: senders then report here when they cannot reach this domain with TLS.",
        other !== "" && found.mergedValue !== undefined && `Replace the current value with ${found.mergedValue}`,
      );
    case "MAIL_FROM_MX":
      return join(
        howToEnter(record),
        "Bounces come back to this name; it must have no other MX record.",
        other !== "" && `Remove the current value: ${other}`,
      );
  }
}

function howToEnter(record: ExpectedRecord): string {
  const priority = record.priority === undefined ? "" : ` and priority ${record.priority}`;
  const article = record.type === "MX" ? "an" : "a";
  return `In the DNS settings of ${record.dnsZone}, add ${article} ${record.type} record with the name ${nameToEnter(record)} and the value ${record.value}${priority}.`;
}

function nameToEnter(record: ExpectedRecord): string {
  const name = nameInZone(record);
  return name === "@" ? "@ (or leave it empty)" : name;
}

/** A name must have one SPF record, so advice about an existing one never starts with "add a record". */
function spfAdvice(record: ExpectedRecord, { other, merged }: { other: string; merged: string }): string[] {
  const include = record.value.split(" ")[1] ?? "";
  const { name } = record;
  if (other === "")
    return [
      howToEnter(record),
      `If ${name} already has an SPF record (v=spf1 …), add ${include} to it: a name must not have two.`,
    ];
  const at = `In the DNS settings of ${record.dnsZone}, at the name ${nameToEnter(record)}`;
  if (other.includes(" | "))
    return [
      `${name} has several SPF records, which receivers reject: merge them into one that contains ${include}.`,
      ...(merged === "" ? [] : [`${at}, delete all of them and add a single TXT record with the value ${merged}`]),
    ];
  if (merged !== "" && merged === unquote(other))
    return [`${at}, take the quotation marks off the value of the TXT record: ${merged}`];
  if (merged !== "")
    return [`${at}, replace the value of the SPF record with ${merged}`, "Do not add a second SPF record."];
  return [
    `${name} already has an SPF record (${other}): add ${include} before its last term, and do not add a second record.`,
  ];
}

function join(...sentences: (string | false)[]): string {
  return sentences.filter((one) => one !== false).join(" ");
}
