/** A deadline for replies from the network, used by the DNS client and the domain check. */

export type Deadline = { clear(): void };

/**
 * After a stall (a busy machine, a long task) the event loop runs expired timers before it reads its sockets, so a plain timer
 * would time out a reply that is already in the socket's buffer. This one lets the loop read its sockets once more first.
 */
export function setDeadline(afterMs: number, expire: () => void): Deadline {
  let expiry: NodeJS.Immediate | undefined;
  const timer = setTimeout(() => {
    expiry = setImmediate(expire);
  }, afterMs);
  return {
    clear() {
      clearTimeout(timer);
      clearImmediate(expiry);
    },
  };
}
