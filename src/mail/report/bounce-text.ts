/** Reads bounces without a machine-readable part: qmail, old Exchange and Exim, Domino, and mail appliances. Called by bounce.ts. */
import { fieldOf, type ReadMessage } from "../message/read.ts";
import type { BouncedRecipient } from "./fields.ts";

/** Returns an empty list if the message does not look like a bounce. */
export function readBounceText(message: ReadMessage, sender: string): BouncedRecipient[] {
  const listed = addressesIn(fieldOf(message.fields, "x-failed-recipients"));
  const text = withoutReturnedMessage(message.text);
  const all = `${message.subject}\n${text}`;
  const isDelay = delayed.test(all);
  // A null return path alone proves nothing: out-of-office replies have one too, with any text.
  const isBounce = isFromMailer(message) ? isDelay || failed.test(all) : sender === "" && failed.test(message.subject);
  if (listed.length === 0 && !isBounce) return [];
  const addresses = listed.length > 0 ? listed : addressesIn(text);
  const recipientOf = (address: string): BouncedRecipient => {
    const diagnostic = reasonFor(text, address);
    return {
      addresses: address === "" ? [] : [address],
      action: isDelay ? "delayed" : "failed",
      status: /\b([45]\.\d{1,3}\.\d{1,3})\b/.exec(diagnostic)?.[1] ?? "",
      diagnostic,
      remoteMta: "",
    };
  };
  return addresses.length > 0 ? addresses.map(recipientOf) : [recipientOf("")];
}

const maxText = 20_000;

/** The server's own text, without the copy of the message below it. */
function withoutReturnedMessage(text: string): string {
  const start = text.slice(0, maxText);
  const copy = copyStart.exec(start);
  return copy ? start.slice(0, copy.index) : start;
}

const copyStart =
  /^(?:-{2,} ?(?:below this line is a copy|this is a copy of|original message|the header of the original|returned message|message header|transcript of session follows.*$|the transcript of)|received: from |return-path:|>? ?message-id: ?<)/im;

function isFromMailer(message: ReadMessage): boolean {
  const { name, address } = message.from;
  return (
    /^(?:mailer-?daemon|mail-?daemon|postmaster|mdaemon|bounces?|mail-?delivery|ndr|noreply-?bounce)[@+.-]/i.test(
      `${address}@`.replace("@@", "@"),
    ) || /mail delivery (?:sub)?system|mail administrator|system administrator|mailer/i.test(name)
  );
}

const failed =
  /undeliver|not (?:be )?delivered|delivery (?:status notification \(failure\)|failure|failed|error|problem|has failed|unsuccessful)|mail delivery failed|failed delivery|failure notice|returned mail|returned to sender|returning message to sender|unable to deliver|wasn'?t able to deliver|could not deliver|couldn'?t be delivered|could not be delivered|did not reach|permanent (?:fatal )?error|user unknown|unknown user|no such user|mailbox (?:unavailable|not found)|unzustellbar|nicht zugestellt|konnte nicht zugestellt|zustellung fehlgeschlagen|n'a pas pu être (?:remis|distribué)|non remis|échec de (?:la )?remise|no se ha podido entregar|no se pudo entregar|non recapitabile|mancata consegna|não (?:foi )?entregue|недоставлен|не доставлен|退信|配信不能/i;

const delayed =
  /delivery (?:status notification \(delay\)|delayed|has been delayed)|warning: (?:message|could not send)|message (?:is )?delayed|still being retried|will (?:keep|continue) trying|this is a warning message only|no action is required/i;

const anAddress = /[^\s<>()[\]:;,"']{1,64}@[a-z0-9.-]{1,253}\.[a-z0-9-]{2,63}/gi;

function addressesIn(text: string): string[] {
  return [...new Set([...text.matchAll(anAddress)].map(([address]) => address.replace(/[.,]+$/, "")))].slice(0, 50);
}

/** The paragraph with the reason for an address: among the three after it, otherwise the first with a status code or known wording. */
function reasonFor(text: string, address: string): string {
  const at = address === "" ? -1 : text.toLowerCase().indexOf(address.toLowerCase());
  const after = at < 0 ? "" : text.slice(at + address.length);
  // An empty line may separate an address from its reason.
  const paragraphs = after.replace(/^[>:\s]+/, "").split(/\n\s*\n/);
  const near = paragraphs.slice(0, 3);
  const anywhere = text.split(/\n\s*\n/);
  const chosen =
    near.find((paragraph) => hasCode.test(paragraph)) ??
    near.find((paragraph) => hasReason.test(paragraph)) ??
    anywhere.find((paragraph) => hasCode.test(paragraph) || hasReason.test(paragraph)) ??
    near[0] ??
    "";
  return chosen.replace(/\s+/g, " ").trim().slice(0, 500);
}

const hasCode = /\b[45]\d\d[ :-]|\b[45]\.\d{1,3}\.\d{1,3}\b/;
const hasReason =
  /unknown|not recognized|not listed|no such|not found|does not exist|disabled|full|quota|denied|rejected|unavailable|unbekannt|inconnu|desconocid/i;
