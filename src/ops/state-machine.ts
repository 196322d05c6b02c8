/** A status machine as data. `docs/states.md` is generated from it, and delivery/store/states.test.ts compares it with the SQL. */

export type StateMachine<State extends string = string, Event extends string = string> = {
  name: string;
  /** One sentence that names the thing whose status this is. */
  about: string;
  initial: State;
  /** Each state with its meaning, in the usual order of occurrence. */
  states: Readonly<Record<State, string>>;
  /** Each event with its cause. */
  events: Readonly<Record<Event, string>>;
  /** An event without a transition from the current state leaves that state unchanged. */
  transitions: readonly { from: State; event: Event; to: State }[];
};

/** The state after an event. */
export function step<State extends string, Event extends string>(
  machine: StateMachine<State, Event>,
  state: State,
  event: Event,
): State {
  return machine.transitions.find((row) => row.from === state && row.event === event)?.to ?? state;
}
