import { QueryClient } from '@tanstack/react-query'
import { useSyncExternalStore } from 'react'
import { isProblem } from '../../core/kit/index.ts'
import { byDaemonClock } from './clock.ts'

/** Queries on screen are refreshed after this: alerts, reports and hosts send no event. */
export const pollMs = 10_000

type QueryOptions = NonNullable<NonNullable<ConstructorParameters<typeof QueryClient>[0]>['defaultOptions']>['queries']

export const makeQueryClient = (queries: QueryOptions = {}) =>
  new QueryClient({
    defaultOptions: {
      queries: {
        staleTime: 2000,
        ...queries,
        retry: (count, error) => count < 2 && isProblem(error) && error.retryable && error.code !== 'UNREACHABLE',
      },
      mutations: { retry: false },
    },
  })

export const queryClient = /* @__PURE__ */ makeQueryClient({
  refetchOnWindowFocus: true,
  refetchInterval: pollMs,
  refetchIntervalInBackground: false,
})

/** The oldest answer on screen, in ms; undefined while there is none. */
function oldestAnswer(): number | undefined {
  let oldest: number | undefined
  for (const query of queryClient.getQueryCache().findAll({ type: 'active' })) {
    const { dataUpdatedAt } = query.state
    if (query.queryKey[0] === 'admin' || dataUpdatedAt === 0) continue
    oldest = Math.min(oldest ?? dataUpdatedAt, dataUpdatedAt)
  }
  return oldest
}

/** When the oldest data on screen arrived, by the daemon's clock, so that stale data look stale. */
export function useAsOf(): number | undefined {
  const asOf = useSyncExternalStore((changed) => queryClient.getQueryCache().subscribe(() => queueMicrotask(changed)), oldestAnswer)
  return asOf === undefined ? undefined : byDaemonClock(asOf)
}

type CursorPage = Readonly<{ nextCursor: string | null }>

/** Reads a list to its end, page by page. */
export async function allPages<Page extends CursorPage>(
  read: (at: Readonly<{ cursor?: string }>) => Promise<Page>,
): Promise<readonly Page[]> {
  const pages = [await read({})]
  for (let cursor = pages[0]?.nextCursor; cursor; cursor = pages.at(-1)?.nextCursor) pages.push(await read({ cursor }))
  return pages
}
