/** Reads the JSON of requests more strictly and more helpfully than Connect does by itself. One reader per method. */
import { type DescMessage, fromJson, fromJsonString, type JsonValue, type MessageShape } from "@bufbuild/protobuf";
import { freeNow } from "../ops/free.ts";
import { invalid, type Problem, type Violation } from "../rules/problem.ts";
import { fromProblem } from "./errors.ts";
import { calendarProblems, jsonProblems, mostProblems } from "./json-problems.ts";
import { mayRepeatKeys } from "./json-text.ts";
import { keepWritten, noteWritten } from "./written.ts";

/** In larger requests the library's own words name one field: a look at each would hold everybody up. */
const lookTwiceBytes = 256 * 1024;

// RFC 8259 §8.1: JSON between systems is UTF-8.
const utf8 = new TextDecoder("utf-8", { fatal: true });

/** The request that these bytes are, or a problem that names every field at fault. The bytes are given away. */
export function createRequestReader<D extends DescMessage>(request: D): (bytes: Uint8Array) => MessageShape<D> {
  return (bytes) => {
    const text = decode(bytes);
    freeNow(bytes);
    const json = parse(text);
    const times = calendarProblems(request, json);
    const repeats = mayRepeatKeys(text, json);
    const readAll = (ignoreUnknownFields: boolean) =>
      repeats
        ? fromJsonString(request, text, { ignoreUnknownFields })
        : fromJson(request, json, { ignoreUnknownFields });
    try {
      if (times.length === 0) return readAll(false);
    } catch {
      // Looked at closely below.
    }
    const problems = [...(text.length > lookTwiceBytes ? [] : jsonProblems(request, json)), ...times];
    if (problems.length > 0) throw invalid(problems.slice(0, mostProblems));
    try {
      const message = readAll(true);
      keepWritten(message, json);
      return message;
    } catch (error) {
      throw invalid([inWordsOf(error as Error)]);
    }
  };
}

/** What the library says, under the name of its field, and never more than a line of the request. */
function inWordsOf({ message }: Error): Violation {
  const [, field, reason] = /^cannot decode (?:message|field \S*?(\w+)) .*?from JSON: (.*)$/s.exec(message) ?? [];
  const description = (reason ?? "does not fit this method").slice(0, 200);
  return field === undefined ? whole(description) : { field: inCamelCase(field), description };
}

const contentNames = /"(?:body|html|attachments)"/;

function inCamelCase(name: string): string {
  return name.replace(/_([a-z])/g, (_, letter: string) => letter.toUpperCase());
}

/**
 * Takes the place of Connect's text decoder, the one step of its decoding that can be replaced. Connect names only the
 * first mistake, without its path, drops enum values that it does not know, and turns bad UTF-8 into question marks.
 */
export function createJsonReader(request: DescMessage, refused: () => void) {
  const isEmail = request.fields.some(({ name }) => name === "html");
  function check(bytes: Uint8Array | undefined): string {
    const text = decode(bytes);
    if (text.length > lookTwiceBytes) {
      // Without any content in it, the email will be refused, and the refusal names the unknown fields.
      if (isEmail && !contentNames.test(text)) noteWritten(parse(text));
      return text;
    }
    const json = parse(text);
    const fits = decodes(request, json) !== undefined;
    const problems = [...(fits ? [] : jsonProblems(request, json)), ...calendarProblems(request, json)];
    if (problems.length > 0) throw invalid(problems);
    if (!fits) noteWritten(json);
    return text;
  }

  return {
    decode(bytes?: Uint8Array): string {
      try {
        return check(bytes);
      } catch (error) {
        refused();
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

/** With nothing ignored: a field or an enum value that is unknown has the request looked at closely. */
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
