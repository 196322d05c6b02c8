// Generated from the contract in proto/ by "npm run generate": the types of v1/domain.proto. Do not edit.
/** A sending domain of a workspace. */
export interface Domain {
  /** Identifier of this registration, `dom_` and a UUID. */
  id: string;
  /** The domain name, in lower case and ASCII (an international name is IDNA-encoded). */
  domain: string;
  /** Overall verification status. */
  status: DomainStatus;
  /** Region of the domain, from the server's configuration. `local` by default. */
  region: string;
  /** When the domain was registered. */
  createdAt: string;
  /** When the domain last changed. */
  updatedAt: string;
  /** When DNS was last checked. Absent before the first check. */
  lastCheckedAt?: string;
  /** Next step and progress. */
  summary: DomainSummary;
  /** The DNS records to publish, each with the result of the last check. */
  records: DomainRecords;
  /** True when PublishToLocalDns can publish the records: the server runs in capture mode and resolves this name with its own DNS. */
  localDns: boolean;
  /**
   * The zone at the domain's DNS provider that holds the records: the domain itself or a parent of it. Found by its SOA and NS
   * records. Empty until a check finds it.
   */
  zone: string;
  /** The DNS provider, recognized by the zone's name servers. Absent when it is unknown. */
  provider?: DnsProvider;
}

/** A DNS provider, recognized by the names of its name servers. */
export interface DnsProvider {
  /** Identifier of the provider, for example `cloudflare`. */
  id: string;
  /** Name of the provider. */
  name: string;
  /** The page at the provider where the zone's records are edited. */
  dnsUrl: string;
  /** What the provider's form does differently, one sentence each. */
  quirks: string[];
}

/** Next step and progress of a domain. */
export interface DomainSummary {
  /** Next step, in a sentence that names the record. */
  message: string;
  /**
   * `CONFIGURE_DNS`: publish or correct a record. `WAIT`: the domain's name servers have the right records, but resolvers
   * still return cached ones. `NONE`: all records are in place.
   */
  nextAction: string;
  /** Number of records that are not in place. */
  recordsPending: number;
  /** Number of records that are in place. */
  recordsConfigured: number;
  /** True when mail can be sent from this domain: at least one DKIM record is found, and the status is not FAILED. */
  canSend: boolean;
  /** True when this service receives mail for this domain: the inbound MX record and a DKIM record of this registration are found. */
  canReceive: boolean;
}

/** The DNS records of a domain, by purpose. */
export interface DomainRecords {
  /** The DKIM keys: two CNAME records, so that one key can be replaced while the other signs. */
  dkimRecords: DnsRecord[];
  /**
   * The SPF record of the domain, TXT. If the name already has an SPF record, add the include to it: a name with two SPF
   * records is invalid.
   */
  spfRecord: DnsRecord;
  /** The DMARC record, TXT. */
  dmarcRecord: DnsRecord;
  /**
   * The inbound MX records. Publishing them routes all mail for this name to this service. If people already receive mail at
   * this name, register a subdomain instead.
   */
  mxRecords: DnsRecord[];
  /** The records of the MAIL FROM name (`bounce.` and the domain, unless `mailFromLabel` is set): one MX, one TXT. */
  mailFromRecords: DnsRecord[];
  /**
   * The record by which senders report that they could not reach the domain with TLS: one TXT record. Optional: it counts in neither
   * `recordsPending` nor `recordsConfigured`. Absent unless the domain receives mail here.
   */
  tlsReportRecord?: DnsRecord;
}

/** One DNS record to publish, with the result of the last check. */
export interface DnsRecord {
  /** Type of the record: `CNAME`, `TXT` or `MX`. */
  type: string;
  /** Full host name of the record, without a trailing dot. */
  name: string;
  /** Value of the record. For MX only the host name; the preference is in `priority`. */
  value: string;
  /** Preference of an MX record. Absent on CNAME and TXT records. */
  priority?: number;
  /** Purpose of the record. */
  recordType: RecordType;
  /** Result of the last check. */
  status: RecordStatus;
  /** The name relative to the registered domain; `@` is the domain itself. To enter it at a DNS provider, use `nameInZone`. */
  nameShort: string;
  /** The value in DNS at this name. Empty when nothing was found. */
  discoveredValue: string;
  /** What to enter at the DNS provider, with warnings about common mistakes. */
  instructions: string;
  /**
   * The name relative to the zone at the DNS provider, as its form expects it; `@` is the zone itself. While `Domain.zone` is
   * empty, it is relative to the registrable domain, which most providers use as the zone.
   */
  nameInZone: string;
  /**
   * SPF only: one record that replaces those found at this name. It contains all their terms and authorizes this service. Empty
   * when nothing is to be merged, or when the merged record would be invalid; `problem` says why.
   */
  mergedValue: string;
  /** Why the record is not in place, or a remark about the value found. Empty when there is nothing to say. */
  problem: string;
}

