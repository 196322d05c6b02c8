/** Encodes answers with large fields as JSON in slices. protobuf-es needs seconds for the base64 text of a 20 MB field, and even a native
 * encoder blocks the event loop for tens of milliseconds. Used by unary-json.ts and router.ts. */
import { randomBytes } from "node:crypto";
import { type DescMessage, type MessageShape, ScalarType, toJsonString } from "@bufbuild/protobuf";
import { jsonWriteOptions } from "./stream-output.ts";

/** A piece of JSON: text as it is, bytes to encode as base64, or a string whose characters are still to be escaped. */
export type JsonPiece = string | { base64: Uint8Array } | { unescaped: string };

/** Larger fields become pieces of their own. */
const largeFieldLength = 64 * 1024;
/** A multiple of 3, so that the base64 text of a slice needs no padding. Takes about half a millisecond. */
const sliceLength = 192 * 1024;

type LargeField = { name: string; value: string | Uint8Array };

export type JsonEncoder<D extends DescMessage> = {
  /** The large fields of a message, each a string or bytes at its top level. */
  largeFields(message: MessageShape<D>): LargeField[];
  /** The JSON of a message with its large fields as pieces. */
  pieces(message: MessageShape<D>, large: readonly LargeField[]): JsonPiece[];
};

export function createJsonEncoder<D extends DescMessage>(desc: D): JsonEncoder<D> {
  const names = desc.fields
    .filter((field) => field.fieldKind === "scalar" && isLengthy(field.scalar))
    .map((field) => field.localName);
  return {
    largeFields(message) {
      const found: LargeField[] = [];
      for (const name of names) {
        const value = (message as Record<string, unknown>)[name] as string | Uint8Array | undefined;
        if (value !== undefined && value.length > largeFieldLength) found.push({ name, value });
      }
      return found;
    },
    pieces(message, large) {
      const tokens = withTokens(message as Record<string, unknown>, large);
      try {
        return split(toJsonString(desc, message, jsonWriteOptions), tokens);
      } finally {
        for (const { name, value } of large) (message as Record<string, unknown>)[name] = value;
      }
    },
  };
}

function isLengthy(type: ScalarType): boolean {
  return type === ScalarType.STRING || type === ScalarType.BYTES;
}

type Tokens = Map<string, string | Uint8Array>;

/** Puts a random token in place of each large field. Returns the values by the text of their token in JSON. */
function withTokens(message: Record<string, unknown>, large: readonly LargeField[]): Tokens {
  const tokens: Tokens = new Map();
  for (const { name, value } of large) {
    const token = randomBytes(24);
    const text = token.toString("base64");
    message[name] = typeof value === "string" ? text : token;
    tokens.set(text, value);
  }
  return tokens;
}

function split(json: string, tokens: Tokens): JsonPiece[] {
  const pieces: JsonPiece[] = [];
  let rest = json;
  for (const [token, value] of [...tokens].sort(([a], [b]) => json.indexOf(a) - json.indexOf(b))) {
    const at = rest.indexOf(token);
    pieces.push(rest.slice(0, at), typeof value === "string" ? { unescaped: value } : { base64: value });
    rest = rest.slice(at + token.length);
  }
  return [...pieces, rest];
}

/** The bytes of the pieces. Waits for `turn` before each slice that it encodes. */
export async function* encodeSlices(
  pieces: readonly JsonPiece[],
  turn: () => Promise<void>,
): AsyncGenerator<Uint8Array> {
  for (const piece of pieces) {
    if (typeof piece === "string") {
      yield Buffer.from(piece);
      continue;
    }
    const value = "base64" in piece ? piece.base64 : piece.unescaped;
    for (let at = 0; at < value.length; ) {
      await turn();
      const end = typeof value === "string" ? endOfSlice(value, at) : at + sliceLength;
      yield typeof value === "string" ? escaped(value.slice(at, end)) : base64Of(value.subarray(at, end));
      at = end;
    }
  }
}

/** A slice must not end between the two halves of a character. */
function endOfSlice(text: string, at: number): number {
  const end = at + sliceLength;
  const last = text.charCodeAt(end - 1);
  return last >= 0xd800 && last <= 0xdbff ? end - 1 : end;
}

function escaped(text: string): Buffer {
  return Buffer.from(JSON.stringify(text).slice(1, -1));
}

function base64Of({ buffer, byteOffset, byteLength }: Uint8Array): Buffer {
  return Buffer.from(Buffer.from(buffer, byteOffset, byteLength).toString("base64"), "latin1");
}
