/** The DNS records that the owner of a registered domain must publish: name, type, value, purpose, and how to enter them. */
import { organizationalDomain } from "../../dns/name.ts";

export const recordPurposes = ["DKIM", "SPF", "DMARC", "MX_INBOUND", "MAIL_FROM_MX", "MAIL_FROM_SPF"] as const;
export type RecordPurpose = (typeof recordPurposes)[number];

export const recordKeys = ["dkim1", "dkim2", "spf", "dmarc", "mx", "mailFromMx", "mailFromSpf"] as const;
export type RecordKey = (typeof recordKeys)[number];

export const recordStatuses = ["pending", "found", "mismatch", "missing"] as const;
export type RecordStatus = (typeof recordStatuses)[number];

export type ExpectedRecord = {
  key: RecordKey;
  purpose: RecordPurpose;
  type: "CNAME" | "TXT" | "MX";
  name: string;
  /** The name relative to the registered domain; "@" is the domain itself. */
  nameShort: string;
  value: string;
  /** Only for MX. */
  priority?: number;
  /** A domain is ready once all `required` records are found. */
  need: "required" | "recommended" | "optional";
  /** The registered domain; the record's name is the domain or a name below it. */
  domain: string;
  /** DKIM only: the selector, and the key (base64 SPKI) that a TXT record with a copy of it must contain. */
  selector?: string;
  publicKey?: string;
};

export type Registration = {
  domain: string;
  token: string;
  /** The service's own zone. */
  zone: string;
  mailFromLabel?: string;
  /** Base64 SPKI of the keys behind ph1 and ph2. */
  publicKeys?: readonly [string | undefined, string | undefined];
};

export const defaultMailFromLabel = "bounce";

/** The seven records in the order to publish them; those needed for sending come first. */
export function expectedRecords(registration: Registration): ExpectedRecord[] {
  const { domain, token, zone, publicKeys } = registration;
  const label = registration.mailFromLabel ?? defaultMailFromLabel;
  const at = (nameShort: string) => ({
    domain,
    nameShort,
    name: nameShort === "@" ? domain : `${nameShort}.${domain}`,
  });
  const dkim = (slot: 1 | 2): ExpectedRecord => ({
    ...at(`ph${slot}._domainkey`),
    key: `dkim${slot}`,
    purpose: "DKIM",
    type: "CNAME",
    value: `${dkimLabel(token, slot)}.dkim.${zone}`,
    need: "required",
    selector: `ph${slot}`,
    publicKey: publicKeys?.[slot - 1],
  });
  return [
    dkim(1),
    dkim(2),
    { ...at("@"), key: "spf", purpose: "SPF", type: "TXT", value: spfValue(zone), need: "recommended" },
    { ...at("_dmarc"), key: "dmarc", purpose: "DMARC", type: "TXT", value: "v=DMARC1; p=none", need: "required" },
    {
      ...at("@"),
      key: "mx",
      purpose: "MX_INBOUND",
      type: "MX",
      value: `inbound.${zone}`,
      priority: 10,
      need: "optional",
    },
    {
      ...at(label),
      key: "mailFromMx",
      purpose: "MAIL_FROM_MX",
      type: "MX",
      value: `feedback.${zone}`,
      priority: 10,
      need: "required",
    },
    {
      ...at(label),
      key: "mailFromSpf",
      purpose: "MAIL_FROM_SPF",
      type: "TXT",
      value: spfValue(zone),
      need: "required",
    },
  ];
}

/** The label under `dkim.<zone>` that a selector's CNAME points to. */
export function dkimLabel(token: string, slot: 1 | 2): string {
  return `${token}-${slot}`;
}

/** The name that our SPF records include. */
export function spfInclude(zone: string): string {
  return `spf.${zone}`;
}

/** How to enter the record at a DNS provider. The advice depends on what a check found at the name. */
export function recordInstructions(
  record: ExpectedRecord,
  found: { status: RecordStatus; discoveredValue: string } = { status: "pending", discoveredValue: "" },
): string {
  const sentences = [howToEnter(record)];
  const other = found.status === "mismatch" ? found.discoveredValue : "";
  switch (record.purpose) {
    case "DKIM":
      sentences.push("If your provider offers to proxy the record (an orange cloud, for example), turn that off.");
      if (other !== "") sentences.push(`Replace the current value: ${other}`);
      break;
    case "SPF":
    case "MAIL_FROM_SPF":
      sentences.push(...spfAdvice(record, other));
      break;
    case "DMARC":
      sentences.push("If you already have a DMARC record, keep it: any valid policy is fine.");
      if (other !== "") sentences.push(`The current value is not a policy that receivers accept: ${other}`);
      break;
    case "MX_INBOUND":
      sentences.push(
        "Needed only to receive mail here.",
        other === ""
          ? `If ${record.domain} receives mail elsewhere, do not add this record: all mail to ${record.domain} would come here. Use a sub-domain instead.`
          : `Careful: ${record.domain} receives its mail at ${other}. With this record, all of that mail would come here. To avoid that, leave this record out and receive mail on a sub-domain instead.`,
      );
      break;
    case "MAIL_FROM_MX":
      sentences.push("Bounces come back to this name; it must have no other MX record.");
      if (other !== "") sentences.push(`Remove the current value: ${other}`);
      break;
  }
  return sentences.join(" ");
}

/** The value for the name field at a provider whose zone is the registrable domain. */
export function nameInZone(record: { name: string; domain: string }): { host: string; zone: string } {
  const zone = organizationalDomain(record.domain);
  return { host: record.name === zone ? "@" : record.name.slice(0, -(zone.length + 1)), zone };
}

function howToEnter(record: ExpectedRecord): string {
  const { host, zone } = nameInZone(record);
  const name = host === "@" ? `@ (or leave it empty)` : host;
  const priority = record.priority === undefined ? "" : ` and priority ${record.priority}`;
  const article = record.type === "MX" ? "an" : "a";
  return `In the DNS settings of ${zone}, add ${article} ${record.type} record with the name ${name} and the value ${record.value}${priority}.`;
}

function spfAdvice(record: ExpectedRecord, other: string): string[] {
  const include = record.value.split(" ")[1] ?? "";
  const { name } = record;
  if (other === "") {
    return [`If ${name} already has an SPF record (v=spf1 …), add ${include} to it: a name must not have two.`];
  }
  if (other.includes(" | ")) {
    return [`${name} has several SPF records, which receivers reject: merge them into one that contains ${include}.`];
  }
  return [
    `${name} already has an SPF record (${other}): add ${include} before its last term, and do not add a second record.`,
  ];
}

function spfValue(zone: string): string {
  return `v=spf1 include:${spfInclude(zone)} ~all`;
}
