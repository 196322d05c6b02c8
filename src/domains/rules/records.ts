/** The DNS records that the owner of a registered domain must publish: name, type, value and purpose. instructions.ts says how to enter them. */
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
  /** The zone at the DNS provider that holds the record. */
  dnsZone: string;
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
  /** The zone at the domain's DNS provider. While it is unknown, the registrable domain is assumed, which most providers use. */
  dnsZone?: string | null;
  /** Base64 SPKI of the keys behind ph1 and ph2. */
  publicKeys?: readonly [string | undefined, string | undefined];
};

export const defaultMailFromLabel = "bounce";

/** The seven records in the order to publish them; those needed for sending come first. */
export function expectedRecords(registration: Registration): ExpectedRecord[] {
  const { domain, token, zone, publicKeys } = registration;
  const label = registration.mailFromLabel ?? defaultMailFromLabel;
  const dnsZone = registration.dnsZone ?? organizationalDomain(domain);
  const at = (nameShort: string) => ({
    domain,
    dnsZone,
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

/** The value for the name field at the DNS provider: relative to its zone, and "@" only for the zone itself. */
export function nameInZone({ name, dnsZone }: Pick<ExpectedRecord, "name" | "dnsZone">): string {
  return name === dnsZone ? "@" : name.slice(0, -(dnsZone.length + 1));
}

function spfValue(zone: string): string {
  return `v=spf1 include:${spfInclude(zone)} ~all`;
}
