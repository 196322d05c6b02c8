/** The database's clock as this process sees it: ids and due times of all nodes agree, whatever their own clocks say. */

export type Clock = { nowMs(): number; set(databaseNowMs: number): void };

export function createClock(): Clock {
  let offsetMs = 0;
  return {
    nowMs: () => Math.floor(Date.now() + offsetMs),
    set(databaseNowMs) {
      offsetMs = databaseNowMs - Date.now();
    },
  };
}
