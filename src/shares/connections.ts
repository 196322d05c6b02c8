/** The connections of strangers to one port: how many an address may hold, and which one is closed when the port is full. Every port
 * that takes connections uses it: HTTP, inbound SMTP and DNS over TCP. */
import { isWithin, networksOf } from "./address.ts";
import { leftFor } from "./share.ts";

export type ConnectionLimits = {
  /** Connections of the port. */
  total: number;
  /** An address may hold this many times the number that is free: with 3, a single address gets at most three quarters of all. */
  factor: number;
  /** The most for one IPv4 address or one IPv6 /64. An IPv6 /56 may hold four times as many. */
  perAddress: number;
  /** Ranges of our own proxies, in CIDR notation, or a function that recognizes them. They count toward the total only. */
  exempt?: readonly string[] | ((address: string) => boolean);
  /** Whether an idle connection of our own proxies may be closed too. For ports whose proxies keep idle connections in reserve. */
  exemptGiveWay?: boolean;
};

export type Connection = {
  /** How long the peer has done nothing that makes progress; undefined while the connection works for its peer. */
  idleMs(): number | undefined;
  /** Ends the connection so that another peer gets its place. */
  giveWay(): void;
};

export type ConnectionShares = {
  /** A function that gives the place back, or undefined when the address has used up its share. */
  admit(address: string, connection: Connection): (() => void) | undefined;
  count(): number;
};

/** A full port closes a connection that was idle for this long, even if its address has only one. */
const lonelyIdleMs = 10_000;
const addressesPerSite = 4;

/** The connections of one address, each with the function that gives its place back. */
type Holder = Map<Connection, () => void>;

export function createConnectionShares(limits: ConnectionLimits): ConnectionShares {
  const byAddress = new Map<string, Holder>();
  const bySite = new Map<string, number>();
  let total = 0;
  const { exempt = [], exemptGiveWay = false } = limits;
  const isExempt = typeof exempt === "function" ? exempt : (address: string) => isWithin(address, exempt);

  function mayHold(held: number, most: number): boolean {
    // A full port is judged as if one place were free, which closeOne then provides.
    const used = Math.min(total, limits.total - 1);
    return held < most && leftFor({ limit: limits.total, used, held, factor: limits.factor }) > 0;
  }

  function hasShare(address: string, site: string): boolean {
    if (!mayHold(byAddress.get(address)?.size ?? 0, limits.perAddress)) return false;
    return address === site || mayHold(bySite.get(site) ?? 0, limits.perAddress * addressesPerSite);
  }

  /** Closes a connection of the address that holds the most on a full port. False when no connection may be closed. */
  function closeOne(): boolean {
    const idlest = crowdedIdlest() ?? idlestOf(byAddress.values());
    if (!idlest || (!idlest.isCrowd && idlest.idleMs < lonelyIdleMs)) return false;
    idlest.release();
    idlest.connection.giveWay();
    return true;
  }

  /** Of the address with most connections among those that have an idle one: busy connections must not protect the idle ones of others. */
  function crowdedIdlest(): Idle | undefined {
    let size = 1;
    let found: Idle | undefined;
    for (const holder of byAddress.values()) {
      const idlest = holder.size > size ? idlestOf([holder]) : undefined;
      if (!idlest) continue;
      size = holder.size;
      found = idlest;
    }
    return found;
  }

  function hold(address: string, site: string, connection: Connection): () => void {
    const holder = byAddress.get(address) ?? new Map();
    byAddress.set(address, holder);
    bySite.set(site, (bySite.get(site) ?? 0) + 1);
    total += 1;
    const release = () => {
      if (!holder.delete(connection)) return;
      total -= 1;
      if (holder.size === 0) byAddress.delete(address);
      const left = bySite.get(site)! - 1;
      if (left > 0) bySite.set(site, left);
      else bySite.delete(site);
    };
    holder.set(connection, release);
    return release;
  }

  function holdExempt(): () => void {
    let released = false;
    total += 1;
    return () => {
      if (!released) total -= 1;
      released = true;
    };
  }

  return {
    admit(text, connection) {
      const ours = isExempt(text);
      const { address, site } = networksOf(text);
      if (!ours && !hasShare(address, site)) return undefined;
      if (total >= limits.total && !closeOne()) return undefined;
      return ours && !exemptGiveWay ? holdExempt() : hold(address, site, connection);
    },
    count: () => total,
  };
}

type Idle = { connection: Connection; idleMs: number; isCrowd: boolean; release(): void };

function idlestOf(holders: Iterable<Holder>): Idle | undefined {
  let idlest: Idle | undefined;
  for (const holder of holders)
    for (const [connection, release] of holder) {
      const idleMs = connection.idleMs();
      if (idleMs !== undefined && (!idlest || idleMs > idlest.idleMs))
        idlest = { connection, idleMs, isCrowd: holder.size > 1, release };
    }
  return idlest;
}
