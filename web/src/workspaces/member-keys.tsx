/** In the dialog that removes a member: the valid keys that they created, and the choice to revoke them. */
import { useQuery } from "@connectrpc/connect-query";
import { Checkbox, List, Stack, Text } from "@mantine/core";
import { type Member, WorkspaceService } from "../../../src/gen/v1/workspace_pb.ts";
import { Loading, ProblemAlert } from "../parts/states.tsx";

export function MemberKeys(props: { member: Member; isChecked: boolean; onChange(value: boolean): void }) {
  const { member, isChecked, onChange } = props;
  const query = useQuery(
    WorkspaceService.method.listMemberKeys,
    { memberId: member.id, pageSize: 100 },
    { staleTime: 0 },
  );
  if (query.isPending) return <Loading what="their keys" rows={1} height={40} />;
  if (query.error) return <ProblemAlert error={query.error} onRetry={() => query.refetch()} />;
  const { data: keys, nextPageToken } = query.data;
  if (keys.length === 0) return <Text>They created no keys that are still active.</Text>;
  return (
    <Stack gap="xs">
      <Text>Active keys that they created:</Text>
      <List size="sm" className="menu-list">
        {keys.map((key) => (
          <List.Item key={key.id}>
            {key.name} ({key.prefix}…{key.test && ", test"})
          </List.Item>
        ))}
        {nextPageToken !== "" && <List.Item>and more</List.Item>}
      </List>
      <Checkbox
        label={keys.length === 1 ? "Also revoke this key" : "Also revoke these keys"}
        description="Programs that use them can no longer call the API. Otherwise the keys stay valid."
        checked={isChecked}
        onChange={(event) => onChange(event.currentTarget.checked)}
      />
    </Stack>
  );
}
