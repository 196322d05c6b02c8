/** A banner on every page of the workspace while a quota is used to 80 % or more: the figure, and what to do. */
import { useQuery } from "@connectrpc/connect-query";
import { Alert, Text } from "@mantine/core";
import { useState } from "react";
import { WorkspaceService } from "../../../src/gen/v1/workspace_pb.ts";
import { currentWorkspace } from "../api/session.ts";
import { AnchorLink } from "../parts/links.tsx";
import { Time } from "../parts/time.tsx";
import { quotaNotices } from "./quota-text.ts";

/** The notices that were hidden in this tab. A notice of a higher level is shown again. */
const slot = () => `posthorn.hidden-quotas.${currentWorkspace()?.id ?? "key"}`;

export function QuotaBanner() {
  const { data } = useQuery(WorkspaceService.method.getQuotas, {}, { refetchInterval: 30_000, retry: false });
  const [hidden, setHidden] = useState(() => sessionStorage.getItem(slot())?.split(",") ?? []);
  const notices = quotaNotices(data?.quotas ?? []).filter(({ id }) => !hidden.includes(id));
  if (notices.length === 0) return null;
  const isAtLimit = notices.some((notice) => notice.isAtLimit);
  const hide = () => {
    const ids = [...hidden, ...notices.map(({ id }) => id)];
    sessionStorage.setItem(slot(), ids.join(","));
    setHidden(ids);
  };
  return (
    <Alert
      color={isAtLimit ? "red" : "yellow"}
      title={isAtLimit ? "A quota is used up" : "A quota is almost used up"}
      mb="lg"
      maw={1040}
      role="status"
      withCloseButton
      closeButtonLabel="Hide the quotas until a level changes"
      onClose={hide}
    >
      {notices.map(({ id, figure, advice, resetsAt }) => (
        <Text key={id} size="sm">
          <strong>{figure}.</strong> {advice}
          {resetsAt && (
            <>
              {" "}
              The count resets <Time at={resetsAt} />.
            </>
          )}
        </Text>
      ))}
      <AnchorLink to="/workspace" size="sm">
        Show quotas
      </AnchorLink>
    </Alert>
  );
}
