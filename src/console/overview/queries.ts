import { api } from '../kit/index.ts'

export const hostsQuery = { queryKey: ['hosts', 'list'], queryFn: () => api.hosts.listHosts() } as const

export const jobsQuery = { queryKey: ['jobs', 'counts'], queryFn: () => api.jobs.listJobs({ query: { limit: 1 } }) } as const

export const proofsQuery = { queryKey: ['snapshots', 'proofs'], queryFn: () => api.snapshots.summarizeProofs() } as const

export const countBy = <Thing, Key extends string>(
  things: readonly Thing[],
  keyOf: (thing: Thing) => Key,
): Partial<Record<Key, number>> => {
  const counts: Partial<Record<Key, number>> = {}
  for (const thing of things) counts[keyOf(thing)] = (counts[keyOf(thing)] ?? 0) + 1
  return counts
}
