/** Reads JSON requests more strictly than Connect does and reports every wrong field: `createRequestReader` for unary-json.ts,
 * `createJsonReader` for router.ts, and `readSmallJson` for pages that are not RPCs. */
import { type DescMessage, fromJson, fromJsonString, type JsonValue, type MessageShape } from "@bufbuild/protobuf";
import { freeNow } from "../ops/free.ts";
import { invalid, Problem, type Violation } from "../ops/problem.ts";
import { attachFiles, cutFiles } from "./cut-files.ts";
import { fromProblem } from "./errors.ts";
import { calendarProblems, jsonProblems, maxProblems } from "./json-problems.ts";
import type { Request } from "./server.ts";
import { noteJson, rememberJson } from "./unknown-fields.ts";

/** In a larger request only the library's error for the first wrong field is reported: checking each field would block the event loop. */
const maxCheckedLength = 256 * 1024;
/** The largest body that `readSmallJson` accepts. */
const maxSmallBytes = 16 * 1024;
/** `readSmallJson` reads and drops a larger body up to this size, so that the client gets the error. */
const maxDroppedBytes = 1024 * 1024;

// RFC 8259 §8.1: JSON between systems is UTF-8.
const utf8 = new TextDecoder("utf-8", { fatal: true });

/** Returns a function that decodes a request, or throws a problem that names every wrong field. It frees the bytes it is given. */
export function createRequestReader<D extends DescMessage>(request: D): (bytes: Uint8Array) => MessageShape<D> {
  const hasFiles = typesWithFiles.has(request.name);

  /** With the files of the request taken out of its text. Undefined: the text is read as a whole, which reports its problem. */
  function readCut(bytes: Uint8Array): MessageShape<D> | undefined {
    const cut = hasFiles ? cutFiles(bytes) : undefined;
    if (!cut) return undefined;
    try {
      const message = read(decode(cut.rest));
      return attachFiles(message, cut.files) ? message : undefined;
    } catch {
      return undefined;
    }
  }

  function read(text: string): MessageShape<D> {
    const json = parse(text);
    const wrongDates = calendarProblems(request, json);
    const repeats = mayRepeatKeys(text, json);
    const readAll = (ignoreUnknownFields: boolean) =>
      repeats
        ? fromJsonString(request, text, { ignoreUnknownFields })
        : fromJson(request, json, { ignoreUnknownFields });
    try {
      if (wrongDates.length === 0) return readAll(false);
    } catch {
      // The fields are checked one by one below.
    }
    const problems = [...(text.length > maxCheckedLength ? [] : jsonProblems(request, json)), ...wrongDates];
    if (problems.length > 0) throw invalid(problems.slice(0, maxProblems));
    try {
      const message = readAll(true);
      rememberJson(message, json);
      return message;
    } catch (error) {
      throw invalid([violationFrom(error as Error)]);
    }
  }

  return (bytes) => {
    const message = readCut(bytes);
    const text = message ? "" : decode(bytes);
    freeNow(bytes);
    return message ?? read(text);
  };
}

/** Requests whose handlers use fileOf. */
const typesWithFiles = new Set(["SendEmailRequest", "SendEmailBatchRequest"]);

/** The library's error as a violation of its field. Long messages are cut, since they quote the request. */
function violationFrom({ message }: Error): Violation {
  const [, field, reason] = /^cannot decode (?:message|field \S*?(\w+)) .*?from JSON: (.*)$/s.exec(message) ?? [];
  const description = (reason ?? "does not match the request of this method").slice(0, 200);
  return field === undefined ? whole(description) : { field: toCamelCase(field), description };
}

function toCamelCase(name: string): string {
  return name.replace(/_([a-z])/g, (_, letter: string) => letter.toUpperCase());
}

const contentNames = /"(?:body|html|attachments)"/;

/**
 * Replaces Connect's text decoder, the only step of its decoding that can be replaced. Connect reports only the first
 * wrong field, without its path, drops unknown enum values, and turns invalid UTF-8 into replacement characters.
 */
