// Generated from the contract in proto/ by "npm run generate": the types of v1/domain.proto. Not to be edited.
/** A sending domain of a workspace. */
export interface Domain {
  /** Identifier of this registration, `dom_` and a UUID. */
  id: string;
  /** The domain name, in lower case and ASCII (an international name is IDNA-encoded). */
  domain: string;
  /** Overall verification status. */
  status: DomainStatus;
  /** Region that the domain is set up in, as the server is configured. `local` by default. */
  region: string;
  /** When the domain was registered. */
  createdAt: string;
  /** When the domain last changed. */
  updatedAt: string;
  /** When DNS was last checked. Absent before the first check. */
  lastCheckedAt?: string;
  /** What is needed next, in short. */
  summary: DomainSummary;
  /** The DNS records to publish, each with what was found. */
  records: DomainRecords;
  /** True when PublishToLocalDns can serve the records: the server runs in capture mode and asks its own DNS for this name. */
  localDns: boolean;
}

/** What is needed next for a domain, in short. */
export interface DomainSummary {
  /** What to do next, in a sentence that names the record. */
  message: string;
  /**
   * `CONFIGURE_DNS`: a record has to be published or corrected. `WAIT`: the domain's own name servers have the right
   * records, but resolvers still answer from their caches. `NONE`: everything is in place.
   */
  nextAction: string;
  /** Number of records that are not in place. */
  recordsPending: number;
  /** Number of records that are in place. */
  recordsConfigured: number;
  /** True when mail can be sent from this domain: at least one DKIM record is found and the status is not FAILED. */
  canSend: boolean;
  /** True when mail to this domain is received here: the inbound MX record and a DKIM record of this registration are found. */
  canReceive: boolean;
}

/** The DNS records of a domain, by purpose. */
export interface DomainRecords {
  /** The DKIM keys: two CNAME records, so that one can be replaced while the other signs. */
  dkimRecords: DnsRecord[];
  /** The SPF record of the domain, TXT. If the name already has an SPF record, add the include to it; two SPF records are invalid. */
  spfRecord: DnsRecord;
  /** The DMARC record, TXT. */
  dmarcRecord: DnsRecord;
  /** The inbound MX records. Publishing them moves all mail of this name here: use a sub-domain where people already receive mail. */
  mxRecords: DnsRecord[];
  /** The records of the MAIL FROM name (`bounce.` and the domain, unless `mailFromLabel` chose another): one MX, one TXT. */
  mailFromRecords: DnsRecord[];
}

/** One DNS record to publish, and what was found in its place. */
export interface DnsRecord {
  /** Type of the record: `CNAME`, `TXT` or `MX`. */
  type: string;
  /** Full host name of the record, without a trailing dot. */
  name: string;
  /** Value of the record. For MX the host name alone; the preference is in `priority`. */
  value: string;
  /** Preference of an MX record. Absent on CNAME and TXT records. */
  priority?: number;
  /** What the record is for. */
  recordType: RecordType;
  /** What the last check found. */
  status: RecordStatus;
  /** The name without the registered domain, as most DNS providers want it typed; `@` is the domain itself. */
  nameShort: string;
  /** What DNS holds at this name. Empty when nothing was found. */
  discoveredValue: string;
  /** What to enter at the DNS provider, and what to watch out for. */
  instructions: string;
}

/** Request of AddDomain. */
export interface AddDomainRequest {
  /** The domain name to register, for example `news.example.com`. Required. A trailing dot is removed, letters are made lower case. */
  domain: string;
  /** First label of the MAIL FROM name. Optional, `bounce` by default: choose another where that name is already used by another service. */
  mailFromLabel?: string;
}

/** Response of AddDomain. */
export interface AddDomainResponse {
  /** The new domain with the records to publish. */
  domain: Domain;
  /** What to do next. */
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
  /** Number of the page, from 1. 0 or unset is 1. */
  page?: number;
  /** Domains in a page. 0 or unset is 20; more than 100 is served as 100. */
  pageSize?: number;
}

/** Response of ListDomains. */
export interface ListDomainsResponse {
  /** The domains of this page, newest first. */
  data: Domain[];
  /** Number of domains in all pages. */
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
  /** True when this call looked the records up; false when it was too soon and the stored state is returned. */
  wasRefreshed: boolean;
  /** The earliest time of the next look-up. Present only when `wasRefreshed` is false. */
  nextRetryAt?: string;
  /** What the check found, in a sentence. */
  message: string;
}

/** Request of DeleteDomain. */
export interface DeleteDomainRequest {
  /** Id of the domain. Required. */
  id: string;
}

/** Response of DeleteDomain. */
export interface DeleteDomainResponse {
  /** What was done. */
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
  /** What was done. */
  message: string;
}

/** Request of PublishToLocalDns. */
export interface PublishToLocalDnsRequest {
  /** Id of the domain. Required. */
  id: string;
}

/** Response of PublishToLocalDns. */
export interface PublishToLocalDnsResponse {
  /** The domain after the look-up. */
  domain: Domain;
  /** What was done and found. */
  message: string;
}

/** How far the verification of a domain has come. */
export type DomainStatus =
  | "DOMAIN_STATUS_UNSPECIFIED"
  | "DOMAIN_STATUS_PENDING"
  | "DOMAIN_STATUS_VERIFYING"
  | "DOMAIN_STATUS_READY"
  | "DOMAIN_STATUS_DEGRADED"
  | "DOMAIN_STATUS_FAILED";

/** What a DNS record is for. */
export type RecordType =
  | "RECORD_TYPE_UNSPECIFIED"
  | "RECORD_TYPE_DKIM"
  | "RECORD_TYPE_SPF"
  | "RECORD_TYPE_DMARC"
  | "RECORD_TYPE_MX_INBOUND"
  | "RECORD_TYPE_MAIL_FROM_MX"
  | "RECORD_TYPE_MAIL_FROM_SPF";

/** What the last check found for one record. A record is judged by its purpose, not by equal text. */
export type RecordStatus =
  | "RECORD_STATUS_UNSPECIFIED"
  | "RECORD_STATUS_PENDING"
  | "RECORD_STATUS_FOUND"
  | "RECORD_STATUS_MISMATCH"
  | "RECORD_STATUS_MISSING";
