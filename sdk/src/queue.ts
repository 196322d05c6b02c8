/** posthorn.queue: the mail that waits, by destination. Retry, pause, resume or purge the mail of one destination. */
import type { Call } from "./call.ts";
import type {
  Destination,
  ListDestinationsRequest,
  ListDestinationsResponse,
  PauseDestinationResponse,
  PurgeDestinationResponse,
  ResumeDestinationResponse,
  RetryDestinationResponse,
} from "./gen/queue.ts";
import { type List, listByToken } from "./list.ts";
import type { CallOptions } from "./settings.ts";

export class Queue {
  readonly #call: Call;

  constructor(call: Call) {
    this.#call = call;
  }

  /** Lists the destinations with waiting mail, those with the most recipients first. */
  list(filter: ListDestinationsRequest = {}, options?: CallOptions): List<Destination, ListDestinationsResponse> {
    return listByToken(filter, (page) => this.#call("QueueService/ListDestinations", page, options));
  }

  /** Retries every waiting recipient of a destination now. Scheduled emails keep their time. */
  async retry(destination: string, options?: CallOptions): Promise<RetryDestinationResponse> {
    return await this.#call("QueueService/RetryDestination", { destination }, options);
  }

  /** Pauses the mail for a destination until `resume`. Paused mail still expires. */
  async pause(destination: string, options?: CallOptions): Promise<PauseDestinationResponse> {
    return await this.#call("QueueService/PauseDestination", { destination }, options);
  }

  /** Resumes the mail for a paused destination. */
  async resume(destination: string, options?: CallOptions): Promise<ResumeDestinationResponse> {
    return await this.#call("QueueService/ResumeDestination", { destination }, options);
  }

  /** Fails every waiting recipient of a destination. This cannot be undone. */
  async purge(destination: string, options?: CallOptions): Promise<PurgeDestinationResponse> {
    return await this.#call("QueueService/PurgeDestination", { destination }, options);
  }
}
