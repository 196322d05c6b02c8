/** A page of an event log, encoded once for all streams that send it. pages.ts keeps pages for a moment, service.ts sends them. */
import { compressEnvelope, isCompressible, type StreamFormat } from "../http/stream-output.ts";
import { type Cuts, cursorText } from "./rules.ts";
import type { StoredEvent } from "./store.ts";
import { encodeEvent, isInbound } from "./wire.ts";

/** The messages of a page in one format. */
export type EncodedPage = {
  bytes: Uint8Array;
  /** Where each message starts, and where the last one ends. */
  offsets: readonly number[];
};

export type Page = {
  events: readonly StoredEvent[];
  /** The log was searched up to this number. */
  reached: bigint;
  /** All messages of the page. */
  encoded(format: StreamFormat, options: { inboundText: boolean }): Promise<EncodedPage>;
  cursorAt(index: number): string;
  /** The index of the first event after this number. */
  indexAfter(number: bigint): number;
};

export type PageOptions = {
  events: readonly StoredEvent[];
  reached: bigint;
  /** The cuts of the log, which are part of the cursors. */
  cuts: Cuts;
  /** Called with the size of each new encoding. */
  onEncoded(bytes: number): void;
  /** Called when a stream gets an encoding that was made for another one. */
  onShared(): void;
};

export function createPage({ events, reached, cuts, onEncoded, onShared }: PageOptions): Page {
  const encodings = new Map<string, Promise<EncodedPage>>();
  const hasText = events.some(isInbound);
  return {
    events,
    reached,
    encoded(format, { inboundText }) {
      const key = `${format.form} ${format.compression} ${inboundText || !hasText}`;
      const known = encodings.get(key);
      if (known) {
        onShared();
        return known;
      }
      const made = encode(events, cuts, { format, inboundText }).then((page) => {
        onEncoded(page.bytes.length);
        return page;
      });
      encodings.set(key, made);
      return made;
    },
    cursorAt: (index) => cursorText(BigInt(events[index]!.number), cuts),
    indexAfter(number) {
      const index = events.findIndex((event) => BigInt(event.number) > number);
      return index < 0 ? events.length : index;
    },
  };
}

async function encode(
  events: readonly StoredEvent[],
  cuts: Cuts,
  { format, inboundText }: { format: StreamFormat; inboundText: boolean },
): Promise<EncodedPage> {
  let messages = events.map((event) =>
    encodeEvent(event, { cursor: cursorText(BigInt(event.number), cuts), inboundText, form: format.form }),
  );
  if (messages.some((message) => isCompressible(message, format)))
    messages = await Promise.all(
      messages.map((message) => (isCompressible(message, format) ? compressEnvelope(message, format) : message)),
    );
  const offsets = [0];
  for (const message of messages) offsets.push(offsets.at(-1)! + message.length);
  // A buffer of its own: a slice of Node's shared pool would keep the pool alive.
  const bytes = Buffer.allocUnsafeSlow(offsets.at(-1)!);
  for (const [i, message] of messages.entries()) bytes.set(message, offsets[i]);
  return { bytes, offsets };
}
