/** The shape of a status machine as data: `docs/states.md` is written from it and a test holds it against the database. */

export type StateMachine<State extends string = string, Event extends string = string> = {
  name: string;
  /** One sentence on whose status it is. */
  about: string;
  initial: State;
  /** Each state with its meaning, in the order of a life. */
  states: Readonly<Record<State, string>>;
  /** Each event with the findings that make it. */
  events: Readonly<Record<Event, string>>;
  /** What is not listed leaves the state as it is. */
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
