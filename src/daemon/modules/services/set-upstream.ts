import { type Actor, problem } from '../../../core/kit/index.ts'
import type { Service } from '../../../core/module-services/index.ts'
import { recordAudit } from '../../audit/index.ts'
import type { DbOrTx } from '../../db/index.ts'
import type { ServicesDeps } from './deps.ts'
import { findUpstream, newSecret, sealSecret, storeUpstream, type Upstream } from './upstreams.repo.ts'

type Input = Readonly<{ id: string; url: string; rotateSecret: boolean }>

/**
 * Sets the address of a service. A new service, or `rotateSecret`, makes a signing secret, which is shown once. Installations that were activated for
 * another host are not called until they are activated again. Throws NOT_FOUND, CONFLICT.
 */
export async function setUpstream(deps: ServicesDeps, actor: Actor, { id, url, rotateSecret }: Input) {
  const { db, clock, random } = deps
  await assertService(deps, id)
  return db.transaction().execute(async (tx) => {
    const former = await findUpstream(tx, id)
    const secret = former && !rotateSecret ? null : newSecret(random)
    const sealedSecret = secret === null ? (former as Upstream).sealedSecret : sealSecret(deps, id, secret)
    await storeUpstream(tx, clock, { moduleId: id, url, sealedSecret })
    const data = { moduleId: id, url, former: former?.url ?? null, newSecret: secret !== null }
    const service = await describe(tx, id)
    await recordAudit(tx, clock, { actor, action: 'module.upstream_set', subject: id, data })
    return { ...service, signingSecret: secret }
  })
}

async function assertService({ db, manifestOf }: ServicesDeps, id: string): Promise<void> {
  const manifest = await manifestOf(db, id)
  if (!manifest) throw problem('NOT_FOUND', `There is no approved module ${id}. fix: tenantry modules list`)
  if (manifest.type !== 'B') throw problem('CONFLICT', `${id} is a type A module: it runs on this platform and has no service.`)
}

export const showUpstream = ({ db }: Pick<ServicesDeps, 'db'>, id: string): Promise<Service> => describe(db, id)

/** Throws NOT_FOUND. */
async function describe(db: DbOrTx, id: string): Promise<Service> {
  const upstream = await findUpstream(db, id)
  if (!upstream) throw problem('NOT_FOUND', `The module ${id} has no service. fix: tenantry modules upstream ${id} <url>`)
  const { moduleId, url, host, failures, restUntil, updatedAt } = upstream
  const active = db
    .selectFrom('module_installations')
    .where('module_id', '=', id)
    .where('status', '=', 'active')
    .where('remote', 'is not', null)
  const others = active.where(({ eb, or }) => or([eb('upstream_host', 'is', null), eb('upstream_host', '!=', host)]))
  const count = (query: typeof active) => query.select(({ fn }) => fn.countAll().as('count')).executeTakeFirstOrThrow()
  const [withoutConsent, waiting] = [await count(others), await waitingOf(db, id)]
  return { moduleId, url, host, failures, restUntil, waiting, withoutConsent: Number(withoutConsent.count), updatedAt }
}

async function waitingOf(db: DbOrTx, moduleId: string): Promise<number> {
  const { count } = await db
    .selectFrom('module_positions')
    .select(({ fn }) => fn.countAll().as('count'))
    .where('module_id', '=', moduleId)
    .where('failing_since', 'is not', null)
    .executeTakeFirstOrThrow()
  return Number(count)
}
