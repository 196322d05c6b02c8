/**
 * Types of objects that the platform provides: those of the browser's or of Node's type declarations where the user's compiler has
 * them, else the part that this package uses. So the package compiles without either of them.
 */
export type AbortSignal = typeof globalThis extends { AbortSignal: { prototype: infer T } }
  ? T
  : {
      readonly aborted: boolean;
      readonly reason: unknown;
      addEventListener(type: "abort", listener: () => void, options?: { once?: boolean }): void;
      removeEventListener(type: "abort", listener: () => void): void;
    };

export type Blob = typeof globalThis extends { Blob: { prototype: infer T } }
  ? T
  : { readonly size: number; readonly type: string; arrayBuffer(): Promise<ArrayBuffer> };

export type ReadableStream = typeof globalThis extends { ReadableStream: { prototype: infer T } }
  ? T
  : {
      getReader(): {
        read(): Promise<{ done: boolean; value?: unknown }>;
        cancel(reason?: unknown): Promise<void>;
      };
    };

export type URL = typeof globalThis extends { URL: { prototype: infer T } } ? T : { readonly href: string };

interface Headers {
  get(name: string): string | null;
}

export type Request = typeof globalThis extends { Request: { prototype: infer T } }
  ? T
  : { readonly method: string; readonly headers: Headers; readonly body: ReadableStream | null };

export type Response = typeof globalThis extends { Response: { prototype: infer T } }
  ? T
  : {
      readonly ok: boolean;
      readonly status: number;
      readonly headers: Headers;
      readonly body: ReadableStream | null;
      text(): Promise<string>;
    };

export type Fetch = typeof globalThis extends { fetch: infer T }
  ? T
  : (
      url: string,
      init?: {
        method?: string;
        headers?: Record<string, string>;
        body?: string | Uint8Array;
        signal?: AbortSignal;
        credentials?: string;
        redirect?: string;
      },
    ) => Promise<Response>;
