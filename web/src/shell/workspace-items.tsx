/** Workspaces to choose from in the menu: those that the session tells, and the ones beyond, page by page when they are asked for. */
import { useInfiniteQuery } from "@connectrpc/connect-query";
import { Menu, Text } from "@mantine/core";
import { useEffect, useState } from "react";
import { type Workspace, WorkspaceService } from "../../../src/gen/v1/workspace_pb.ts";
import type { Role, WorkspaceOfPerson } from "../api/auth.ts";
import { chooseWorkspace } from "../api/session.ts";
import { CheckIcon } from "../parts/icons.tsx";
import { roleWord } from "../people/roles.ts";

export function WorkspaceItem(props: { workspace: WorkspaceOfPerson; isCurrent: boolean; isFar?: boolean }) {
  const { workspace, isCurrent, isFar = false } = props;
  return (
    <Menu.Item
      onClick={() => chooseWorkspace(workspace.id, isFar ? workspace : undefined)}
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

export function FarWorkspaces({ near, current }: { near: WorkspaceOfPerson[]; current: string | undefined }) {
  const [isAsked, setIsAsked] = useState(false);
  const query = useInfiniteQuery(
    WorkspaceService.method.listWorkspaces,
    { pageToken: "", pageSize: 100 },
    { pageParamKey: "pageToken", getNextPageParam: (page) => page.nextPageToken || undefined, enabled: isAsked },
  );
  const pages = query.data?.pages ?? [];
  const isNear = (one: Workspace) => near.some(({ id }) => id === one.id);
  const far = pages.flatMap(({ data }) => data).filter((one) => !isNear(one));
  const { hasNextPage, isFetching, fetchNextPage, refetch } = query;
  const isOnlyNear = query.data !== undefined && far.length === 0 && hasNextPage && !isFetching;
  // The first page holds those that the session has told.
  useEffect(() => {
    if (isOnlyNear) void fetchNextPage();
  }, [isOnlyNear, fetchNextPage]);
  const more = () => {
    if (isAsked) void (query.data ? fetchNextPage() : refetch());
    setIsAsked(true);
  };
  return (
    <>
      {far.map(({ id, name, role }) => (
        <WorkspaceItem
          key={id}
          workspace={{ id, name, role: roleWord(role).word.toLowerCase() as Role }}
          isCurrent={id === current}
          isFar
        />
      ))}
      {query.error && <Menu.Label>The others could not be fetched.</Menu.Label>}
      {(!query.data || hasNextPage) && (
        <Menu.Item onClick={more} closeMenuOnClick={false} disabled={isFetching}>
          More workspaces
        </Menu.Item>
      )}
    </>
  );
}
