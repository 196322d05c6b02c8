/** Replies of receivers whose wording no rule knows, for operators. They are counted by shape, without addresses. */
import { useInfiniteQuery } from "@connectrpc/connect-query";
import { Button } from "@mantine/core";
import { OperatorService, type UnknownWording } from "../../../src/gen/v1/operator_pb.ts";
import { Fresh } from "../parts/fresh.tsx";
import { isLive } from "../parts/live-pages.ts";
import { Empty, Loading, ProblemAlert } from "../parts/states.tsx";
import { LogTime } from "../parts/time.tsx";
import { OperatorPage } from "./operator-page.tsx";
import "./system-mail.css";

export function OperatorWordingsPage() {
  return (
    <OperatorPage
      title="Unknown wordings"
      intro="Refusals whose words Posthorn does not know, so that their code alone decided the outcome. Addresses, host names and numbers are replaced."
    >
      <Listed />
    </OperatorPage>
  );
}

const pollIntervalMs = 5_000;

function Listed() {
  const query = useInfiniteQuery(
    OperatorService.method.listUnknownWordings,
    { pageToken: "", pageSize: 50 },
    {
      pageParamKey: "pageToken",
      getNextPageParam: (page) => page.nextPageToken || undefined,
      refetchInterval: ({ state }) => (isLive(state.data) ? pollIntervalMs : false),
    },
  );
  const wordings = query.data?.pages.flatMap((page) => page.data) ?? [];
  return (
    <>
      {query.isPending && <Loading what="the wordings" />}
      {query.error && <ProblemAlert error={query.error} onRetry={() => void query.refetch()} />}
      {wordings.length > 0 && <WordingTable wordings={wordings} />}
      {query.data && wordings.length === 0 && (
        <Empty title="No unknown wordings">
          Every refusal of the last 30 days had words that Posthorn knows. When a receiver says something new, it
          appears here within seconds.
        </Empty>
      )}
      {query.hasNextPage && (
        <Button
          variant="default"
          style={{ alignSelf: "center" }}
          loading={query.isFetchingNextPage}
          onClick={() => void query.fetchNextPage()}
        >
          Show more
        </Button>
      )}
      {query.data && (
        <p className="faint small">
          <Fresh query={query} live={isLive(query.data)} />
        </p>
      )}
    </>
  );
}

function WordingTable({ wordings }: { wordings: readonly UnknownWording[] }) {
  return (
    <div className="card">
      <table className="table system-mail" aria-label="Unknown wordings, the most frequent first">
        <thead>
          <tr>
            <th scope="col">Receiver</th>
            <th scope="col">Code</th>
            <th scope="col">Category</th>
            <th scope="col" className="end">
              Replies
            </th>
            <th scope="col" className="end">
              Last seen
            </th>
          </tr>
        </thead>
        {wordings.map((one) => (
          <Row key={[one.site, one.phase, one.code, one.enhancedCode, one.shape].join(" ")} wording={one} />
        ))}
      </table>
    </div>
  );
}

function Row({ wording }: { wording: UnknownWording }) {
  const { site, phase, code, enhancedCode, category, replies, lastAt, shape } = wording;
  return (
    <tbody>
      <tr>
        <td className="key wrap">{site}</td>
        <td className="num">
          {code} {enhancedCode} <span className="faint">({phase})</span>
        </td>
        <td>{category.replaceAll("_", " ")}</td>
        <td className="end num">{replies === 1 ? "1 reply" : `${replies.toLocaleString("en")} replies`}</td>
        <td className="end faint num">{lastAt && <LogTime at={lastAt} />}</td>
      </tr>
      <tr className="remark">
        <td colSpan={5}>
          <p className="mono wrap">{shape}</p>
        </td>
      </tr>
    </tbody>
  );
}
