import assert from "node:assert/strict";
import { generateKeyPairSync } from "node:crypto";
import { createSocket } from "node:dgram";
import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { after, before, test } from "node:test";
import { type DecodedPacket, decode, encode, type Packet, type Question, streamEncode } from "dns-packet";
import { serviceZone } from "../domains/service-zone.ts";
import { parseDkimRecord, samePublicKey } from "../mail/dkim-record.ts";
import { type Authority, type AuthorityOptions, createAuthority } from "./authority.ts";
import { joinText } from "./record.ts";
import { createResolver } from "./resolver.ts";
import type { ServerAddress } from "./servers.ts";
import { recordsZone, textRecord, zoneList } from "./zone.ts";

const zoneName = "mail.posthorn.test";
const key = generateKeyPairSync("rsa", { modulusLength: 2048 }).publicKey.export({ type: "spki", format: "der" });
const service = serviceZone(
  { zone: zoneName, hostname: `mx.${zoneName}`, publicIps: ["203.0.113.5", "2001:db8::5"], serial: 7 },
  {
    async dkimKey(label) {
      if (label === "broken-1") throw new Error("the keys cannot be read");
      return label === "tok-1" ? key.toString("base64") : undefined;
    },
    isReported: () => undefined,
  },
);
const published = recordsZone({
  origin: "shop.example",
  serial: 1,
  nameServers: [`ns1.${zoneName}`],
  records: [
    { name: "ph1._domainkey.shop.example", ttl: 60, type: "CNAME", target: `tok-1.dkim.${zoneName}` },
    { name: "out.shop.example", ttl: 60, type: "CNAME", target: "www.elsewhere.test" },
    { name: "gone.shop.example", ttl: 60, type: "CNAME", target: "nothing.shop.example" },
    { name: "loop.shop.example", ttl: 60, type: "CNAME", target: "loop.shop.example" },
    { name: "shop.example", ttl: 60, type: "MX", priority: 10, exchange: `inbound.${zoneName}` },
    ...Array.from({ length: 20 }, (_, i) => textRecord("big.shop.example", `${i} ${"x".repeat(200)}`)),
  ],
});

let authority: Authority;
let at: ServerAddress;
const errors: unknown[] = [];
before(async () => {
  authority = createAuthority({
    host: "127.0.0.1",
    port: 0,
    findZone: zoneList([service, published]),
    onError: (error) => errors.push(error),
    idleTimeoutMs: 200,
  });
  at = await authority.start();
});
after(() => authority.stop());

/** Sends one datagram and then a second query. Returns undefined if the server answers only the second. */
async function raw(packet: Buffer, server = at): Promise<Buffer | undefined> {
  const socket = createSocket("udp4");
  socket.connect(server.port, server.host);
  await once(socket, "connect");
  socket.send(packet);
  socket.send(encode({ type: "query", id: 65_535, questions: [{ name: "end.elsewhere.test", type: "A" }] }));
  const [reply] = (await once(socket, "message")) as [Buffer];
  socket.close();
  return reply.readUInt16BE(0) === 65_535 ? undefined : reply;
}

async function ask(question: Partial<Question> & { name: string }, extra: Partial<Packet> = {}): Promise<Reply> {
  const reply = await raw(encode({ type: "query", id: 9, questions: [{ type: "A", ...question }], ...extra }));
  assert.ok(reply);
  const packet = decode(reply) as Reply;
  assert.equal(packet.id, 9);
  assert.ok(packet.flag_qr);
  return packet;
}

type Reply = DecodedPacket & { rcode: string };
const opt = (udpPayloadSize: number, ednsVersion = 0): Packet => ({
  additionals: [
    { name: ".", type: "OPT", udpPayloadSize, ednsVersion, extendedRcode: 0, flags: 0, flag_do: false, options: [] },
  ],
});
const data = (packet: Packet): unknown[] => (packet.answers ?? []).map((one) => ("data" in one ? one.data : undefined));

