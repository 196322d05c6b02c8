/** posthorn.inbound: read the mail that arrived at the workspace's receiving domains. */
import { fromBase64 } from "./base64.ts";
import type { Call } from "./call.ts";
import type { InboundAttachment } from "./gen/event.ts";
import type { GetInboundResponse, InboundMessage, ListInboundRequest, ListInboundResponse } from "./gen/inbound.ts";
import { type List, listByToken } from "./list.ts";
import type { CallOptions } from "./settings.ts";

export class Inbound {
  readonly #call: Call;

  constructor(call: Call) {
    this.#call = call;
  }

  /** Lists inbound messages, newest first. All filters that are set must match. */
  list(filter: ListInboundRequest = {}, options?: CallOptions): List<InboundMessage, ListInboundResponse> {
    return listByToken((pageToken = filter.pageToken) =>
      this.#call("InboundService/ListInbound", { ...filter, pageToken }, options),
    );
  }

  /** Returns one inbound message with its text and HTML. */
  async get(id: string, options?: CallOptions): Promise<GetInboundResponse> {
    return await this.#call("InboundService/GetInbound", { id }, options);
  }

  /** Returns the message exactly as it arrived. */
  async content(id: string, options?: CallOptions): Promise<Uint8Array> {
    return fromBase64((await this.#call("InboundService/GetInboundContent", { id }, options)).raw);
  }

  /** Returns one attachment with its content. */
  async attachment(
    id: string,
    attachmentId: string,
    options?: CallOptions,
  ): Promise<{ attachment: InboundAttachment; content: Uint8Array }> {
    const found = await this.#call("InboundService/GetInboundAttachment", { id, attachmentId }, options);
    return { attachment: found.attachment, content: fromBase64(found.content) };
  }
}