export function createJsonReader(request: DescMessage, onRefused: () => void) {
  const isEmail = request.fields.some(({ name }) => name === "html");
  function check(bytes: Uint8Array | undefined): string {
    const text = decode(bytes);
    if (text.length > maxCheckedLength) {
      // An email without any content is refused, and the error names its unknown fields.
      if (isEmail && !contentNames.test(text)) noteJson(parse(text));
      return text;
    }
    const json = parse(text);
    const fits = decodes(request, json) !== undefined;
    const problems = [...(fits ? [] : jsonProblems(request, json)), ...calendarProblems(request, json)];
    if (problems.length > 0) throw invalid(problems);
    if (!fits) noteJson(json);
    return text;
  }

  return {
    decode(bytes?: Uint8Array): string {
      try {
        return check(bytes);
      } catch (error) {
        onRefused();
        throw fromProblem(error as Problem);
      }
    },
  };
}

function decode(bytes: Uint8Array | undefined): string {
  try {
    return utf8.decode(bytes);
  } catch {
    throw invalid([whole("is not valid UTF-8")]);
  }
}

function parse(text: string): JsonValue {
  try {
    return JSON.parse(text) as JsonValue;
  } catch (error) {
    throw invalid([whole(`is not valid JSON: ${(error as Error).message}`)]);
  }
}

/** Unknown fields and enum values fail here too, so that the fields are then checked one by one. */
function decodes<D extends DescMessage>(request: D, json: JsonValue): MessageShape<D> | undefined {
  try {
    return fromJson(request, json, { ignoreUnknownFields: false });
  } catch {
    return undefined;
  }
}

function whole(description: string): Violation {
  return { field: "(request)", description };
}

/**
 * Whether an object in the text may contain a key twice, which JSON.parse accepts silently. False is certain. After true the text must be
 * parsed character by character, which takes longer than all other steps together. Each key in the text ends with a quote, optional
 * whitespace and a colon: if the text has no more of these than the parsed value has keys, no key is repeated.
 */
export function mayRepeatKeys(text: string, json: JsonValue): boolean {
  return colonsAfterQuotes(text) > keysIn(json);
}

function colonsAfterQuotes(text: string): number {
  let colons = 0;
  for (let at = text.indexOf('"'); at >= 0; at = text.indexOf('"', at + 1)) {
    let next = at + 1;
    while (isBlank(text.charCodeAt(next))) next++;
    if (text.charCodeAt(next) === colon) colons++;
  }
  return colons;
}

/** Without recursion: a text may be nested deeper than the stack allows. */
function keysIn(json: JsonValue): number {
  let keys = 0;
  const open = [json];
  while (open.length > 0) {
    const value = open.pop();
    if (typeof value !== "object" || value === null) continue;
    const inners = Array.isArray(value) ? value : Object.values(value);
    if (!Array.isArray(value)) keys += inners.length;
    for (const inner of inners) if (typeof inner === "object") open.push(inner);
  }
  return keys;
}

const colon = 58;

/** RFC 8259 §2: space, tab, line feed and carriage return. */
function isBlank(code: number): boolean {
  return code === 32 || code === 9 || code === 10 || code === 13;
}

/** Reads a small JSON object from a request's body. Called by people/pages.ts. */
export async function readSmallJson(request: Request): Promise<Record<string, unknown>> {
  // A form on another site cannot send this type without a CORS preflight.
  if (!/^application\/json(;|$)/i.test(request.headers["content-type"] ?? ""))
    throw invalid([{ field: "Content-Type", description: "must be application/json" }]);
  const body = await readBody(request);
  try {
    const read: unknown = JSON.parse(body.toString("utf8"));
    if (typeof read === "object" && read !== null && !Array.isArray(read)) return read as Record<string, unknown>;
  } catch {
    // Invalid JSON gets the same error as JSON that is not an object.
  }
  throw invalid([{ field: "(request)", description: "must be a JSON object" }]);
}

async function readBody(request: Request): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  await new Promise<void>((resolve, reject) => {
    request.on("data", (chunk: Buffer) => {
      bytes += chunk.length;
      if (bytes <= maxSmallBytes) chunks.push(chunk);
      else if (bytes > maxDroppedBytes) request.destroy();
    });
    request.once("end", resolve);
    for (const broken of ["close", "error"])
      request.once(broken, () => reject(new Problem("canceled", "The request ended before its body was complete.")));
  });
  if (bytes > maxSmallBytes)
    throw new Problem("resource_exhausted", `The body is larger than the limit of ${maxSmallBytes} bytes.`);
  return Buffer.concat(chunks);
}