test("the service zone answers for its hosts, MX, SPF, NS and SOA records", async () => {
  assert.deepEqual(data(await ask({ name: `inbound.${zoneName}` })), ["203.0.113.5"]);
  assert.deepEqual(data(await ask({ name: `ns1.${zoneName}`, type: "AAAA" })), ["2001:db8::5"]);
  for (const host of ["bounce", "feedback", "inbound", "mx"]) {
    const [mx] = data(await ask({ name: `${host}.${zoneName}`, type: "MX" }));
    assert.deepEqual(mx, { preference: 10, exchange: `inbound.${zoneName}` });
  }
  const text = async (name: string) => String(data(await ask({ name, type: "TXT" }))[0]);
  assert.equal(await text(`spf.${zoneName}`), "v=spf1 ip4:203.0.113.5 ip6:2001:db8::5 -all");
  assert.equal(await text(`bounce.${zoneName}`), `v=spf1 include:spf.${zoneName} -all`);
  assert.deepEqual(data(await ask({ name: zoneName, type: "NS" })), [`ns1.${zoneName}`]);
  const soa = await ask({ name: zoneName, type: "SOA" });
  assert.ok(soa.flag_aa);
  assert.equal((data(soa)[0] as { serial: number }).serial, 7);
});

test("one answer contains a tenant's DKIM alias and the key it points to", async () => {
  const resolver = createResolver({ servers: [at] });
  const found = await resolver.lookup("ph1._domainkey.shop.example", "TXT");
  assert.ok(found.kind === "found");
  assert.deepEqual(found.chain, [`tok-1.dkim.${zoneName}`]);
  assert.ok(found.records[0]);
  const reading = parseDkimRecord(joinText(found.records[0]));
  assert.ok(reading.ok && samePublicKey(reading.record.publicKey, key.toString("base64")));
});

test("an answer keeps the case of the question's name", async () => {
  const reply = await ask({ name: `InBound.Mail.Posthorn.TEST` });
  assert.equal(reply.questions?.[0]?.name, "InBound.Mail.Posthorn.TEST");
  assert.equal(reply.answers?.[0]?.name, "InBound.Mail.Posthorn.TEST");
});

test("a missing name is NXDOMAIN; a name without records of the type is NOERROR with an SOA", async () => {
  const gone = await ask({ name: `nothing.${zoneName}` });
  assert.deepEqual([gone.rcode, gone.flag_aa, gone.authorities?.[0]?.type], ["NXDOMAIN", true, "SOA"]);
  for (const name of [`inbound.${zoneName}`, `dkim.${zoneName}`, "_domainkey.shop.example"]) {
    const empty = await ask({ name, type: "TXT" });
    assert.deepEqual([empty.rcode, empty.answers?.length, empty.authorities?.[0]?.type], ["NOERROR", 0, "SOA"], name);
  }
  assert.equal((await ask({ name: `tok-9.dkim.${zoneName}`, type: "TXT" })).rcode, "NXDOMAIN");
  assert.equal((await ask({ name: `a.tok-1.dkim.${zoneName}`, type: "TXT" })).rcode, "NXDOMAIN");
});

test("an alias to another zone, to a missing name or to itself ends the answer", async () => {
  const out = await ask({ name: "out.shop.example" });
  assert.deepEqual([out.rcode, data(out)], ["NOERROR", ["www.elsewhere.test"]]);
  const gone = await ask({ name: "gone.shop.example" });
  assert.deepEqual(
    [gone.rcode, data(gone), gone.authorities?.[0]?.type],
    ["NXDOMAIN", ["nothing.shop.example"], "SOA"],
  );
  assert.deepEqual(data(await ask({ name: "loop.shop.example" })), ["loop.shop.example"]);
  assert.deepEqual(data(await ask({ name: "out.shop.example", type: "CNAME" })), ["www.elsewhere.test"]);
});

test("ANY gets a minimal answer; other zones, zone transfers and other classes are refused", async () => {
  const any = await raw(query(zoneName, 255, 1));
  assert.ok(any);
  assert.deepEqual(data(decode(any)), [{ cpu: "RFC8482", os: "" }]);
  assert.equal((await ask({ name: "example.com" })).rcode, "REFUSED");
  assert.equal((await ask({ name: "test" })).rcode, "REFUSED");
  assert.equal((await ask({ name: zoneName, type: "AXFR" })).rcode, "REFUSED");
  assert.equal((await ask({ name: zoneName, type: "IXFR" })).rcode, "REFUSED");
  assert.equal((await ask({ name: zoneName, class: "CH" })).rcode, "REFUSED");
  assert.ok(!(await ask({ name: "example.com" })).flag_aa);
});

