import { isProblemCode, problem } from '../../core/kit/index.ts'
import { api } from '../kit/index.ts'

const waitMs = 10_000

/** Waits until an agent has ended a command. Returns its result; throws its error, and HOST_OFFLINE while its host is away. */
export async function awaitCommand(id: string): Promise<unknown> {
  for (let seen: number | undefined; ; ) {
    const query = seen === undefined ? { waitMs: 0 } : { waitMs, seen }
    const { status, result, error, hostName, hostStatus, revision } = await api.hosts.showCommand({ params: { id }, query })
    if (status === 'succeeded') return result
    if (status === 'failed' || status === 'expired') {
      const { code, message } = error ?? { code: 'COMMAND_EXPIRED', message: `the agent of ${hostName} did not finish in time` }
      throw problem(isProblemCode(code) ? code : 'INTERNAL', message)
    }
    if (hostStatus !== 'online')
      throw problem('HOST_OFFLINE', `host ${hostName} is ${hostStatus}. fix: \`tenantry hosts show ${hostName}\``)
    seen = revision
  }
}
