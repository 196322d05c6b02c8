/** For tests of unsubscribing: the link in a delivered message, and what mail programs and browsers post to it. */
import assert from "node:assert/strict";
import type { Testbed } from "./testbed.ts";

export const publicUrl = "https://mail.posthorn.test";

/** The path of the link in the header of a message. */
export function linkOf(message: Buffer): string {
  const [, header] = /^([\s\S]*?)\r\n\r\n/.exec(message.toString("latin1"))!;
  const [, url = ""] = /^List-Unsubscribe: <([^>]*)>\r$/m.exec(`${header}\r\n`) ?? [];
  assert.ok(url.startsWith(`${publicUrl}/unsubscribe/`), `a link in ${header}`);
  assert.match(header!, /^List-Unsubscribe-Post: List-Unsubscribe=One-Click\r?$/m);
  return url.slice(publicUrl.length);
}

/** Sends an email with this topic, and returns its id and the path of its link. */
export async function sendWithLink(
  testbed: Testbed,
  to: string,
  topic: string,
  more: Record<string, unknown> = {},
): Promise<{ id: string; path: string }> {
  const earlier = testbed.sink.received(to).length;
  const { status, body } = await testbed.send({ to: [to], unsubscribe: { topic }, ...more });
  assert.equal(status, 200, JSON.stringify(body));
  const message = testbed.sink.received(to)[earlier];
  assert.ok(message, `${to} got the email: ${JSON.stringify(body)}`);
  return { id: body.id as string, path: linkOf(message.data) };
}

export const oneClick = "List-Unsubscribe=One-Click";

export type Shown = { status: number; headers: Headers; text: string };

/** Posts to the link, as a mail program does. Redirects would show in the status. */
export async function post(
  testbed: Testbed,
  path: string,
  body: string | FormData = oneClick,
  type?: string,
): Promise<Shown> {
  const form = "application/x-www-form-urlencoded";
  const headers = body instanceof FormData ? undefined : { "content-type": type ?? form };
  return await request(testbed, path, { method: "POST", body, headers });
}

/** Presses a button of the page. */
export async function press(testbed: Testbed, path: string, action: string, topic?: string): Promise<Shown> {
  return await post(testbed, path, new URLSearchParams({ action, ...(topic && { topic }) }).toString());
}

export async function request(testbed: Testbed, path: string, init: RequestInit = {}): Promise<Shown> {
  const response = await fetch(`${testbed.program.url}${path}`, { redirect: "manual", ...init });
  return { status: response.status, headers: response.headers, text: await response.text() };
}

export type WireUnsubscribe = {
  address: string;
  topic: string;
  method: string;
  emailId: string;
  sourceEventId: string;
  createdAt: string;
};

export async function entriesOf(testbed: Testbed, filter: Record<string, unknown> = {}): Promise<WireUnsubscribe[]> {
  const { status, body } = await testbed.call("SuppressionService/ListUnsubscribes", { pageSize: 100, ...filter });
  assert.equal(status, 200, JSON.stringify(body));
  return body.data as WireUnsubscribe[];
}
