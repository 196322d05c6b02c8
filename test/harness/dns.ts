/** A scripted DNS server for tests: serves records by name, misbehaves on request, and records every query. */
import { createSocket } from "node:dgram";
import { once } from "node:events";
import { createServer, type Socket } from "node:net";
import { type Answer, type DecodedPacket, decode, encode, type Packet, type RecordType } from "dns-packet";

export type ScriptedBehavior =
  | "timeout"
  | "servfail"
  | "refused"
  /** Truncated over UDP, complete over TCP. */
  | "truncated"
  /** Cut off within a record over UDP, complete over TCP. */
  | "cut-off"
  /** Answers with a different message id only. */
  | "wrong-id"
  /** Answers a different question only. */
  | "wrong-question"
  /** Sends a forged answer, then the real one. */
  | "forged-first"
  /** Repeats the question in lower case, over both transports. */
  | "lower-case"
  /** A forger that knows the id and the port, but not the case, answers first over UDP: with 203.0.113.66. Then the server answers. */
  | "forged-case"
  /** The same forger answers NXDOMAIN without a question. Then the server answers. */
  | "forged-nxdomain"
  /** Answers REFUSED without a question. */
  | "refused-without-question"
  | "malformed"
  /** Answers FORMERR to every query with EDNS. */
  | "no-edns"
  /** Answers as if the DO flag were lost on the way: with EDNS, but with neither DO nor AD. */
  | "no-do"
  | { delayMs: number };

/** `name` is in lower case, `sentName` as it was sent. */
export type ScriptedQuery = {
  name: string;
  sentName: string;
  type: string;
  transport: "udp" | "tcp";
  recursion: boolean;
};

export type ScriptedDns = {
  host: string;
  port: number;
  queries: ScriptedQuery[];
  /** Replaces the records of a name and type. An MX value is written "10 host", other values as in a zone file without quotes. */
  set(name: string, type: RecordType, ...values: string[]): void;
  /** A TXT record of several strings. */
  setText(name: string, ...strings: string[]): void;
  remove(name: string, type?: RecordType): void;
  /** Adds an SOA record with this minimum to negative answers below this name. */
  zone(origin: string, minimum?: number): void;
  behave(name: string, behavior: ScriptedBehavior | undefined): void;
  /** Delegates `origin` and all names below it to these hosts. */
  refer(origin: string, ...hosts: string[]): void;
  /** Whether the server supports EDNS; initially false. */
  edns: boolean;
  /** Marks names at and below the origin as signed: with EDNS and DO, their answers have the AD flag, as those of a validating resolver. */
  sign(origin: string, signed?: boolean): void;
  /** Whether answers have the AA flag; initially true. */
  authoritative: boolean;
  ttl: number;
  stop(): Promise<void>;
};

