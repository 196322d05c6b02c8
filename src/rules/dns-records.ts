/** The DNS records that a registered domain is asked to publish: what they are, what they are for, how to enter them. */
import { organisationalDomain } from "../mail/dns-name.ts";

export const recordPurposes = ["DKIM", "SPF", "DMARC", "MX_INBOUND", "MAIL_FROM_MX", "MAIL_FROM_SPF"] as const;
export type RecordPurpose = (typeof recordPurposes)[number];

export const recordKeys = ["dkim1", "dkim2", "spf", "dmarc", "mx", "mailFromMx", "mailFromSpf"] as const;
export type RecordKey = (typeof recordKeys)[number];

export const recordStatuses = ["pending", "found", "mismatch", "missing"] as const;
export type RecordStatus = (typeof recordStatuses)[number];

export type AskedRecord = {
  key: RecordKey;
  purpose: RecordPurpose;
  type: "CNAME" | "TXT" | "MX";
  name: string;
  /** The name without the registered domain; the domain itself is "@". */
  nameShort: string;
  value: string;
  /** Only for MX. */
  priority?: number;
  /** `required` records make a domain ready; the others improve it. */
  need: "required" | "recommended" | "optional";
  /** The registered domain, which the record stands at or below. */
  domain: string;
  /** DKIM only: the selector, and the key that a copied TXT record must hold (base64 SPKI). */
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

/** The seven records in the order that a person enters them: what lets mail leave first. */
export function askedRecords(registration: Registration): AskedRecord[] {
  const { domain, token, zone, publicKeys } = registration;
  const label = registration.mailFromLabel ?? defaultMailFromLabel;
  const at = (nameShort: string) => ({
    domain,
    nameShort,
    name: nameShort === "@" ? domain : `${nameShort}.${domain}`,
  });
  const dkim = (slot: 1 | 2): AskedRecord => ({
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

/** The label under `dkim.Z` that a selector's CNAME leads to. */
export function dkimLabel(token: string, slot: 1 | 2): string {
  return `${token}-${slot}`;
}

/** The name that our SPF records include. */
export function spfInclude(zone: string): string {
  return `spf.${zone}`;
}

/** What a person types at a DNS provider; what was found there (`status`, `discoveredValue`) changes the advice. */
export function recordInstructions(
  record: AskedRecord,
  found: { status: RecordStatus; discoveredValue: string } = { status: "pending", discoveredValue: "" },
): string {
  const sentences = [howToEnter(record)];
  const other = found.status === "mismatch" ? found.discoveredValue : "";
  switch (record.purpose) {
    case "DKIM":
      sentences.push(
        "Where your provider offers a proxy for the record (an orange cloud, for example), switch it off.",
      );
      if (other !== "") sentences.push(`Replace what is there now: ${other}`);
      break;
    case "SPF":
    case "MAIL_FROM_SPF":
      sentences.push(...spfAdvice(record, other));
      break;
    case "DMARC":
      sentences.push("If you have a DMARC record already, keep it: any valid policy counts.");
      if (other !== "") sentences.push(`What is there now is not a policy that receivers accept: ${other}`);
      break;
    case "MX_INBOUND":
      sentences.push(
        "Needed only to receive mail here.",
        other === ""
          ? `If ${record.domain} receives mail elsewhere, do not add it: all mail to ${record.domain} would come here. Use a sub-domain instead.`
          : `Careful: ${record.domain} receives its mail at ${other}. This record would move all of it here; to keep it, leave this record out and receive at a sub-domain instead.`,
      );
      break;
    case "MAIL_FROM_MX":
      sentences.push("Bounces come back through this name; it must have no other MX record.");
      if (other !== "") sentences.push(`Remove what is there now: ${other}`);
      break;
  }
  return sentences.join(" ");
}

/** What goes into the name field at a provider whose zone is the registrable domain. */
export function nameInZone(record: { name: string; domain: string }): { host: string; zone: string } {
  const zone = organisationalDomain(record.domain);
  return { host: record.name === zone ? "@" : record.name.slice(0, -(zone.length + 1)), zone };
}

function howToEnter(record: AskedRecord): string {
  const { host, zone } = nameInZone(record);
  const name = host === "@" ? `@ (or leave it empty)` : host;
  const priority = record.priority === undefined ? "" : ` and priority ${record.priority}`;
  const article = record.type === "MX" ? "an" : "a";
  return `In the DNS settings of ${zone}, add ${article} ${record.type} record with the name ${name} and the value ${record.value}${priority}.`;
}

function spfAdvice(record: AskedRecord, other: string): string[] {
  const include = record.value.split(" ")[1] ?? "";
  const whose = record.name;
  if (other === "") {
    return [`If ${whose} has an SPF record (v=spf1 …) already, put ${include} into it: a name must never have two.`];
  }
  if (other.includes(" | ")) {
    return [`Now ${whose} has several SPF records, which receivers refuse: merge them into one that holds ${include}.`];
  }
  return [
    `${whose} has an SPF record already (${other}): put ${include} into it before its last part, and do not add a second record.`,
  ];
}

function spfValue(zone: string): string {
  return `v=spf1 include:${spfInclude(zone)} ~all`;
}
