import type { BoxCommandResult } from '../../core/boxes/index.ts'
import { isProblemCode, problem } from '../../core/kit/index.ts'
import { api } from '../kit/index.ts'

const waitMs = 20_000

/** Requests a measurement from the agent and waits for it. Throws the agent's problem, and COMMAND_EXPIRED. */
export async function measureServices(slug: string, signal: AbortSignal): Promise<BoxCommandResult<'tenant-box.services'>> {
  const { commandId: id } = await api.boxes.readServices({ params: { slug } }, { signal })
  for (let seen: number | undefined; ; ) {
    const query = seen === undefined ? {} : { waitMs, seen }
    const { status, revision, result, error } = await api.hosts.showCommand({ params: { id }, query }, { signal })
    if (status === 'succeeded') return result as BoxCommandResult<'tenant-box.services'>
    if (status === 'failed' || status === 'expired') {
      const { code, message } = error ?? { code: 'COMMAND_EXPIRED', message: 'the agent did not answer in time' }
      throw problem(isProblemCode(code) ? code : 'INTERNAL', message)
    }
    seen = revision
  }
}
