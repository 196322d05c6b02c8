/** Lists: awaiting returns the first page, iterating yields all entries, for every kind of pagination. */
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { Code, ConnectError } from "@connectrpc/connect";
import { DomainService } from "../../src/gen/v1/domain_pb.ts";
import { EmailService } from "../../src/gen/v1/email_pb.ts";
import { SuppressionService } from "../../src/gen/v1/suppression_pb.ts";
import { type Peer, rejection, startPeer } from "./peer.ts";

let peer: Peer;
let domains: { id: string }[] = [];
let onDomainsPage = (_page: number) => {};

before(async () => {
  peer = await startPeer({
    routes: (router) => {
      router.service(EmailService, {
        listEmails({ pageToken, pageSize, domain }) {
          assert.equal(domain, "example.com", "every page has the filter");
          const start = pageToken === "" ? 0 : Number(pageToken);
          const ids = Array.from({ length: 7 }, (_, i) => ({ id: `em_${i}` })).slice(start, start + pageSize);
          const next = start + pageSize;
          return { data: ids, nextPageToken: next < 7 ? String(next) : "" };
        },
        listEvents({ cursor }) {
          const from = Number(cursor || 0);
          if (from > 4) throw new ConnectError("past the newest", Code.OutOfRange);
          const data =
            from < 4 ? [1, 2].map((i) => ({ cursor: String(from + i), event: { id: `evt_${from + i}` } })) : [];
          return { data, nextCursor: String(from + data.length), hasMore: from < 4 };
        },
      });
      router.service(DomainService, {
        listDomains({ page, pageSize }) {
          const size = pageSize || 20;
          const data = domains.slice((page - 1) * size, page * size);
          const total = domains.length;
          onDomainsPage(page);
          return { data, total };
        },
      });
      router.service(SuppressionService, {
        exportSuppressions: ({ pageToken }) =>
          pageToken === "" ? { csv: "address\na@example.net\n", nextPageToken: "2" } : { csv: "b@example.net\n" },
      });
    },
  });
});

after(() => peer.close());

async function idsOf(list: AsyncIterable<{ id: string }>): Promise<string[]> {
  const ids: string[] = [];
  for await (const { id } of list) ids.push(id);
  return ids;
}

test("a list with page tokens returns the first page when awaited and all pages when iterated", async () => {
  const page = await peer.client.emails.list({ domain: "example.com", pageSize: 3 });
  assert.deepEqual(
    page.data.map(({ id }) => id),
    ["em_0", "em_1", "em_2"],
  );
  const next = await peer.client.emails.list({ domain: "example.com", pageSize: 3, pageToken: page.nextPageToken });
  assert.equal(next.data[0]!.id, "em_3");
  const requestsBefore = peer.requests.length;
  const all = await idsOf(peer.client.emails.list({ domain: "example.com", pageSize: 3 }));
  assert.deepEqual(
    all,
    Array.from({ length: 7 }, (_, i) => `em_${i}`),
  );
  assert.equal(peer.requests.length - requestsBefore, 3);
});

test("leaving the loop early requests no further page", async () => {
  const requestsBefore = peer.requests.length;
  for await (const { id } of peer.client.emails.list({ domain: "example.com", pageSize: 3 })) if (id === "em_1") break;
  assert.equal(peer.requests.length - requestsBefore, 1);
});

test("a list with page numbers makes no extra request and yields no domain twice when one is added during iteration", async () => {
  domains = Array.from({ length: 6 }, (_, i) => ({ id: `dom_${i}` }));
  const requestsBefore = peer.requests.length;
  assert.equal((await idsOf(peer.client.domains.list({ pageSize: 3 }))).length, 6);
  assert.equal(peer.requests.length - requestsBefore, 2);
  assert.deepEqual(await idsOf(peer.client.domains.list({ page: 2, pageSize: 3 })), ["dom_3", "dom_4", "dom_5"]);
  onDomainsPage = (page) => {
    if (page === 1) domains = [{ id: "dom_new" }, ...domains];
  };
  const all = await idsOf(peer.client.domains.list({ pageSize: 3 }));
  onDomainsPage = () => {};
  assert.deepEqual(all, ["dom_0", "dom_1", "dom_2", "dom_3", "dom_4", "dom_5"]);
  domains = [];
  assert.deepEqual(await idsOf(peer.client.domains.list()), []);
});

test("iterating over events ends with the last stored one", async () => {
  const cursors: string[] = [];
  for await (const { cursor } of peer.client.events.list()) cursors.push(cursor);
  assert.deepEqual(cursors, ["1", "2", "3", "4"]);
});

test("an error is thrown both when a list is awaited and when it is iterated", async () => {
  assert.equal(
    (await rejection<Error & { code: string }>(peer.client.events.list({ cursor: "9" }))).code,
    "out_of_range",
  );
  const error = await rejection<Error & { code: string }>(
    (async () => {
      for await (const _ of peer.client.events.list({ cursor: "9" }));
    })(),
  );
  assert.equal(error.code, "out_of_range");
});

test("an export concatenates its pages", async () => {
  assert.equal(await peer.client.suppressions.export(), "address\na@example.net\nb@example.net\n");
});
