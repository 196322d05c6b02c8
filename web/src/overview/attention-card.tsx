/** The list of what needs attention: alerts, domains, webhooks, quotas and stalled destinations. */

import { Code } from "@connectrpc/connect";
import { useQuery } from "@connectrpc/connect-query";
import { Title } from "@mantine/core";
import type { UseQueryResult } from "@tanstack/react-query";
import type { LinkProps } from "@tanstack/react-router";
import { useId } from "react";
import { DomainService } from "../../../src/gen/v1/domain_pb.ts";
import { QueueService } from "../../../src/gen/v1/queue_pb.ts";
import type { GetStatsResponse } from "../../../src/gen/v1/stats_pb.ts";
import { WebhookService } from "../../../src/gen/v1/webhook_pb.ts";
import { WorkspaceService } from "../../../src/gen/v1/workspace_pb.ts";
import { codeOf } from "../api/problem.ts";
import { Fresh, type FreshQuery } from "../parts/fresh.tsx";
import { AnchorLink } from "../parts/links.tsx";
import { Mark } from "../parts/outcome.tsx";
import { Loading, ProblemAlert } from "../parts/states.tsx";
import { useNow } from "../parts/time.tsx";
import { attentionOf, fineText, type Item } from "./attention.ts";

const often = { refetchInterval: 15_000 };

/** `stats` is the query of the page. The page shows its error. */
export function AttentionCard({ stats }: { stats: UseQueryResult<GetStatsResponse> }) {
  const id = useId();
  const now = useNow();
  const domains = useQuery(DomainService.method.listDomains, { page: 1, pageSize: 100 }, often);
  const webhooks = useQuery(WebhookService.method.listWebhooks, { pageSize: 100 }, often);
  const quotas = useQuery(WorkspaceService.method.getQuotas, {}, { ...often, retry: false });
  const destinations = useQuery(QueueService.method.listDestinations, { pageSize: 100 }, often);
  const others = { domains, webhooks, quotas, receivers: destinations };
  // A key without the permission for a part does not see it.
  const parts = Object.entries({ ...others, rates: stats }).filter(([, { error }]) => !isDenied(error));
  const queries = parts.map(([, query]) => query);
  const failed = Object.values(others).find(({ data, error }) => !data && error && !isDenied(error));
  const areRatesUnknown = !stats.data && stats.error !== null;
  const items = attentionOf(
    {
      alerts: stats.data?.alerts,
      domains: domains.data?.data,
      webhooks: webhooks.data?.data,
      quotas: quotas.data?.quotas,
      destinations: destinations.data?.data,
    },
    now.getTime(),
  );
  const isPending = queries.some((query) => query.isPending);
  return (
    <section className="card" aria-labelledby={id}>
      <div className="pane-head">
        <Title order={2} id={id}>
          Needs your attention
        </Title>
        <Fresh query={oldest(queries)} />
      </div>
      {failed && <ProblemAlert error={failed.error} onRetry={() => void failed.refetch()} />}
      {isPending && <Loading what="what needs attention" rows={2} height={40} />}
      {items.length > 0 && (
        <ul className="attention">
          {items.map((item) => (
            <AttentionItem key={item.id} item={item} />
          ))}
        </ul>
      )}
      {areRatesUnknown && <p className="pane-empty faint">Rates are unknown: the statistics could not be read.</p>}
      {items.length === 0 && !isPending && !failed && !areRatesUnknown && (
        <p className="pane-empty faint">{fineText(parts.map(([name]) => name))}</p>
      )}
    </section>
  );
}

function AttentionItem({ item: { tone, word, subject, fact, action } }: { item: Item }) {
  // `Item` names paths as text, so that it can be tested without a router.
  const link = { to: action.to, params: action.params, search: action.search } as LinkProps;
  return (
    <li>
      <span>
        <Mark tone={tone}>{word}</Mark>
      </span>
      <span className="wrap">
        <strong>{subject}</strong> {fact}
      </span>
      <AnchorLink {...link} aria-label={`${action.text}: ${subject}`} inherit>
        {action.text}
      </AnchorLink>
    </li>
  );
}

function isDenied(error: unknown): boolean {
  return error !== null && codeOf(error) === Code.PermissionDenied;
}

/** The list is as true as its oldest part, and no longer true when one of them fails. */
function oldest(queries: readonly FreshQuery[]): FreshQuery {
  return {
    dataUpdatedAt: Math.min(...queries.map(({ dataUpdatedAt }) => dataUpdatedAt)),
    error: queries.find(({ error }) => error)?.error,
    failureReason: queries.find(({ failureReason }) => failureReason)?.failureReason,
  };
}
