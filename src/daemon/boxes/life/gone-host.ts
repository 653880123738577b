import { problem } from '../../../core/kit/index.ts'
import type { Tx } from '../../db/index.ts'
import type { BoxRecord } from '../box-record.ts'
import { lookAtHost } from '../fleet.ts'
import type { LifeDeps } from './deps.ts'
import type { Removal } from './removals.repo.ts'

type Error = NonNullable<Removal['error']>

/** What is to be said of a box whose host was revoked: nobody can stop or erase it any more. Null as long as its host may be asked. */
export async function gone(deps: LifeDeps, tx: Tx, { slug, hostId, managed, folder }: BoxRecord): Promise<Error | null> {
  const host = await lookAtHost(deps, tx, hostId)
  if (host?.status !== 'revoked' || (!managed && folder !== null)) return null
  return { code: 'HOST_REVOKED', message: `the host ${host.name} was revoked: data of ${slug} may still lie on it` }
}

/** Its data lie where nobody can be asked: only the machine itself, enrolled again, brings them back. Throws HOST_REVOKED. */
export function refuseUndo({ slug }: BoxRecord, { message }: Error): never {
  throw problem(
    'HOST_REVOKED',
    `${message}, so the box cannot run there again. If the machine is still whole: \`tenantry hosts invite\` its name, \`tenantry-agent enrol --anew\` on it, then try again. If not: \`tenantry boxes remove ${slug} --now --reason <why>\` gives it up; its snapshots stay, and docs/snapshots.md tells how their data are had with restic alone`,
  )
}

/** Nothing can be kept there for a time, so a person has to say that it is given up. Throws HOST_REVOKED. */
export function refuseUnlessNow({ slug, live }: BoxRecord, { message }: Error, now: boolean): void {
  if (now) return
  const back = live
    ? `; \`tenantry boxes move ${slug} --to <host> --reason <why> --old-host-is-dead <its name>\` brings the box back from a snapshot instead`
    : ''
  throw problem('HOST_REVOKED', `${message}, and nothing can be kept there: --now gives them up${back}`)
}
