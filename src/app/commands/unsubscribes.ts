/** posthorn unsubscribes: the recipients who have left a topic of a workspace, locally or at another instance. */
import type { JsonObject } from "@bufbuild/protobuf";
import type { Command, Option } from "../command.ts";
import { jsonLine, plain, write } from "../output.ts";
import { type Column, constantText, limitOf, listOptions, printList, timeText } from "./listing.ts";
import { readWords } from "./read-options.ts";
import { apiOptions, withApi } from "./with-api.ts";

type WireUnsubscribe = JsonObject & { address: string; topic: string; method: string; createdAt: string };

const json: Option = { type: "boolean", help: "print the API's response as JSON" };

const columns: Column<WireUnsubscribe>[] = [
  { head: "ADDRESS", of: ({ address }) => address },
  { head: "TOPIC", of: ({ topic }) => topic },
  { head: "METHOD", of: ({ method }) => constantText(method, "UNSUBSCRIBE_METHOD_") },
  { head: "SINCE", of: ({ createdAt }) => timeText(createdAt) },
];

const unsubscribesList: Command = {
  name: "unsubscribes list",
  summary: "List recipients who have unsubscribed from a topic, newest first.",
  options: {
    topic: { type: "string", help: "only this topic; * for those who left all" },
    search: { type: "string", help: "only addresses that contain this text" },
    ...listOptions,
    ...apiOptions,
  },
  async run(input) {
    const { options } = input;
    limitOf(options);
    const request = { topic: String(options.topic ?? ""), search: String(options.search ?? "") };
    const isFiltered = options.topic !== undefined || options.search !== undefined;
    const empty = isFiltered
      ? "No recipient who has unsubscribed matches."
      : "No recipient has unsubscribed. An email that is sent with --unsubscribe TOPIC has a link for it.";
    const list = { method: "SuppressionService/ListUnsubscribes", request, columns, empty };
    await withApi(input, (api) => printList(api, options, list));
  },
};

const wanted = ["an address", "a topic, or * for all"] as const;

const unsubscribesAdd: Command = {
  name: "unsubscribes add",
  summary: "Unsubscribe an address from a topic, or from all with *.",
  words: "ADDRESS TOPIC",
  options: { json, ...apiOptions },
  async run(input) {
    const [address, topic] = readWords(input.words, wanted, "unsubscribes add ada@example.net newsletter");
    await withApi(input, async (api) => {
      type Added = { unsubscribe: WireUnsubscribe };
      const { unsubscribe } = await api.call<Added>("SuppressionService/AddUnsubscribe", { address, topic });
      const line = `${plain(unsubscribe.address)} gets no email with the topic ${plain(unsubscribe.topic)}.\n`;
      await write(input.options.json ? jsonLine(unsubscribe) : line);
    });
  },
};

const unsubscribesRemove: Command = {
  name: "unsubscribes remove",
  summary: "Undo an unsubscription, if the recipient asked for it.",
  words: "ADDRESS TOPIC",
  options: { json, ...apiOptions },
  async run(input) {
    const [address, topic] = readWords(input.words, wanted, "unsubscribes remove ada@example.net newsletter");
    await withApi(input, async (api) => {
      const answer = await api.call<{ message: string }>("SuppressionService/RemoveUnsubscribe", { address, topic });
      await write(input.options.json ? jsonLine(answer) : `${plain(answer.message)}\n`);
    });
  },
};

export const unsubscribes = [unsubscribesList, unsubscribesAdd, unsubscribesRemove];