test("a query with EDNS gets an answer with EDNS, and an unknown EDNS version gets BADVERS", async () => {
  const reply = await ask({ name: zoneName, type: "SOA" }, opt(4096));
  assert.equal(reply.additionals?.[0]?.type, "OPT");
  const bad = await ask({ name: zoneName, type: "SOA" }, opt(4096, 1));
  const badOpt = bad.additionals?.[0];
  assert.ok(badOpt?.type === "OPT");
  assert.deepEqual([badOpt.extendedRcode, bad.answers?.length], [1, 0]);
  assert.equal((await ask({ name: zoneName, type: "SOA" })).additionals?.length, 0);
});

test("an answer too large for the client's datagram is truncated over UDP and complete over TCP", async () => {
  for (const extra of [{}, opt(100), opt(1232), opt(65_000)]) {
    const cut = await ask({ name: "big.shop.example", type: "TXT" }, extra);
    assert.deepEqual([cut.flag_tc, cut.answers?.length], [true, 0]);
  }
  const found = await createResolver({ servers: [at] }).lookup("big.shop.example", "TXT");
  assert.ok(found.kind === "found");
  assert.equal(found.records.length, 20);
});

test("responses and short packets get no answer; malformed and unsupported queries get an error code", async () => {
  assert.equal(await raw(encode({ type: "response", id: 9, questions: [{ name: zoneName, type: "A" }] })), undefined);
  assert.equal(await raw(Buffer.alloc(11)), undefined);
  const rcodeOf = async (packet: Buffer): Promise<number> =>
    ((await raw(packet)) ?? assert.fail()).readUInt16BE(2) & 0xf;
  const good = query(zoneName, 1, 1);
  assert.equal(await rcodeOf(good.subarray(0, -1)), 1);
  assert.equal(await rcodeOf(Buffer.concat([good, Buffer.alloc(1)])), 1);
  const two = Buffer.from(good);
  two.writeUInt16BE(2, 4);
  assert.equal(await rcodeOf(Buffer.concat([two, good.subarray(12)])), 1);
  for (const opcode of [1, 2, 4, 5, 6, 15]) {
    const other = Buffer.from(good);
    other.writeUInt16BE(opcode << 11, 2);
    assert.equal(await rcodeOf(other), 4, `opcode ${opcode}`);
  }
});

test("a zone that fails to answer yields SERVFAIL, and the error is reported", async () => {
  assert.equal((await ask({ name: `broken-1.dkim.${zoneName}`, type: "TXT" })).rcode, "SERVFAIL");
  assert.match(String(errors.at(-1)), /keys cannot be read/);
});

test("TCP: pipelined queries are answered in order, however the stream is split", async () => {
  const socket = await connected();
  const packets = Array.from({ length: 100 }, (_, id) =>
    streamEncode({ type: "query", id, questions: [{ name: `inbound.${zoneName}`, type: "A" }] }),
  );
  const stream = Buffer.concat(packets);
  for (let i = 0; i < stream.length; i += 7) socket.write(stream.subarray(i, i + 7));
  socket.end();
  const received = await all(socket);
  const ids: number[] = [];
  for (let offset = 0; offset < received.length; offset += received.readUInt16BE(offset) + 2) {
    ids.push(received.readUInt16BE(offset + 2));
  }
  assert.deepEqual(
    ids,
    Array.from({ length: 100 }, (_, id) => id),
  );
});

test("TCP: a silent client, single bytes and oversized messages close the connection", async () => {
  const silent = await connected();
  assert.equal((await all(silent)).length, 0);
  const dripping = await connected();
  const drip = setInterval(() => dripping.write("\0"), 20);
  dripping.on("error", () => {});
  await once(dripping, "close");
  clearInterval(drip);
  // The first two bytes are the length: 0x4745, more than a query may have.
  const oversized = await connected();
  oversized.write("GET / HTTP/1.1\r\nHost: a\r\n\r\n");
  assert.equal((await all(oversized)).length, 0);
});

