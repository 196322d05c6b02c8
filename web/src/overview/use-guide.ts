/** Whether the page shows the guide, and what of it is done. It is apart from guide.tsx, which is loaded only when the guide is shown. */
import { useQuery } from "@connectrpc/connect-query";
import { useEffect, useRef } from "react";
import { DomainService } from "../../../src/gen/v1/domain_pb.ts";
import { EmailService } from "../../../src/gen/v1/email_pb.ts";
import { KeyService } from "../../../src/gen/v1/key_pb.ts";
import { WebhookService } from "../../../src/gen/v1/webhook_pb.ts";
import { useMayWrite } from "../api/session.ts";
import { isEstablished, ownDomain, progressOf } from "./progress.ts";
import { remember, useRemembered } from "./remembered.ts";

const pollIntervalMs = 4_000;
const sentPollMs = 2_000;

/** The guide is shown from the first visit until the person dismisses it or finds all steps done. A workspace that sends already is not
 * guided. */
export function useGuide() {
  const remembered = useRemembered();
  const mayWrite = useMayWrite();
  const isWanted = mayWrite && remembered.state !== "dismissed";
  const emails = useQuery(
    EmailService.method.listEmails,
    { pageSize: 1 },
    { enabled: isWanted, refetchInterval: pollIntervalMs },
  );
  const { progress, queries } = useProgress(isWanted);
  const isFirst = useRef(true);
  useEffect(() => {
    if (!isWanted || !progress) return;
    const isOver = isEstablished(progress, remembered) || progress.current === undefined;
    // Steps that become done while the guide is open stay visible.
    if (isOver && isFirst.current) remember({ state: "dismissed" });
    else if (remembered.state === undefined) remember({ state: "open" });
    isFirst.current = false;
  }, [isWanted, progress, remembered]);
  const isNew = emails.data && emails.data.data.length === 0;
  const isGuided = isWanted && (remembered.state === "open" || (isNew === true && progress === undefined));
  return { isNew, isGuided, progress, queries };
}

export type GuideState = ReturnType<typeof useGuide>;

/** Reads what the steps need. */
function useProgress(isWanted: boolean) {
  const polled = { enabled: isWanted, refetchInterval: pollIntervalMs };
  const remembered = useRemembered();
  const domains = useQuery(DomainService.method.listDomains, { page: 1, pageSize: 100 }, polled);
  const keys = useQuery(KeyService.method.listKeys, { pageSize: 100 }, { enabled: isWanted });
  const webhooks = useQuery(WebhookService.method.listWebhooks, {}, polled);
  const listed = domains.data?.data.map(({ id, domain, summary }) => ({
    id,
    domain,
    canSend: summary?.canSend === true,
  }));
  const own = listed && ownDomain(listed);
  const sent = useQuery(
    EmailService.method.listEmails,
    { domain: own?.domain ?? "", pageSize: 1 },
    { enabled: isWanted && own?.canSend === true && remembered.sentId === undefined, refetchInterval: sentPollMs },
  );
  const isReady = listed && keys.data && webhooks.data && (!own?.canSend || remembered.sentId || sent.data);
  const progress = isReady
    ? progressOf(
        {
          domains: listed,
          keys: keys.data.data.map(({ name, revokedAt }) => ({ name, isRevoked: revokedAt !== undefined })),
          hasWebhook: webhooks.data.data.length > 0,
          // Without a domain, the request of this query is the same as that of all emails.
          emailId: own?.canSend ? sent.data?.data[0]?.id : undefined,
        },
        remembered,
      )
    : undefined;
  return { progress, queries: [domains, keys, webhooks, sent] };
}
