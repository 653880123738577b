import type { UpdateResult } from '../boxes/index.ts'
import type { ActionError, ActionStatus } from './action.ts'

/** `runsOther`: an image that nobody asked for, by what the agent itself says of what runs. */
export type Verdict = Readonly<{ status: ActionStatus; error: ActionError | null; runsOther?: true }>

const statuses = { failed: 'failed', rolled_back: 'rolled_back', rollback_failed: 'rollback_failed' } as const

/**
 * What an update's answer is worth. `committed` counts only when the digests that RUN are the ones that were asked for and the box proved
 * healthy, `rolled_back` only when none is known to be another than before; whoever says otherwise has failed. `digests` maps service to the
 * digest it was to have.
 */
export function evaluateUpdate(result: UpdateResult, digests: Readonly<Record<string, string>>): Verdict {
  const strays = result.outcome === 'rolled_back' ? notAsBefore(result) : []
  if (strays.length > 0)
    return runsOther(
      `the agent took the update back${result.error ? ` (${result.error.message})` : ''}, but ${strays.join(', ')} runs another image than before it`,
    )
  if (result.outcome !== 'committed')
    return { status: statuses[result.outcome], error: result.error ?? { code: 'UPDATE_FAILED', message: 'the agent did not say why' } }
  const wrong = Object.entries(digests).filter(([service, digest]) => result.digestsAfter[service] !== digest)
  if (wrong.length > 0)
    return runsOther(`the agent committed, but ${wrong.map(([service]) => service).join(', ')} runs another image than planned`)
  if (!result.healthOk) return failed('PROBE_FAILED', 'the agent committed without proof that the box is healthy')
  return { status: 'succeeded', error: null }
}

const notAsBefore = ({ digestsBefore, digestsAfter }: UpdateResult): string[] =>
  Object.entries(digestsBefore).flatMap(([service, digest]) => {
    const now = digestsAfter[service]
    return digest && now && now !== digest ? [service] : []
  })

const failed = (code: string, message: string): Verdict => ({ status: 'failed', error: { code, message } })
const runsOther = (message: string): Verdict => ({ ...failed('DIGEST_MISMATCH', message), runsOther: true })
