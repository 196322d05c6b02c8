/** posthorn.domains: register a sending domain, get its DNS records, wait until it is verified. */
import type { Call } from "./call.ts";
import { checkFunction, checkNumber, checkObject, checkSignal } from "./check.ts";
import { canceled, sleep } from "./deadline.ts";
import { PosthornError } from "./error.ts";
import type { CheckDeliverabilityRequest, CheckDeliverabilityResponse } from "./gen/deliverability.ts";
import type {
  AddDomainRequest,
  AddDomainResponse,
  CreateDomainLinkRequest,
  CreateDomainLinkResponse,
  DeleteDomainResponse,
  DkimKey,
  Domain,
  DomainLink,
  GetZoneFileResponse,
  ImportDkimKeyRequest,
  ImportDkimKeyResponse,
  ListDomainLinksRequest,
  ListDomainLinksResponse,
  ListDomainsResponse,
  PublishToLocalDnsResponse,
  RemoveDkimKeyResponse,
  RevokeDomainLinkResponse,
  RotateDkimResponse,
  VerifyDomainResponse,
} from "./gen/domain.ts";
import { type List, listByNumber, listByToken } from "./list.ts";
import type { AbortSignal } from "./platform.ts";
import type { CallOptions } from "./settings.ts";

export interface WaitOptions {
  /** Maximum time to wait. Default 10 minutes. */
  timeoutMs?: number;
  signal?: AbortSignal;
  /** True: wait only until the domain can send, which may be before all records are in place. */
  untilCanSend?: boolean;
  /** Called with the result of each check. */
  onProgress?: (domain: Domain) => void;
}

/** Pause between two checks when the server does not return `nextRetryAt`. */
const pauseMs = 5_000;
/** Bounds for the pause until `nextRetryAt`, because the server's clock may differ from the local one. */
const minPauseMs = 250;
const maxPauseMs = 60_000;

export class Domains {
  readonly #call: Call;

  constructor(call: Call) {
    this.#call = call;
  }

  /** Registers a domain. The response contains the DNS records to publish. */
  async add(domain: string | AddDomainRequest, options?: CallOptions): Promise<AddDomainResponse> {
    return await this.#call("DomainService/AddDomain", typeof domain === "string" ? { domain } : domain, options);
  }

  /** Returns one domain with the state of its DNS records. */
  async get(id: string, options?: CallOptions): Promise<Domain> {
    return (await this.#call("DomainService/GetDomain", { id }, options)).domain;
  }

  /** Lists the domains, newest first. */
  list(request: { page?: number; pageSize?: number } = {}, options?: CallOptions): List<Domain, ListDomainsResponse> {
    return listByNumber(request, (page) => this.#call("DomainService/ListDomains", page, options));
  }

  /** Checks the DNS records now, at most once every 30 seconds. An earlier call returns the stored state with `nextRetryAt`. */
  async verify(id: string, options?: CallOptions): Promise<VerifyDomainResponse> {
    return await this.#call("DomainService/VerifyDomain", { id }, options);
  }

  /** Deletes a domain. Mail that was already accepted is still delivered. */
  async delete(id: string, options?: CallOptions): Promise<DeleteDomainResponse> {
    return await this.#call("DomainService/DeleteDomain", { id }, options);
  }

  /** Replaces the DKIM keys. The published CNAME records do not change. */
  async rotateDkim(id: string, options?: CallOptions): Promise<RotateDkimResponse> {
    return await this.#call("DomainService/RotateDkim", { id }, options);
  }

  /** Returns the DKIM keys of a domain, without their private keys. */
  async dkimKeys(id: string, options?: CallOptions): Promise<DkimKey[]> {
    return (await this.#call("DomainService/GetDkimKeys", { id }, options)).keys;
  }

  /** Adds a DKIM key of your own. It signs once the TXT record `key.record` is in DNS. */
  async importDkimKey(
    id: string,
    request: Omit<ImportDkimKeyRequest, "id">,
    options?: CallOptions,
  ): Promise<ImportDkimKeyResponse> {
    return await this.#call("DomainService/ImportDkimKey", { ...request, id }, options);
  }

  /** Removes an imported DKIM key by its id, and deletes its private key. */
  async removeDkimKey(keyId: string, options?: CallOptions): Promise<RemoveDkimKeyResponse> {
    return await this.#call("DomainService/RemoveDkimKey", { id: keyId }, options);
  }

  /** Returns the records as a zone file, which most DNS providers import. */
  async zoneFile(id: string, options?: CallOptions): Promise<GetZoneFileResponse> {
    return await this.#call("DomainService/GetZoneFile", { id }, options);
  }

  /** Creates a link that shows the records to a person without an account, for 1 to 30 days. Only this response contains its URL. */
  async createLink(
    id: string,
    request: Omit<CreateDomainLinkRequest, "id"> = {},
    options?: CallOptions,
  ): Promise<CreateDomainLinkResponse> {
    return await this.#call("DomainService/CreateDomainLink", { ...request, id }, options);
  }

  /** Lists the links of a domain that work, newest first. */
  links(
    id: string,
    request: Omit<ListDomainLinksRequest, "id"> = {},
    options?: CallOptions,
  ): List<DomainLink, ListDomainLinksResponse> {
    return listByToken(request, (page) => this.#call("DomainService/ListDomainLinks", { ...page, id }, options));
  }

  /** Revokes a link by its id. It stops working immediately. */
  async revokeLink(linkId: string, options?: CallOptions): Promise<RevokeDomainLinkResponse> {
    return await this.#call("DomainService/RevokeDomainLink", { id: linkId }, options);
  }

  /** Checks the domain and a sample email against the demands of Gmail, Yahoo and Microsoft. Nothing is sent. */
  async checkDeliverability(
    request: CheckDeliverabilityRequest,
    options?: CallOptions,
  ): Promise<CheckDeliverabilityResponse> {
    checkObject(request, "request");
    return await this.#call("DeliverabilityService/CheckDeliverability", request, options);
  }

  /** Publishes the records in the server's own DNS. Only in capture mode, and only for reserved names such as `shop.test`. */
  async publishToLocalDns(id: string, options?: CallOptions): Promise<PublishToLocalDnsResponse> {
    return await this.#call("DomainService/PublishToLocalDns", { id }, options);
  }

  /** Checks the domain repeatedly until it is ready. After the time limit it throws `deadline_exceeded` with the missing record. */
  async waitUntilReady(id: string, options: WaitOptions = {}): Promise<Domain> {
    checkObject(options, "options");
    checkSignal(options.signal);
    checkNumber(options.timeoutMs, "timeoutMs");
    checkFunction(options.onProgress, "onProgress");
    const { signal, timeoutMs = 600_000, untilCanSend = false } = options;
    const end = performance.now() + timeoutMs;
    for (;;) {
      const { domain, nextRetryAt } = await this.verify(id, { signal });
      options.onProgress?.(domain);
      if (domain.status === "DOMAIN_STATUS_READY" || (untilCanSend && domain.summary.canSend)) return domain;
      const requestedMs = nextRetryAt === undefined ? pauseMs : Date.parse(nextRetryAt) - Date.now();
      const waitMs = Math.min(maxPauseMs, Math.max(minPauseMs, requestedMs));
      if (performance.now() + waitMs > end) {
        throw new PosthornError(
          "deadline_exceeded",
          `${domain.domain} is not ready after ${timeoutMs} ms: ${domain.summary.message}`,
        );
      }
      await sleep(waitMs, signal);
      if (signal?.aborted) throw canceled(signal);
    }
  }
}
