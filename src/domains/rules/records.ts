/** The DNS records that the owner of a registered domain must publish: name, type, value and purpose. instructions.ts says how to enter them. */
import { organizationalDomain } from "../../dns/name.ts";
import { dkimKeyText } from "../../mail/dkim-record.ts";

export const recordPurposes = [
  "DKIM",
  "SPF",
  "DMARC",
  "MX_INBOUND",
  "MAIL_FROM_MX",
  "MAIL_FROM_SPF",
  "TLS_REPORT",
] as const;
export type RecordPurpose = (typeof recordPurposes)[number];

export const recordKeys = ["dkim1", "dkim2", "spf", "dmarc", "mx", "mailFromMx", "mailFromSpf"] as const;
/** `tlsReport` is asked for only while the domain receives mail. */
export type RecordKey = (typeof recordKeys)[number] | "tlsReport";
/** The record of an imported DKIM key, with the key's id. It is not one of the domain's records: nothing depends on it but that key. */
export type ImportedRecordKey = `imported ${string}`;

export const recordStatuses = ["pending", "found", "mismatch", "missing"] as const;
export type RecordStatus = (typeof recordStatuses)[number];

export type ExpectedRecord<Key = RecordKey | ImportedRecordKey> = {
  key: Key;
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
  /** Whether the domain receives mail here, so that senders may report on TLS. */
  canReceive?: boolean;
  /** The public address of this service, which may take TLS reports. */
  publicUrl?: string;
  /** The zone at the domain's DNS provider. While it is unknown, the registrable domain is assumed, which most providers use. */
  dnsZone?: string | null;
  /** Base64 SPKI of the keys behind ph1 and ph2. */
  publicKeys?: readonly [string | undefined, string | undefined];
};

export const defaultMailFromLabel = "bounce";

/** The seven records in the order to publish them; those needed for sending come first. A receiving domain has an eighth one. */
export function expectedRecords(registration: Registration): ExpectedRecord<RecordKey>[] {
  const { domain, token, zone, publicKeys } = registration;
  const label = registration.mailFromLabel ?? defaultMailFromLabel;
  const dnsZone = registration.dnsZone ?? organizationalDomain(domain);
  const at = (nameShort: string) => ({
    domain,
    dnsZone,
    nameShort,
    name: nameShort === "@" ? domain : `${nameShort}.${domain}`,
  });
  const dkim = (slot: 1 | 2): ExpectedRecord<RecordKey> => ({
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
    {
      ...at("_dmarc"),
      key: "dmarc",
      purpose: "DMARC",
      type: "TXT",
      value: dmarcValue(reportAddress(registration)),
      need: "required",
    },
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
    ...(registration.canReceive ? [tlsReportRecord(registration, at("_smtp._tls"))] : []),
  ];
}

/** The record that publishes an imported key at the domain's DNS provider. */
export function importedKeyRecord(
  { domain, dnsZone }: Pick<Registration, "domain" | "dnsZone">,
  key: { id: string; selector: string; publicKey: string },
): ExpectedRecord {
  const nameShort = `${key.selector}._domainkey`;
  return {
    key: `imported ${key.id}`,
    purpose: "DKIM",
    type: "TXT",
    name: `${nameShort}.${domain}`,
    nameShort,
    value: dkimKeyText(key.publicKey),
    need: "recommended",
    domain,
    dnsZone: dnsZone ?? organizationalDomain(domain),
    selector: key.selector,
    publicKey: key.publicKey,
  };
}

/** A policy that changes nothing for mail and asks receivers for reports. */
export function dmarcValue(reportsTo: string): string {
  return `v=DMARC1; p=none; rua=mailto:${reportsTo}`;
}

type Place = Pick<ExpectedRecord, "domain" | "dnsZone" | "nameShort" | "name">;

function tlsReportRecord(registration: Registration, place: Place): ExpectedRecord<RecordKey> {
  const value = tlsReportValue(registration);
  return { ...place, key: "tlsReport", purpose: "TLS_REPORT", type: "TXT", value, need: "optional" };
}

/** The label under `dkim.<zone>` that a selector's CNAME points to. */
export function dkimLabel(token: string, slot: 1 | 2): string {
  return `${token}-${slot}`;
}

/** Where receivers send DMARC reports about the domain, and senders TLS reports. */
export function reportAddress({ token, zone }: Pick<Registration, "token" | "zone">): string {
  return `${token}@reports.${zone}`;
}

/** The path of the HTTP port that takes TLS reports (RFC 8460 §3), followed by the token of a registration. */
export const tlsReportPath = "/tls-reports/";

/** RFC 8460 §3. With a public https address, senders may also post reports there. */
export function tlsReportValue({ token, zone, publicUrl }: Pick<Registration, "token" | "zone" | "publicUrl">): string {
  const mail = `mailto:${reportAddress({ token, zone })}`;
  const url = publicUrl?.startsWith("https://") ? `,${publicUrl}${tlsReportPath}${token}` : "";
  return `v=TLSRPTv1; rua=${mail}${url}`;
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
