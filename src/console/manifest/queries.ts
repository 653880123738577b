import { api } from '../kit/index.ts'

/** Earlier ones are reached by the link of their revision. */
const maxListed = 100

export const revisionsQuery = {
  queryKey: ['manifest', 'revisions'],
  queryFn: () => api.boxes.listManifestRevisions({ query: { limit: maxListed } }),
} as const

/** A revision and the one before it; nothing where that revision does not exist. */
export const revisionQuery = (revision: number) =>
  ({
    queryKey: ['manifest', 'revision', revision],
    queryFn: async () => {
      const { revisions } = await api.boxes.listManifestRevisions({ query: { cursor: revision + 1, limit: 2 } })
      return revisions[0]?.revision === revision ? revisions : []
    },
    staleTime: Number.POSITIVE_INFINITY,
    refetchInterval: false,
  }) as const

export const activeRolloutsQuery = {
  queryKey: ['rollouts', 'for-manifest'],
  queryFn: async () => {
    const { rollouts } = await api.rollouts.listRollouts({ query: { limit: maxListed } })
    return rollouts.filter(({ startedAt, finishedAt }) => startedAt !== null && finishedAt === null)
  },
} as const
