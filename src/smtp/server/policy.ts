/** What the SMTP server asks of its owner: who may send, which recipients and messages are accepted, within which limits. Used by session.ts; inbound/
 * and submission/ decide. */
import type { Login } from "./auth.ts";
import type { ReceivingLimits } from "./receiving.ts";

export type RemoteClient = { ip: string; helo: string; tls: { protocol: string; cipher: string } | undefined };

export type IncomingMail = {
  client: RemoteClient;
  /** Who submits the message. Undefined on the port for mail of strangers. */
  account?: Account;
  /** Empty for the null reverse-path of bounces. */
  sender: string;
  recipients: readonly string[];
  /** The message after dot unstuffing, with CRLF line ends only. */
  message: Buffer;
};

/** What a client proved with AUTH. */
export type Account = {
  /** Shares memory and turns with all sessions of this owner. */
  owner: string;
  /** For the check before each message: the right to send may have ended. */
  login: Login;
  /** Called when the session ends, or gives up the login for TLS. */
  onEnd?(): void;
};

/** The rules of a port for submission (RFC 6409): clients authenticate before they send. */
export type Submission = {
  /** Whether a client without TLS may authenticate. */
  allowsPlaintext(client: RemoteClient): boolean;
  /** A reply refuses the login. */
  authenticate(login: Login, client: RemoteClient): Promise<Account | { reply: string }>;
};

/** Replies are complete lines: `250 2.1.5 ok`. */
export type ServerPolicy = {
  /** Called at RCPT: returns the normalized address, or the reply that refuses it. */
  recipient(
    address: string,
    about: { sender: string; client: RemoteClient; account?: Account },
  ): Promise<{ address: string } | { reply: string }>;
  /** Called after the final dot. Returns 2xx only after the message is stored durably. */
  message(mail: IncomingMail): Promise<string>;
};

export type SessionLimits = ReceivingLimits & {
  recipients: number;
  /** Refused or unknown commands before the server disconnects. */
  errors: number;
  /** Commands between two messages that are not part of a transaction, such as NOOP. */
  idleCommands: number;
  messages: number;
  commandMs: number;
  /** The longest time between two messages, and from the start to the first. */
  messageMs: number;
  /** The longest session. A message that has begun may end. */
  sessionMs: number;
};
