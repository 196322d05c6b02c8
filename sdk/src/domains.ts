/** posthorn.domains: register a sending domain, see what to publish, wait until it is verified. */
import type { Call } from "./call.ts";
import { canceled, sleep } from "./deadline.ts";
import { PosthornError } from "./error.ts";
import type {
  AddDomainRequest,
  AddDomainResponse,
  DeleteDomainResponse,
  Domain,
  ListDomainsResponse,
  RotateDkimResponse,
  VerifyDomainResponse,
} from "./gen/domain.ts";
import { type List, listByNumber } from "./list.ts";
import type { CallOptions } from "./settings.ts";

export interface WaitOptions {
  /** How long to wait in all. Default 10 minutes. */
  timeoutMs?: number;
  signal?: AbortSignal;
  /** True: wait only until mail can be sent, which may be before every record is in place. */
  untilCanSend?: boolean;
  /** Told what each look found. */
  onProgress?: (domain: Domain) => void;
}

/** Between two looks when the server names no time of its own. */
const pauseMs = 5_000;
/** Bounds for the time that the server names, since its clock may differ from ours. */
const minPauseMs = 250;
const maxPauseMs = 60_000;

export class Domains {
  readonly #call: Call;

  constructor(call: Call) {
    this.#call = call;
  }

  /** Registers a domain. The answer holds the DNS records to publish. */
  async add(domain: string | AddDomainRequest, options?: CallOptions): Promise<AddDomainResponse> {
    return await this.#call("DomainService/AddDomain", typeof domain === "string" ? { domain } : domain, options);
  }

  /** One domain with the state of its DNS records. */
  async get(id: string, options?: CallOptions): Promise<Domain> {
    return (await this.#call("DomainService/GetDomain", { id }, options)).domain;
  }

  /** The domains, newest first. */
  list(request: { page?: number; pageSize?: number } = {}, options?: CallOptions): List<Domain, ListDomainsResponse> {
    return listByNumber(request.page ?? 1, (page) =>
      this.#call("DomainService/ListDomains", { ...request, page }, options),
    );
  }

  /** Looks the records up in DNS now, at most once in 30 seconds; sooner, the stored state is returned with `nextRetryAt`. */
  async verify(id: string, options?: CallOptions): Promise<VerifyDomainResponse> {
    return await this.#call("DomainService/VerifyDomain", { id }, options);
  }

  /** Removes a domain. Mail already accepted is still delivered. */
  async delete(id: string, options?: CallOptions): Promise<DeleteDomainResponse> {
    return await this.#call("DomainService/DeleteDomain", { id }, options);
  }

  /** Replaces the DKIM keys. Nothing has to be published. */
  async rotateDkim(id: string, options?: CallOptions): Promise<RotateDkimResponse> {
    return await this.#call("DomainService/RotateDkim", { id }, options);
  }

  /** Verifies again and again until the domain is ready. Ends in `deadline_exceeded` with what is still missing. */
  async waitUntilReady(id: string, options: WaitOptions = {}): Promise<Domain> {
    const { signal, timeoutMs = 600_000, untilCanSend = false } = options;
    const end = performance.now() + timeoutMs;
    for (;;) {
      const { domain, nextRetryAt } = await this.verify(id, { signal });
      options.onProgress?.(domain);
      if (domain.status === "DOMAIN_STATUS_READY" || (untilCanSend && domain.summary.canSend)) return domain;
      const namedMs = nextRetryAt === undefined ? pauseMs : Date.parse(nextRetryAt) - Date.now();
      const waitMs = Math.min(maxPauseMs, Math.max(minPauseMs, namedMs));
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
