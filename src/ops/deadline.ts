/**
 * A deadline for replies from the network. After a stall (a busy machine, a long task) an event loop runs expired timers before it reads its
 * sockets, so a plain timer would call a reply late that has been waiting in the socket. This one reads the sockets once more first.
 */
export type Deadline = { clear(): void };

export function setDeadline(afterMs: number, expire: () => void): Deadline {
  let last: NodeJS.Immediate | undefined;
  const timer = setTimeout(() => {
    last = setImmediate(expire);
  }, afterMs);
  return {
    clear() {
      clearTimeout(timer);
      clearImmediate(last);
    },
  };
}