test("above the rate limit every second query gets a truncated answer, so that real clients use TCP", async () => {
  const limited = await started({ rateLimit: { burst: 3, answersPerSecond: 1, now: () => 0 }, unlimited: () => false });
  const socket = createSocket("udp4");
  socket.connect(limited.at.port, limited.at.host);
  await once(socket, "connect");
  const replies: DecodedPacket[] = [];
  const enough = new Promise<void>((resolve) => {
    socket.on("message", (reply) => {
      replies.push(decode(reply));
      if (replies.length === 8) resolve();
    });
  });
  for (let i = 0; i < 13; i++)
    socket.send(encode({ type: "query", id: i, questions: [{ name: zoneName, type: "SOA" }] }));
  await enough;
  socket.close();
  assert.deepEqual(
    replies.map((reply) => [reply.id, reply.flag_tc]),
    [...[0, 1, 2].map((id) => [id, false]), ...[4, 6, 8, 10, 12].map((id) => [id, true])],
  );
  const resolver = createResolver({ servers: [limited.at], queryTimeoutMs: 200, totalTimeoutMs: 5000 });
  assert.equal((await resolver.lookup(zoneName, "SOA")).kind, "found");
  await limited.authority.stop();
});

test("one client network gets at most an eighth of the connections", async () => {
  const small = await started({ maxConnections: 16, unlimited: () => false });
  const sockets = [await connected(small.at), await connected(small.at)];
  const third = await connected(small.at);
  third.on("error", () => {});
  await once(third, "close");
  assert.ok(sockets.every((socket) => !socket.destroyed));
  await small.authority.stop();
});

test("a full port takes the place of an idle connection of the largest holder", async () => {
  const small = await started({ maxConnections: 16, unlimited: () => false });
  const from = async (localAddress: string) => {
    const socket = connect({ port: small.at.port, host: small.at.host, localAddress });
    socket.on("error", () => {});
    await once(socket, "connect");
    return socket;
  };
  const crowd: Socket[] = [];
  for (let i = 0; i < 16; i++) crowd.push(await from(`127.0.0.${2 + Math.floor(i / 2)}`));
  const one = await from("127.0.0.99");
  const ended = crowd.map((socket) => closed(socket));
  for (const socket of crowd) socket.resume();
  await Promise.race(ended);
  const packet = Buffer.from(encode({ type: "query", id: 5, questions: [{ name: zoneName, type: "SOA" }] }));
  one.write(Buffer.concat([Buffer.from([packet.length >> 8, packet.length & 255]), packet]));
  const [reply] = (await once(one, "data")) as [Buffer];
  assert.equal(decode(reply.subarray(2)).id, 5);
  await small.authority.stop();
});

test("a TCP connection ends after its lifetime, although its client keeps asking", async (t) => {
  const short = await started({ maxLifetimeMs: 200 });
  t.after(short.authority.stop);
  const socket = await connected(short.at);
  const packet = Buffer.from(encode({ type: "query", id: 5, questions: [{ name: zoneName, type: "SOA" }] }));
  const asking = setInterval(
    () => socket.write(Buffer.concat([Buffer.from([packet.length >> 8, packet.length & 255]), packet])),
    20,
  );
  t.after(() => clearInterval(asking));
  socket.resume();
  await closed(socket);
});

test("the server stops with open connections and can start again on the same port", async () => {
  const one = await started({});
  const socket = await connected(one.at);
  socket.on("error", () => {});
  await one.authority.stop();
  const again = createAuthority({ host: "127.0.0.1", port: one.at.port, findZone: zoneList([service]) });
  assert.deepEqual(await again.start(), one.at);
  await assert.rejects(createAuthority({ host: "127.0.0.1", port: one.at.port, findZone: zoneList([]) }).start(), {
    code: "EADDRINUSE",
  });
  await again.stop();
});

async function started(options: Partial<AuthorityOptions>): Promise<{ authority: Authority; at: ServerAddress }> {
  const one = createAuthority({ host: "127.0.0.1", port: 0, findZone: zoneList([service]), ...options });
  return { authority: one, at: await one.start() };
}

async function connected(server = at): Promise<Socket> {
  const socket = connect(server.port, server.host);
  await once(socket, "connect");
  return socket;
}

/** Resolves when the connection has ended in any way. The server may reset it while the client writes. */
function closed(socket: Socket): Promise<void> {
  socket.on("error", () => {});
  return new Promise((resolve) => void socket.once("close", () => resolve()));
}

async function all(socket: Socket): Promise<Buffer> {
  const chunks: Buffer[] = [];
  socket.on("data", (chunk) => chunks.push(chunk));
  await closed(socket);
  return Buffer.concat(chunks);
}

function query(name: string, typeCode: number, classCode: number): Buffer {
  const packet = encode({ type: "query", id: 9, questions: [{ name, type: "A" }] });
  packet.writeUInt16BE(typeCode, packet.length - 4);
  packet.writeUInt16BE(classCode, packet.length - 2);
  return packet;
}
