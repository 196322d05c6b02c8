/** Pushes the new events of one log to its live streams: those that have caught up. Streams with the same format and filter share the bytes, so
 * an event costs a stream one write to its socket. A stream whose client does not take the bytes, or that falls behind, goes on by itself.
 * follower.ts creates one for each log. */
import { type SharedBytes, type StreamFormat, type StreamOutput, shareBytes } from "../http/stream-output.ts";
import type { CatchUp } from "./catch-up.ts";
import type { EncodedPage } from "./page.ts";
import { type Cuts, cursorText, isSameLog } from "./rules.ts";
import type { StoredEvent } from "./store.ts";

export type EventChoice = { types: readonly string[]; emailId: string | undefined };

export type LiveOptions = EventChoice & {
  /** The number of the last event that the stream has sent or skipped. */
  position: bigint;
  cuts: Cuts;
  inboundText: boolean;
  output: StreamOutput;
  /** Called when the stream must go on by itself. */
  wake(): void;
};

export type LiveStream = {
  position(): bigint;
  /** When the last events were pushed, as a value of performance.now(); undefined before. */
  pushedAt(): number | undefined;
  /** Ends the pushing. */
  leave(): void;
  /** Must be called when the client has taken the bytes. */
  release(): void;
};

export type LiveDeps = {
  workspaceId: string;
  log: {
    head(): bigint;
    cuts(): Cuts;
    /** The events after a number; undefined when some of them are no longer in memory. */
    after(number: bigint): readonly StoredEvent[] | undefined;
  };
  catchUp: Pick<CatchUp, "pushTurn" | "pageInMemory" | "keep">;
};

/** With this many new events or fewer, they do not wait for streams that catch up. */
export const liveEvents = 20;
/** As long as the other steps that share the event loop. */
const stepMs = 0.5;
/** Half of what Node buffers for a socket before it asks to wait. The stream writes a larger event by itself, in slices. */
const maxPushBytes = 32 * 1024;

type Member = {
  position: bigint;
  pushedAt: number | undefined;
  output: StreamOutput;
  wake(): void;
  release(): void;
};

type Group = EventChoice & {
  key: string;
  cuts: Cuts;
  inboundText: boolean;
  format: StreamFormat;
  members: Set<Member>;
  pushing: boolean;
};

/** What to send to the streams at one position. Without `shared`, none of the events match. */
type Batch = { reached: bigint; shared?: SharedBytes; page?: EncodedPage };

export function createLive({ workspaceId, log, catchUp }: LiveDeps) {
  const groups = new Map<string, Group>();

  function groupOf({ types, emailId, cuts, inboundText, output }: LiveOptions): Group {
    const format = output.format();
    const key = `${format.form} ${format.compression} ${inboundText} ${choiceKey({ types, emailId })} ${cuts.at(-1)}`;
    const known = groups.get(key);
    if (known) return known;
    const group = { key, types, emailId, cuts, inboundText, format, members: new Set<Member>(), pushing: false };
    groups.set(key, group);
    return group;
  }

  function remove(group: Group, member: Member): void {
    group.members.delete(member);
    if (group.members.size === 0 && groups.get(group.key) === group) groups.delete(group.key);
  }

  async function pushTo(group: Group): Promise<void> {
    // The passes in progress go on until no stream is behind.
    if (group.pushing) return;
    group.pushing = true;
    try {
      while (isBehind(group)) await pass(group);
    } catch {
      // The streams meet the same error by themselves, and report it.
      for (const member of group.members) handOver(group, member);
    } finally {
      group.pushing = false;
    }
  }

  function isBehind({ members }: Group): boolean {
    for (const { position } of members) if (position < log.head()) return true;
    return false;
  }

  /** One push to each stream of the group that is behind. */
  async function pass(group: Group): Promise<void> {
    const members = group.members.values();
    for (let next = members.next(); !next.done; ) {
      const { position } = next.value;
      if (position >= log.head()) {
        next = members.next();
        continue;
      }
      const batch = await prepare(group, position);
      const release = batch?.page && catchUp.keep(workspaceId, batch.page);
      const usable = batch?.page && !release ? undefined : batch;
      const until = performance.now() + stepMs;
      do {
        push(group, next.value, usable);
        next = members.next();
      } while (!next.done && next.value.position === position && performance.now() < until);
      release?.();
    }
  }

  /** Undefined: the streams must read the events by themselves. */
  async function prepare(group: Group, position: bigint): Promise<Batch | undefined> {
    const matches = matcher(group);
    const found = log.after(position);
    if (!found || !isSameLog(group.cuts, log.cuts())) return undefined;
    if (!found.some(matches)) return { reached: position + BigInt(found.length) };
    await catchUp.pushTurn(workspaceId, found.length <= liveEvents ? "live" : "catching up");
    // On a busy node more events arrive before the turn.
    const recent = log.after(position);
    const cuts = log.cuts();
    if (!recent || !isSameLog(group.cuts, cuts)) return undefined;
    const reached = position + BigInt(recent.length);
    const events = recent.filter(matches);
    const key = recentKey(group, cursorText(position, cuts), cursorText(reached, cuts));
    const page = await catchUp.pageInMemory(workspaceId, key, { events, reached, cuts });
    const encoded = await page.encoded(group.format, { inboundText: group.inboundText });
    const { bytes, offsets } = encoded;
    let count = events.length;
    while (offsets[count]! > maxPushBytes) count--;
    if (count === 0) return undefined;
    return {
      page: encoded,
      shared: shareBytes(bytes.subarray(0, offsets[count])),
      reached: count === events.length ? reached : BigInt(events[count - 1]!.number),
    };
  }

  function push(group: Group, member: Member, batch: Batch | undefined): void {
    // The stream may have left while the batch was prepared.
    if (!group.members.has(member)) return;
    if (!batch) return handOver(group, member);
    member.position = batch.reached;
    if (!batch.shared) return;
    member.pushedAt = performance.now();
    if (member.output.push(batch.shared)) return;
    member.release = catchUp.keep(workspaceId, batch.page!) ?? member.release;
    handOver(group, member);
  }

  function handOver(group: Group, member: Member): void {
    remove(group, member);
    member.wake();
  }

  return {
    /** The stream must be at the newest event. */
    add(options: LiveOptions): LiveStream {
      const { position, output, wake } = options;
      const group = groupOf(options);
      const member: Member = { position, pushedAt: undefined, output, wake, release() {} };
      group.members.add(member);
      return {
        position: () => member.position,
        pushedAt: () => member.pushedAt,
        leave: () => remove(group, member),
        release: () => member.release(),
      };
    },
    /** Pushes the events that were added to the log. */
    push(): void {
      for (const group of groups.values()) void pushTo(group);
    },
  };
}

/** Streams with the same choice share their pages. A space: all events. */
export function choiceKey({ types, emailId }: EventChoice): string {
  return `${types.join()} ${emailId ?? ""}`;
}

export function matcher({ types, emailId }: EventChoice): (event: StoredEvent) => boolean {
  return (event) =>
    (types.length === 0 || types.includes(event.type)) && (emailId === undefined || event.emailId === emailId);
}

/** The key of a page of events that are in memory. */
export function recentKey(choice: EventChoice, after: string, reached: string): string {
  return `recent ${choiceKey(choice)} ${after} ${reached}`;
}
