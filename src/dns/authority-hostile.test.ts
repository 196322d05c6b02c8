import assert from "node:assert/strict";
import { createSocket } from "node:dgram";
import { once } from "node:events";
import { connect } from "node:net";
import { after, before, test } from "node:test";
import { encode } from "dns-packet";
import { serviceZone } from "../domains/service-zone.ts";
import { type Authority, createAuthority } from "./authority.ts";
import { readDnsMessage } from "./message-read.ts";
import { createResolver } from "./resolver.ts";
import type { ServerAddress } from "./servers.ts";
import { zoneList } from "./zone.ts";

const zoneName = "mail.posthorn.test";
const hostName = `inbound.${zoneName}`;
const zone = serviceZone(
  { zone: zoneName, hostname: zoneName, publicIps: ["203.0.113.5"], serial: 1 },
  {
    dkimKey: () => "QUJD",
    isReported: () => undefined,
  },
);

let authority: Authority;
let at: ServerAddress;
const errors: unknown[] = [];
before(async () => {
  authority = createAuthority({
    host: "127.0.0.1",
    port: 0,
    findZone: zoneList([zone]),
    onError: (e) => errors.push(e),
  });
  at = await authority.start();
});
after(() => authority.stop());

test("a good query is answered after each of 10,000 malformed and hostile packets", async () => {
  const random = createRandom(20_260_101);
  const socket = createSocket("udp4");
  socket.connect(at.port, at.host);
  await once(socket, "connect");
  let expected = -1;
  let answered = () => {};
  socket.on("message", (reply) => {
    if (reply.readUInt16BE(0) !== expected) return;
    const [record] = readDnsMessage(reply).answers;
    assert.ok(record?.type === "A" && record.address === "203.0.113.5");
    answered();
  });
  for (let i = 0; i < 10_000; i++) {
    const hostile = makeHostile(random, i);
    // Its id never equals the id of the good query.
    if (hostile.length >= 2) hostile.writeUInt16BE(hostile.readUInt16BE(0) | 0x8000, 0);
    const reply = new Promise<void>((resolve) => {
      answered = resolve;
    });
    expected = i & 0x7fff;
    if (hostile.length > 0) socket.send(hostile);
    socket.send(encode({ type: "query", id: expected, questions: [{ name: hostName, type: "A" }] }));
    await reply;
  }
  socket.close();
  assert.deepEqual(errors, []);
});

test("the server keeps answering after hostile streams over TCP", async () => {
  const random = createRandom(7);
  const resolver = createResolver({ servers: [at] });
  for (let i = 0; i < 200; i++) {
    const socket = connect(at.port, at.host);
    socket.on("error", () => {});
    await once(socket, "connect");
    const packets = Array.from({ length: 1 + random(5) }, () => makeHostile(random, random(1000)));
    for (const packet of packets) {
      const length = Buffer.alloc(2);
      length.writeUInt16BE(random(4) === 0 ? random(0x10000) : packet.length);
      socket.write(Buffer.concat([length, packet]));
    }
    if (random(2) === 0) socket.resetAndDestroy();
    else socket.end();
    socket.resume();
    assert.equal((await resolver.lookup(hostName, "A", { bypassCache: true })).kind, "found");
    socket.destroy();
  }
  assert.deepEqual(errors, []);
});

type Random = (below: number) => number;

/** A seeded generator (xorshift), so that a failure is reproducible. */
function createRandom(seed: number): Random {
  let state = seed | 1;
  return (below) => {
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    return (state >>> 0) % below;
  };
}

const kinds: ((random: Random) => Buffer)[] = [
  noise,
  mutate,
  cut,
  extend,
  counts,
  pointers,
  longName,
  oddLabels,
  options,
  header,
];

function makeHostile(random: Random, index: number): Buffer {
  const kind = kinds[index % kinds.length] ?? noise;
  return kind(random);
}

function goodQuery(random: Random): Buffer {
  const names = [hostName, zoneName, `x.dkim.${zoneName}`, "example.com", `${"a.".repeat(60)}${zoneName}`, "."];
  const packet = encode({
    type: "query",
    id: random(0x8000),
    flags: random(0x8000) & 0x0130,
    questions: [{ name: names[random(names.length)] ?? "", type: "TXT" }],
    additionals: [
      {
        name: ".",
        type: "OPT",
        udpPayloadSize: random(0x10000),
        extendedRcode: 0,
        ednsVersion: 0,
        flags: 0,
        flag_do: false,
        options: [],
      },
    ],
  });
  return Buffer.from(packet);
}

function noise(random: Random): Buffer {
  return Buffer.from(Array.from({ length: random(600) }, () => random(256)));
}

function mutate(random: Random): Buffer {
  const packet = goodQuery(random);
  for (let changes = 1 + random(6); changes > 0; changes--) packet[random(packet.length)] = random(256);
  return packet;
}

function cut(random: Random): Buffer {
  const packet = goodQuery(random);
  return Buffer.from(packet.subarray(0, random(packet.length)));
}

function extend(random: Random): Buffer {
  return Buffer.concat([goodQuery(random), noise(random)]);
}

function counts(random: Random): Buffer {
  const packet = goodQuery(random);
  for (const offset of [4, 6, 8, 10]) if (random(2) === 0) packet.writeUInt16BE(random(0x10000), offset);
  return packet;
}

function pointers(random: Random): Buffer {
  const packet = Buffer.alloc(12 + 2 * (1 + random(500)));
  packet.writeUInt16BE(1, 4);
  for (let at = 12; at + 1 < packet.length; at += 2) packet.writeUInt16BE(0xc000 | random(packet.length), at);
  return packet;
}

function longName(random: Random): Buffer {
  const labels = Array.from({ length: 3 + random(130) }, () => {
    const length = 1 + random(63);
    return Buffer.concat([Buffer.from([length]), Buffer.alloc(length, 97)]);
  });
  const start = Buffer.alloc(12);
  start.writeUInt16BE(1, 4);
  return Buffer.concat([start, ...labels, Buffer.from([0, 0, 1, 0, 1])]).subarray(0, 1400);
}

function oddLabels(random: Random): Buffer {
  const label = Buffer.from(Array.from({ length: 1 + random(40) }, () => random(256)));
  const start = Buffer.alloc(12);
  start.writeUInt16BE(1, 4);
  const suffix = encode({ type: "query", questions: [{ name: zoneName, type: "TXT" }] }).subarray(12);
  return Buffer.concat([start, Buffer.from([label.length]), label, suffix]);
}

function options(random: Random): Buffer {
  const packet = goodQuery(random);
  const option = noise(random);
  packet.writeUInt16BE(random(3) === 0 ? random(0x10000) : option.length, packet.length - 2);
  const twice = random(3) === 0 ? packet.subarray(packet.length - 11) : Buffer.alloc(0);
  if (twice.length > 0) packet.writeUInt16BE(2, 10);
  return Buffer.concat([packet, option, twice]);
}

function header(random: Random): Buffer {
  const packet = goodQuery(random);
  packet.writeUInt16BE(random(0x10000), 2);
  packet.writeUInt16BE(random(0x10000), packet.length - 15);
  packet.writeUInt16BE(random(0x10000), packet.length - 13);
  return packet;
}