export async function startScriptedDns(at: { host?: string; port?: number } = {}): Promise<ScriptedDns> {
  const { host = "127.0.0.1" } = at;
  const records = new Map<string, Map<RecordType, Answer[]>>();
  const zones = new Map<string, number>();
  const referrals = new Map<string, string[]>();
  const behaviors = new Map<string, ScriptedBehavior>();
  const signed = new Map<string, boolean>();
  const timers = new Set<NodeJS.Timeout>();
  const connections = new Set<Socket>();

  const server = createServer((socket) => {
    connections.add(socket);
    socket.on("error", () => {});
    socket.on("close", () => connections.delete(socket));
    let received = Buffer.alloc(0);
    socket.on("data", (chunk) => {
      received = Buffer.concat([received, chunk]);
      while (received.length >= 2 && received.length >= received.readUInt16BE(0) + 2) {
        const length = received.readUInt16BE(0);
        const query = received.subarray(2, length + 2);
        received = received.subarray(length + 2);
        receive(query, "tcp", (reply) => {
          const framed = Buffer.alloc(2);
          framed.writeUInt16BE(reply.length);
          socket.write(Buffer.concat([framed, reply]));
        });
      }
    });
  });
  const udp = createSocket("udp4");
  const port = await listen();
  udp.on("message", (query, client) => {
    receive(query, "udp", (reply) => udp.send(reply, client.port, client.address));
  });

  const dns: ScriptedDns = {
    host,
    port,
    queries: [],
    authoritative: true,
    edns: false,
    ttl: 300,
    set(name, type, ...values) {
      put(
        name,
        type,
        values.map((value) => toAnswer(name, type, value, dns.ttl)),
      );
    },
    setText(name, ...strings) {
      put(name, "TXT", [{ name, type: "TXT", ttl: dns.ttl, data: strings }]);
    },
    remove(name, type) {
      if (type) records.get(name.toLowerCase())?.delete(type);
      else records.delete(name.toLowerCase());
    },
    zone: (origin, minimum = 60) => void zones.set(origin.toLowerCase(), minimum),
    sign: (origin, isSigned = true) => void signed.set(origin.toLowerCase(), isSigned),
    refer: (origin, ...hosts) => void referrals.set(origin.toLowerCase(), hosts),
    behave(name, behavior) {
      if (behavior === undefined) behaviors.delete(name.toLowerCase());
      else behaviors.set(name.toLowerCase(), behavior);
    },
    async stop() {
      for (const timer of timers) clearTimeout(timer);
      for (const socket of connections) socket.destroy();
      udp.close();
      server.close();
      await Promise.all([once(udp, "close"), once(server, "close")]);
    },
  };
  return dns;

  /** Binds one port for both transports, and tries another one if UDP cannot bind it. */
  async function listen(): Promise<number> {
    for (;;) {
      server.listen({ host, port: at.port ?? 0 });
      await once(server, "listening");
      const address = server.address();
      const bound = typeof address === "object" && address !== null ? address.port : 0;
      try {
        udp.bind({ address: host, port: bound });
        await once(udp, "listening");
        return bound;
      } catch (error) {
        if (at.port !== undefined) throw error;
        server.close();
        await once(server, "close");
      }
    }
  }

  function put(name: string, type: RecordType, answers: Answer[]): void {
    const types = records.get(name.toLowerCase()) ?? new Map<RecordType, Answer[]>();
    types.set(type, answers);
    records.set(name.toLowerCase(), types);
  }

  function receive(bytes: Buffer, transport: "udp" | "tcp", send: (reply: Buffer) => void): void {
    const query = decode(bytes);
    const question = query.questions?.[0];
    if (!question) return;
    const { name, type } = question;
    dns.queries.push({ name: name.toLowerCase(), sentName: name, type, transport, recursion: query.flag_rd });
    const behavior = behaviors.get(name.toLowerCase());
    if (typeof behavior !== "object") return misbehave(behavior, query, transport, send);
    const timer = setTimeout(() => {
      timers.delete(timer);
      send(encode(answer(query)));
    }, behavior.delayMs);
    timers.add(timer);
  }

  function misbehave(
    behavior: Exclude<ScriptedBehavior, object> | undefined,
    query: DecodedPacket,
    transport: "udp" | "tcp",
    send: (reply: Buffer) => void,
  ): void {
    const forged = (): Packet => ({ ...answer(query), id: ((query.id ?? 0) + 1) & 0xffff });
    switch (behavior) {
      case "timeout":
        return;
      case "servfail":
        return send(encode(failure(query, 2)));
      case "refused":
        return send(encode(failure(query, 5)));
      case "truncated":
        if (transport === "tcp") break;
        return send(encode({ ...failure(query, 0x0200) }));
      case "cut-off": {
        if (transport === "tcp") break;
        const reply = answer(query);
        const bytes = encode({ ...reply, flags: (reply.flags ?? 0) | 0x0200 });
        return send(bytes.subarray(0, bytes.length - 3));
      }
      case "wrong-id":
        return send(encode(forged()));
      case "wrong-question":
        return send(encode({ ...answer(query), questions: [{ name: "another.test", type: "A" }] }));
      case "forged-first":
        send(encode(forged()));
        break;
      case "lower-case":
        return send(encode(inOtherCase(answer(query), (name) => name.toLowerCase())));
      case "forged-case": {
        if (transport === "tcp") break;
        const { name } = query.questions![0]!;
        const answers: Answer[] = [{ name, type: "A", ttl: dns.ttl, data: "203.0.113.66" }];
        send(encode(inOtherCase({ ...answer(query), answers }, swapCase)));
        break;
      }
      case "forged-nxdomain":
        if (transport === "udp") send(encode({ ...failure(query, 3), questions: [] }));
        break;
      case "refused-without-question":
        return send(encode({ ...failure(query, 5), questions: [] }));
      case "malformed": {
        const reply = encode(answer(query));
        return send(reply.subarray(0, reply.length - 3));
      }
      case "no-edns":
        if ((query.additionals ?? []).length > 0) return send(encode(failure(query, 1)));
        break;
      case "no-do":
        return send(
          encode({ ...plainAnswer(query), additionals: [{ ...noOptions, flags: 0, flag_do: false } as Answer] }),
        );
    }
    send(encode(answer(query)));
  }

  function answer(query: DecodedPacket): Packet {
    return validated(query, plainAnswer(query));
  }

  function plainAnswer(query: DecodedPacket): Packet {
    const question = query.questions![0]!;
    const reply: Packet = { ...failure(query, 0), flags: (dns.authoritative ? 0x0400 : 0) | 0x0080 };
    const answers: Answer[] = [];
    let owner = question.name.toLowerCase();
    for (let hops = 0; hops < 20; hops++) {
      const types = records.get(owner);
      const found = types?.get(question.type) ?? [];
      answers.push(...found);
      const alias = question.type === "CNAME" || found.length > 0 ? undefined : types?.get("CNAME")?.[0];
      if (!alias || !("data" in alias)) break;
      answers.push(alias);
      owner = String(alias.data).toLowerCase();
    }
    if (answers.some((one) => one.type === question.type)) return { ...reply, answers };
    const referral = enclosing(referrals, owner);
    if (referral) {
      const authorities = referral[1].map(
        (host): Answer => ({ name: referral[0], type: "NS", ttl: dns.ttl, data: host }),
      );
      return { ...reply, flags: 0, answers, authorities };
    }
    const exists = [...records.keys()].some((name) => name === owner || name.endsWith(`.${owner}`));
    const zone = enclosing(zones, owner);
    const soa = { mname: "ns.test", rname: "root.test", serial: 1, refresh: 60, retry: 60, expire: 60 };
    const authorities: Answer[] = zone
      ? [{ name: zone[0], type: "SOA", ttl: zone[1], data: { ...soa, minimum: zone[1] } }]
      : [];
    return { ...reply, flags: (reply.flags ?? 0) | (exists ? 0 : 3), answers, authorities };
  }

  function failure(query: DecodedPacket, flags: number): Packet {
    const additionals: Answer[] =
      dns.edns && optOf(query) ? [{ ...noOptions, flags: dnssecOk, flag_do: true } as Answer] : [];
    return { type: "response", id: query.id, flags, questions: query.questions, additionals };
  }

  /** Adds the AD flag if the query asks for DNSSEC and the owners of all records are signed. */
  function validated(query: DecodedPacket, reply: Packet): Packet {
    const names = [query.questions![0]!.name, ...(reply.answers ?? []).map(({ name }) => name)];
    const secure = dns.edns && optOf(query) && names.every((name) => enclosing(signed, name.toLowerCase())?.[1]);
    return secure ? { ...reply, flags: (reply.flags ?? 0) | 0x0020 } : reply;
  }
}

