/** posthorn.inbound: read the mail that arrived at the workspace's receiving domains. */
import { contentOf } from "./base64.ts";
import type { Call } from "./call.ts";
import type { InboundAttachment } from "./gen/event.ts";
import type {
  GetInboundResponse,
  InboundMessage,
  ListInboundRequest,
  ListInboundResponse,
  ListUnattributedReportsRequest,
  ListUnattributedReportsResponse,
  UnattributedReport,
} from "./gen/inbound.ts";
import { type List, listByToken } from "./list.ts";
import type { CallOptions } from "./settings.ts";

export class Inbound {
  readonly #call: Call;

  constructor(call: Call) {
    this.#call = call;
  }

  /** Lists inbound messages, newest first. All filters that are set must match. */
  list(filter: ListInboundRequest = {}, options?: CallOptions): List<InboundMessage, ListInboundResponse> {
    return listByToken(filter, (page) => this.#call("InboundService/ListInbound", page, options));
  }

  /** Returns one inbound message with its text and HTML. */
  async get(id: string, options?: CallOptions): Promise<GetInboundResponse> {
    return await this.#call("InboundService/GetInbound", { id }, options);
  }

  /** Returns the message exactly as it arrived. */
  async content(id: string, options?: CallOptions): Promise<Uint8Array> {
    return contentOf((await this.#call("InboundService/GetInboundContent", { id }, options)).raw);
  }

  /** Returns one attachment with its content. */
  async attachment(
    id: string,
    attachmentId: string,
    options?: CallOptions,
  ): Promise<{ attachment: InboundAttachment; content: Uint8Array }> {
    const found = await this.#call("InboundService/GetInboundAttachment", { id, attachmentId }, options);
    return { attachment: found.attachment, content: contentOf(found.content) };
  }

  /** Lists the bounces and complaints that could not be attributed to a recipient, newest first. */
  unattributedReports(
    request: ListUnattributedReportsRequest = {},
    options?: CallOptions,
  ): List<UnattributedReport, ListUnattributedReportsResponse> {
    return listByToken(request, (page) => this.#call("InboundService/ListUnattributedReports", page, options));
  }
}
