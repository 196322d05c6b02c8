/** The database's clock as this process knows it, so that ids and due times agree on all nodes even where their clocks differ. */

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