/** Request of AddDomain. */
export interface AddDomainRequest {
  /**
   * The domain name to register, for example `news.example.com`. Required. A trailing dot is removed, and the name is
   * converted to lower case.
   */
  domain: string;
  /** First label of the MAIL FROM name. Optional, `bounce` by default. Set it if another service already uses that name. */
  mailFromLabel?: string;
}

/** Response of AddDomain. */
export interface AddDomainResponse {
  /** The new domain with the records to publish. */
  domain: Domain;
  /** Next step, in a sentence. */
  message: string;
}

/** Request of GetDomain. */
export interface GetDomainRequest {
  /** Id of the domain. Required. */
  id: string;
}

/** Response of GetDomain. */
export interface GetDomainResponse {
  /** The domain. */
  domain: Domain;
}

/** Request of ListDomains. */
export interface ListDomainsRequest {
  /** Page number, starting at 1. 0 or unset means 1. */
  page?: number;
  /** Maximum number of domains per page. 0 or unset means 20; values above 100 are reduced to 100. */
  pageSize?: number;
}

/** Response of ListDomains. */
export interface ListDomainsResponse {
  /** The domains of this page, newest first. */
  data: Domain[];
  /** Total number of domains on all pages. */
  total: number;
}

/** Request of VerifyDomain. */
export interface VerifyDomainRequest {
  /** Id of the domain. Required. */
  id: string;
}

/** Response of VerifyDomain. */
export interface VerifyDomainResponse {
  /** The domain after the check. */
  domain: Domain;
  /** True when this call checked DNS. False when the last check was less than 30 seconds ago; the stored state is returned. */
  wasRefreshed: boolean;
  /** The earliest time of the next check. Present only when `wasRefreshed` is false. */
  nextRetryAt?: string;
  /** Result of the check, in a sentence. */
  message: string;
}

/** Request of DeleteDomain. */
export interface DeleteDomainRequest {
  /** Id of the domain. Required. */
  id: string;
}

/** Response of DeleteDomain. */
export interface DeleteDomainResponse {
  /** Result of the call, in a sentence. */
  message: string;
}

/** Request of RotateDkim. */
export interface RotateDkimRequest {
  /** Id of the domain. Required. */
  id: string;
}

/** Response of RotateDkim. */
export interface RotateDkimResponse {
  /** The domain. */
  domain: Domain;
  /** When the new key starts to sign. */
  signsFrom: string;
  /** Result of the call, in a sentence. */
  message: string;
}

/** A DKIM key of a domain, without its private key. */
export interface DkimKey {
  /** Identifier of the key, `dk_` and a UUID. */
  id: string;
  /** The selector, which receivers find the public key by: `ph1` or `ph2` for keys that the service made. */
  selector: string;
  /** Size of the RSA modulus in bits. */
  bits: number;
  /** Number of primes of the RSA key. */
  primes: number;
  /** True when the key was imported. */
  imported: boolean;
  /** True for the key that signs the domain's mail now. */
  signing: boolean;
  /** Whether the last check found the public key in DNS. */
  status: RecordStatus;
  /**
   * True when other programs can use the private key. Keys with three primes work only with programs that support RFC 8017
   * multi-prime keys, such as OpenSSL.
   */
  portable: boolean;
  /** When the key was made or imported. */
  createdAt: string;
  /** When the key starts to sign. Present only on a new key that waits for the caches of resolvers after RotateDkim. */
  signsFrom?: string;
  /** When the key last signed mail, to the hour. Absent if it never did. */
  lastSignedAt?: string;
  /** The TXT record to publish, with the result of the last check. Present only on imported keys. */
  record?: DnsRecord;
  /** A remark about the key, such as a size that receivers will stop accepting. Empty when there is nothing to say. */
  note: string;
}

/** Request of GetDkimKeys. */
export interface GetDkimKeysRequest {
  /** Id of the domain. Required. */
  id: string;
}

/** Response of GetDkimKeys. */
export interface GetDkimKeysResponse {
  /** The keys: imported ones first, newest first, then those of the service. */
  keys: DkimKey[];
}

/** Request of ImportDkimKey. */
export interface ImportDkimKeyRequest {
  /** Id of the domain. Required. */
  id: string;
  /** The selector of the key: one or several DNS labels, for example `s1` or `s1.mail`. Required. */
  selector: string;
  /** The RSA private key in PEM, PKCS #8 or PKCS #1, without a passphrase. Required. It is stored encrypted; only ExportDkimKey returns it. */
  privateKeyPem: string;
}

