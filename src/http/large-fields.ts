/** Prepares large answers that Connect encodes: counts their memory, and encodes large fields of a JSON answer in slices before Connect
 * does the rest in one step. Called by router.ts; unary-json.ts writes the slices itself. */
import { AsyncLocalStorage } from "node:async_hooks";
import { create, type DescMessage, type DescMethod } from "@bufbuild/protobuf";
import type { LoopShare } from "../shares/loop-share.ts";
import { createJsonEncoder, encodeSlices, type JsonPiece } from "./answer-json.ts";
import type { AnswerHold } from "./answer-memory.ts";
import { isReadOnly } from "./errors.ts";

export type AnswerContext = { isJson: boolean; hold: AnswerHold; owner: string };

/** Connect takes a handler's answer and encodes it in separate steps that share only the asynchronous context. */
const current = new AsyncLocalStorage<{ encoded?: Uint8Array }>();

export function withLargeFields<T>(work: () => T): T {
  return current.run({}, work);
}

/** A message of this size and JSON, binary and enveloped form is in memory up to this many times. */
const copies = { json: 4, binary: 3 };

/** Returns a function that prepares the answer of a handler, and returns the message for Connect to encode. */
export function createAnswerPreparer(method: DescMethod, loop: LoopShare) {
  const desc: DescMessage = method.output;
  const encoder = createJsonEncoder(desc);
  // The answer to a call that has stored something must not be refused.
  const countsAnswers = isReadOnly(method);
  return async (answer: unknown, { isJson, hold, owner }: AnswerContext): Promise<unknown> => {
    const message = create(desc, answer as never);
    const large = encoder.largeFields(message);
    if (countsAnswers)
      await hold.hold(approximateBytes(message) * (isJson ? copies.json : copies.binary), { isLoaded: true });
    const note = current.getStore();
    if (!isJson || !note || large.length === 0) return message;
    note.encoded = await encode(encoder.pieces(message, large), () => loop.turn(owner));
    return create(desc);
  };
}

/** What the texts and bytes of a message take, and a little for each other value. */
function approximateBytes(value: unknown): number {
  if (typeof value === "string" || value instanceof Uint8Array) return value.length;
  if (typeof value !== "object" || value === null) return 8;
  let sum = 0;
  for (const one of Array.isArray(value) ? value : Object.values(value)) sum += approximateBytes(one);
  return sum;
}

async function encode(pieces: readonly JsonPiece[], turn: () => Promise<void>): Promise<Uint8Array> {
  const slices: Uint8Array[] = [];
  for await (const slice of encodeSlices(pieces, turn)) slices.push(slice);
  return Buffer.concat(slices);
}

/** Replaces Connect's text encoder, the only step of its encoding that can be replaced: an answer that is encoded already is used as is. */
export const largeFieldEncoder = {
  encode(json: string): Uint8Array {
    const note = current.getStore();
    const encoded = note?.encoded;
    if (!encoded) return utf8.encode(json);
    note.encoded = undefined;
    return encoded;
  },
};

const utf8 = new TextEncoder();
