import type { RolloutSummary } from '../../core/rollouts/index.ts'
import { api, type PaletteEntry, queryClient, roleFor } from '../kit/index.ts'

const maxRead = 50
const maxFound = 12

/** Rollouts that are not finished, and what to do with them; the page of the rollout asks before it acts. */
export async function searchRollouts(text: string): Promise<readonly PaletteEntry[]> {
  const { rollouts } = await queryClient.fetchQuery({
    queryKey: ['rollouts', 'search'],
    queryFn: () => api.rollouts.listRollouts({ query: { limit: maxRead } }),
  })
  return rollouts
    .filter(({ finishedAt }) => finishedAt === null)
    .flatMap(entriesOf)
    .filter(({ label }) => label.toLowerCase().includes(text))
    .slice(0, maxFound)
}

const role = roleFor('rollouts', 'pauseRollout')

function entriesOf({ id, status }: RolloutSummary): readonly PaletteEntry[] {
  const to = `/rollouts/${id}`
  const action = (verb: string, asks: string): PaletteEntry => ({
    ...{ id: `${asks} ${id}`, label: `${verb} rollout ${id}`, detail: 'action', to, asks, role },
  })
  const page = { id: `rollout ${id}`, label: `Rollout ${id}`, detail: status.replaceAll('_', ' '), to }
  if (status === 'queued') return [page, action('Start', 'start'), action('Abort', 'abort')]
  const next = status === 'paused' ? action('Resume', 'resume') : action('Pause', 'pause')
  return [page, next, action('Abort', 'abort'), action('Roll back', 'rollback')]
}
