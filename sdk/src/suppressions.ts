/** posthorn.suppressions: manage the addresses that the workspace does not send to. */
import { type Address, bareAddress } from "./address.ts";
import type { Call } from "./call.ts";
import { checkObject } from "./check.ts";
import type {
  AddSuppressionRequest,
  AddUnsubscribeRequest,
  ImportSuppressionsResponse,
  ListSuppressionsRequest,
  ListSuppressionsResponse,
  ListUnsubscribesRequest,
  ListUnsubscribesResponse,
  RemoveSuppressionResponse,
  RemoveUnsubscribeRequest,
  RemoveUnsubscribeResponse,
  Suppression,
  UnsubscribedAddress,
} from "./gen/suppression.ts";
import { type List, listByToken } from "./list.ts";
import type { CallOptions } from "./settings.ts";

export class Suppressions {
  readonly #call: Call;

  constructor(call: Call) {
    this.#call = call;
  }

  /** Lists the suppressed addresses, newest first. */
  list(filter: ListSuppressionsRequest = {}, options?: CallOptions): List<Suppression, ListSuppressionsResponse> {
    return listByToken(filter, (page) => this.#call("SuppressionService/ListSuppressions", page, options));
  }

  /** Adds an address to the list. An address that is already on the list stays unchanged. */
  async add(address: Address | AddSuppressionRequest, options?: CallOptions): Promise<Suppression> {
    const request = typeof address === "string" ? { address } : withoutName(address);
    return (await this.#call("SuppressionService/AddSuppression", request, options)).suppression;
  }

  /** Removes an address from the list. */
  async remove(address: Address, options?: CallOptions): Promise<RemoveSuppressionResponse> {
    const request = { address: bareAddress(address, "address") };
    return await this.#call("SuppressionService/RemoveSuppression", request, options);
  }

  /** Adds addresses from CSV text with a header line and a column `address`. */
  async import(csv: string, options?: CallOptions): Promise<ImportSuppressionsResponse> {
    return await this.#call("SuppressionService/ImportSuppressions", { csv }, options);
  }

  /** Returns the complete list as CSV text. */
  async export(options?: CallOptions): Promise<string> {
    let csv = "";
    let pageToken: string | undefined;
    do {
      const page = await this.#call("SuppressionService/ExportSuppressions", { pageToken }, options);
      csv += page.csv;
      pageToken = page.nextPageToken;
    } while (pageToken);
    return csv;
  }

  /** Lists the addresses whose recipients have unsubscribed from a topic, newest first. */
  listUnsubscribes(
    filter: ListUnsubscribesRequest = {},
    options?: CallOptions,
  ): List<UnsubscribedAddress, ListUnsubscribesResponse> {
    return listByToken(filter, (page) => this.#call("SuppressionService/ListUnsubscribes", page, options));
  }

  /** Unsubscribes an address from a topic, or from all with `*`. An entry that exists stays unchanged. */
  async addUnsubscribe(request: AddUnsubscribeRequest, options?: CallOptions): Promise<UnsubscribedAddress> {
    return (await this.#call("SuppressionService/AddUnsubscribe", request, options)).unsubscribe;
  }

  /** Removes an entry, so that the address gets emails with the topic again. */
  async removeUnsubscribe(
    request: RemoveUnsubscribeRequest,
    options?: CallOptions,
  ): Promise<RemoveUnsubscribeResponse> {
    return await this.#call("SuppressionService/RemoveUnsubscribe", request, options);
  }
}

function withoutName(request: AddSuppressionRequest & { name?: string }): AddSuppressionRequest {
  checkObject(request, "address", "must be an address or { address }");
  const { name: _, ...rest } = request;
  return rest;
}
