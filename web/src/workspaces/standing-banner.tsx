/** A banner on every page while the workspace is suspended, or while too much of its mail bounces or is reported as spam. */
import { useQuery } from "@connectrpc/connect-query";
import { Alert, Text } from "@mantine/core";
import { WorkspaceService } from "../../../src/gen/v1/workspace_pb.ts";
import { Time } from "../parts/time.tsx";

export function StandingBanner() {
  // A key that may only send cannot read this. The page itself reports that.
  const { data } = useQuery(WorkspaceService.method.getQuotas, {}, { refetchInterval: 30_000, retry: false });
  if (data?.suspension)
    return (
      <Alert color="red" title="This workspace is suspended and cannot send" mb="lg" maw={1040} role="status">
        <Text size="sm" className="wrap">
          {data.suspension.reason}
        </Text>
        <Text size="sm">
          {data.suspension.suspendedAt && (
            <>
              Suspended <Time at={data.suspension.suspendedAt} />.{" "}
            </>
          )}
          New emails are refused, and queued mail waits. Ask the operator of this service to resume it.
        </Text>
      </Alert>
    );
  if (data?.warning)
    return (
      <Alert color="yellow" title={`Too many ${data.warning.figure}`} mb="lg" maw={1040} role="status">
        <Text size="sm">{data.warning.message}</Text>
        <Text size="sm">Send only to people who expect your mail, and remove addresses that bounce.</Text>
      </Alert>
    );
  return null;
}