function inOtherCase(reply: Packet, change: (name: string) => string): Packet {
  return { ...reply, questions: reply.questions!.map((one) => ({ ...one, name: change(one.name) })) };
}

function swapCase(name: string): string {
  return name.replace(/[a-z]/gi, (letter) =>
    letter === letter.toLowerCase() ? letter.toUpperCase() : letter.toLowerCase(),
  );
}

function enclosing<V>(map: Map<string, V>, name: string): [string, V] | undefined {
  return [...map]
    .filter(([origin]) => name === origin || name.endsWith(`.${origin}`))
    .sort((a, b) => b[0].length - a[0].length)[0];
}

const dnssecOk = 0x8000;
const noOptions = {
  ...{ type: "OPT", name: ".", udpPayloadSize: 1232, extendedRcode: 0, ednsVersion: 0, options: [] },
} as const;

function optOf(query: DecodedPacket): boolean {
  return (query.additionals ?? []).some((one) => one.type === "OPT" && (one.flags & dnssecOk) !== 0);
}

function toAnswer(name: string, type: RecordType, value: string, ttl: number): Answer {
  if (type === "TLSA") {
    const [usage, selector, matchingType, data = ""] = value.split(" ");
    const fields = { usage: Number(usage), selector: Number(selector), matchingType: Number(matchingType) };
    return { name, type, ttl, data: { ...fields, certificate: Buffer.from(data, "hex") } };
  }
  if (type === "MX") {
    const [preference, exchange = ""] = value.split(" ");
    return { name, type, ttl, data: { preference: Number(preference), exchange } };
  }
  if (type === "TXT") return { name, type, ttl, data: value.match(/.{1,255}/gs) ?? [""] };
  return { name, type: type as "A", ttl, data: value };
}
