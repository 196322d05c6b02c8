/** The workspaces in the account menu: those of the session response, and the others page by page on request. */
import { useInfiniteQuery } from "@connectrpc/connect-query";
import { Text } from "@mantine/core";
import { useEffect, useState } from "react";
import { type Workspace, WorkspaceService } from "../../../src/gen/v1/workspace_pb.ts";
import type { Role, WorkspaceOfPerson } from "../api/auth.ts";
import { chooseWorkspace } from "../api/session.ts";
import { CheckIcon } from "../parts/icons.tsx";
import { Menu } from "../parts/menu.tsx";
import { roleLabel } from "../workspaces/roles.ts";

export function WorkspaceItem(props: { workspace: WorkspaceOfPerson; isCurrent: boolean; isExtra?: boolean }) {
  const { workspace, isCurrent, isExtra = false } = props;
  return (
    <Menu.Item
      onClick={() => chooseWorkspace(workspace.id, isExtra ? workspace : undefined)}
      aria-current={isCurrent ? "true" : undefined}
      rightSection={isCurrent ? <CheckIcon /> : undefined}
    >
      <span className="wrap">{workspace.name}</span>{" "}
      <Text span size="xs" c="dimmed">
        {workspace.role}
      </Text>
    </Menu.Item>
  );
}

/** Loads the workspaces that the session response does not contain. */
export function MoreWorkspaces(props: { sessionWorkspaces: WorkspaceOfPerson[]; current: string | undefined }) {
  const { sessionWorkspaces, current } = props;
  const [isRequested, setIsRequested] = useState(false);
  const query = useInfiniteQuery(
    WorkspaceService.method.listWorkspaces,
    { pageToken: "", pageSize: 100 },
    { pageParamKey: "pageToken", getNextPageParam: (page) => page.nextPageToken || undefined, enabled: isRequested },
  );
  const pages = query.data?.pages ?? [];
  const isListed = (one: Workspace) => sessionWorkspaces.some(({ id }) => id === one.id);
  const extra = pages.flatMap(({ data }) => data).filter((one) => !isListed(one));
  const { hasNextPage, isFetching, fetchNextPage, refetch } = query;
  const hasNoExtra = query.data !== undefined && extra.length === 0 && hasNextPage && !isFetching;
  // The first page contains only workspaces of the session response, so the next one is loaded too.
  useEffect(() => {
    if (hasNoExtra) void fetchNextPage();
  }, [hasNoExtra, fetchNextPage]);
  const more = () => {
    if (isRequested) void (query.data ? fetchNextPage() : refetch());
    setIsRequested(true);
  };
  return (
    <>
      {extra.map(({ id, name, role }) => (
        <WorkspaceItem
          key={id}
          workspace={{ id, name, role: roleLabel(role).text.toLowerCase() as Role }}
          isCurrent={id === current}
          isExtra
        />
      ))}
      {query.error && <Menu.Label>Could not load more workspaces.</Menu.Label>}
      {(!query.data || hasNextPage) && (
        <Menu.Item onClick={more} closeMenuOnClick={false} disabled={isFetching}>
          Show more workspaces
        </Menu.Item>
      )}
    </>
  );
}
