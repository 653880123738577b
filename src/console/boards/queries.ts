import type { QueryClient } from '@tanstack/react-query'
import type { BoardSummary } from '../../core/boards/index.ts'
import type { OperatorRun } from '../../core/runs/index.ts'
import { allPages, api, type Tone } from '../kit/index.ts'
import { newestSteps } from './newest-steps.ts'

export const boardTones = { draft: 'waiting', active: 'ok', archived: 'off' } as const satisfies Record<BoardSummary['status'], Tone>
export const runTones = {
  ...{ running: 'working', waiting: 'waiting', completed: 'ok', failed: 'failed' },
  cancelled: 'off',
} as const satisfies Record<OperatorRun['status'] | 'cancelled', Tone>

/** A person ended a cancelled run: nothing is to be fixed. */
export const runStatus = ({ status, failure }: Pick<OperatorRun, 'status' | 'failure'>): keyof typeof runTones =>
  failure?.code === 'CANCELLED' ? 'cancelled' : status

type One = Readonly<{ slug: string; id: string }>

/** Without a version, the one that was saved last. */
export const boardQuery = ({ slug, id, version }: One & Readonly<{ version?: number }>) =>
  ({
    queryKey: ['boards', slug, id, ...(version === undefined ? [] : [version])],
    queryFn: () => api.boards.showTenantBoard({ params: { slug, id }, query: version === undefined ? {} : { version } }),
  }) as const

/** Checks the version of the board that was saved last. */
export const checkQuery = ({ slug, id }: One) =>
  ({
    queryKey: ['boards', slug, id, 'check'],
    queryFn: () => api.boards.checkTenantBoard({ params: { slug, id } }),
    refetchInterval: false,
  }) as const

/** All tenants, to choose one. */
export const tenantChoicesQuery = {
  queryKey: ['tenants', 'names'],
  queryFn: async () => {
    const pages = await allPages((at) => api.tenants.listTenants({ query: { limit: 200, ...at } }))
    return pages.flatMap(({ tenants }) => tenants).map(({ slug, name }) => ({ value: slug, label: `${slug} (${name})` }))
  },
} as const

/** The newest steps of a run that has `seq` of them, oldest first. Steps never change, so they are read once. */
export const historyQuery = ({ slug, id, seq, pages }: One & Readonly<{ seq: number; pages: number }>) =>
  ({
    queryKey: ['runs', slug, 'history', id, seq, pages],
    queryFn: async ({ client }: Readonly<{ client: QueryClient }>) => {
      const read = newestSteps(seq, pages).map((query) =>
        client.ensureQueryData({
          queryKey: ['runs', slug, 'history', id, query],
          queryFn: () => api.runs.tenantRunHistory({ params: { slug, id }, query }),
        }),
      )
      return (await Promise.all(read)).flatMap(({ entries }) => entries)
    },
    refetchInterval: false,
  }) as const