/** Response of ImportDkimKey. */
export interface ImportDkimKeyResponse {
  /** The new key, with the TXT record to publish. */
  key: DkimKey;
  /** Next step, in a sentence. */
  message: string;
}

/** Request of ExportDkimKey. */
export interface ExportDkimKeyRequest {
  /** Id of the DKIM key. Required. */
  id: string;
}

/** Response of ExportDkimKey. */
export interface ExportDkimKeyResponse {
  /** The key. */
  key: DkimKey;
  /** The private key in PEM, PKCS #8. */
  privateKeyPem: string;
  /** What to know before using it elsewhere, in a sentence. */
  message: string;
}

/** Request of RemoveDkimKey. */
export interface RemoveDkimKeyRequest {
  /** Id of the imported DKIM key. Required. */
  id: string;
}

/** Response of RemoveDkimKey. */
export interface RemoveDkimKeyResponse {
  /** Result of the call, in a sentence. */
  message: string;
}

/** Request of GetZoneFile. */
export interface GetZoneFileRequest {
  /** Id of the domain. Required. */
  id: string;
}

/** Response of GetZoneFile. */
export interface GetZoneFileResponse {
  /** A name for the file, for example `news.example.com.zone`. */
  fileName: string;
  /** The zone file, in the syntax of BIND. */
  content: string;
}

/** A link that shows the records of a domain without a sign-in. The link itself is returned once, by CreateDomainLink. */
export interface DomainLink {
  /** Identifier of the link, `lnk_` and a UUID. */
  id: string;
  /** Id of the domain. */
  domainId: string;
  /** When the link was created. */
  createdAt: string;
  /** When the link stops working. */
  expiresAt: string;
  /** When the link was last opened, to the minute. Absent if it was never opened. */
  lastViewedAt?: string;
}

/** Request of CreateDomainLink. */
export interface CreateDomainLinkRequest {
  /** Id of the domain. Required. */
  id: string;
  /** For how many days the link works, 1 to 30. 0 or unset means 7. */
  days?: number;
}

/** Response of CreateDomainLink. */
export interface CreateDomainLinkResponse {
  /** The new link. */
  link: DomainLink;
  /** The address to pass on. It contains the secret of the link and is not stored. A path if `POSTHORN_PUBLIC_URL` is not set. */
  url: string;
}

/** Request of ListDomainLinks. */
export interface ListDomainLinksRequest {
  /** Id of the domain. Required. */
  id: string;
  /** Maximum number of links per page. 0 or unset means 20; values above 100 are reduced to 100. */
  pageSize?: number;
  /** `nextPageToken` of the previous page. Leave it empty for the first page. */
  pageToken?: string;
}

/** Response of ListDomainLinks. */
export interface ListDomainLinksResponse {
  /** The links of this page, newest first. */
  data: DomainLink[];
  /** Pass it as `pageToken` to get the next page. Empty on the last page. */
  nextPageToken: string;
}

/** Request of RevokeDomainLink. */
export interface RevokeDomainLinkRequest {
  /** Id of the link. Required. */
  id: string;
}

/** Response of RevokeDomainLink. */
export interface RevokeDomainLinkResponse {
  /** Result of the call, in a sentence. */
  message: string;
}

/** Request of PublishToLocalDns. */
export interface PublishToLocalDnsRequest {
  /** Id of the domain. Required. */
  id: string;
}

/** Response of PublishToLocalDns. */
export interface PublishToLocalDnsResponse {
  /** The domain after the check. */
  domain: Domain;
  /** Result of the call, in a sentence. */
  message: string;
}

/** Verification status of a domain. */
export type DomainStatus =
  | "DOMAIN_STATUS_UNSPECIFIED"
  | "DOMAIN_STATUS_PENDING"
  | "DOMAIN_STATUS_VERIFYING"
  | "DOMAIN_STATUS_READY"
  | "DOMAIN_STATUS_DEGRADED"
  | "DOMAIN_STATUS_FAILED";

/** Purpose of a DNS record. */
export type RecordType =
  | "RECORD_TYPE_UNSPECIFIED"
  | "RECORD_TYPE_DKIM"
  | "RECORD_TYPE_SPF"
  | "RECORD_TYPE_DMARC"
  | "RECORD_TYPE_MX_INBOUND"
  | "RECORD_TYPE_MAIL_FROM_MX"
  | "RECORD_TYPE_MAIL_FROM_SPF"
  | "RECORD_TYPE_TLS_REPORT";

/** Result of the last check of one record. A record counts as found if it serves its purpose; its text may differ. */
export type RecordStatus =
  | "RECORD_STATUS_UNSPECIFIED"
  | "RECORD_STATUS_PENDING"
  | "RECORD_STATUS_FOUND"
  | "RECORD_STATUS_MISMATCH"
  | "RECORD_STATUS_MISSING";
