/** What a recipient can unsubscribe from: topics, and how a recipient's address is shown on the page of a link. Used by the files of this
 * folder and by emails/rules. */

/** Stands for all topics of a workspace, also later ones. No email can have it. */
export const allTopics = "*";

const maxTopic = 64;

/** Lower case only: with "News" and "news" as two topics, a recipient who left one would get the other. */
export function topicProblem(topic: string): string | undefined {
  if (topic === "") return "is required: a name such as newsletter";
  if (topic.length > maxTopic) return `has ${topic.length} characters, at most ${maxTopic} are allowed`;
  if (!/^[a-z0-9](?:[a-z0-9._-]*[a-z0-9])?$/.test(topic))
    return "must consist of lower-case letters, digits, -, _ and ., and start and end with a letter or digit";
  return undefined;
}

/** The address in a form that its owner recognizes. People who get a forwarded email can open the page, too. */
export function maskAddress(address: string): string {
  const at = address.lastIndexOf("@");
  const [first = ""] = address.slice(0, at);
  return `${at > 1 ? first : ""}•••${address.slice(at)}`;
}
