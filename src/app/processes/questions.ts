/** Questions with answers over a channel of messages. Used by both sides: slot.ts and child.ts. */

export type Questions = {
  /** Sends a question with a new id. Rejects when no answer arrives in time, or the channel closes. */
  ask<T>(send: (id: number) => void, withinMs: number): Promise<T>;
  answered(id: number, value: unknown): void;
  closed(): void;
};

export function createQuestions(): Questions {
  const open = new Map<number, { resolve(value: never): void; reject(error: Error): void; timer: NodeJS.Timeout }>();
  let lastId = 0;
  return {
    ask<T>(send: (id: number) => void, withinMs: number): Promise<T> {
      const id = ++lastId;
      return new Promise<T>((resolve, reject) => {
        const timer = setTimeout(() => {
          open.delete(id);
          reject(new Error(`no answer within ${withinMs / 1000} s`));
        }, withinMs);
        open.set(id, { resolve, reject, timer });
        send(id);
      });
    },
    answered(id, value) {
      const question = open.get(id);
      if (!question) return;
      open.delete(id);
      clearTimeout(question.timer);
      question.resolve(value as never);
    },
    closed() {
      for (const { reject, timer } of open.values()) {
        clearTimeout(timer);
        reject(new Error("the process has ended"));
      }
      open.clear();
    },
  };
}
