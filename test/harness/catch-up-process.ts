/** A process of its own with many stream readers that resume from cursor "0" at once, so that its work does not delay the calls that the
 * fault measures. catch-up-readers.ts starts it and talks to it over IPC. */
import { type ClientRequest, request } from "node:http";
import { setPriority } from "node:os";
import type { CatchUpOrder, CatchUpReport } from "./catch-up-readers.ts";

/** Real readers run on other machines, so these leave the cores to the program. */
setPriority(10);

const wrong: string[] = [];
const readers: ClientRequest[] = [];
let behind = 0;
let started = 0;

process.on("message", (order: CatchUpOrder) => {
  behind = order.readers;
  setInterval(() => process.send!({ started, behind, wrong: wrong.slice(0, 5) } satisfies CatchUpReport), 50);
  for (let i = 0; i < order.readers; i++) open(order, i);
});
process.on("disconnect", () => process.exit(0));

/** Each reader compares the bytes that it receives with the body that a single reader got before. */
function open({ url, key, forms }: CatchUpOrder, index: number): void {
  const form = forms[index % forms.length]!;
  const expected = Buffer.from(form.body, "base64");
  const headers = {
    authorization: `Bearer ${key}`,
    "connect-protocol-version": "1",
    "content-type": form.contentType,
  };
  const reader = request(`${url}/v1.EmailService/StreamEvents`, { method: "POST", headers, agent: false });
  reader.on("error", (error) => fail(index, error.message));
  reader.on("response", (response) => {
    started++;
    let at = 0;
    response.on("data", (chunk: Buffer) => {
      const left = Math.max(0, Math.min(chunk.length, expected.length - at));
      if (chunk.compare(expected, at, at + left, 0, left) !== 0) fail(index, `other bytes than expected after ${at}`);
      // Only heartbeats may follow.
      if (chunk.includes('"event"', left)) fail(index, "more events than expected");
      if (at < expected.length && at + chunk.length >= expected.length) behind--;
      at += chunk.length;
    });
    response.on("close", () => at < expected.length && fail(index, `the stream ended after ${at} bytes`));
  });
  reader.end(Buffer.from(form.request, "base64"));
  readers.push(reader);
}

function fail(index: number, message: string): void {
  wrong.push(`reader ${index}: ${message}`);
}
