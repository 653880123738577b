import { isoNow, problem } from '../../core/kit/index.ts'
import { placeSwitch, readFence } from '../boxes/index.ts'
import { isAlive } from '../change/index.ts'
import type { LocalBox } from '../ports/index.ts'
import type { MoveDeps } from './deps.ts'

type Quietable = 'synapse' | 'minio' | 'postgres' | 'edge'

/** Closes the edge under the name of `holder`. Again is the same; throws BOX_HELD over the fence of another. */
export async function closeBox({ clock }: Pick<MoveDeps, 'clock'>, { slug, project }: LocalBox, holder: string): Promise<void> {
  if (await placeSwitch(project, { commandId: holder, raisedAt: isoNow(clock) })) return
  const standing = await readFence(project)
  if (standing && standing.holder !== holder)
    throw problem(
      'BOX_HELD',
      `the box ${slug} is fenced by ${standing.holder}: end that first; \`tenantry-agent box fence ${slug}\` shows it`,
    )
}

/** Stops services and looks whether they are: throws BOX_UNHEALTHY for one that goes on. */
export async function bringToRest({ engine }: Pick<MoveDeps, 'engine'>, { slug, project }: LocalBox, services: readonly Quietable[]) {
  await engine.stop(project, services)
  const alive = (await engine.containers(project)).find((one) => services.includes(one.service) && isAlive(one))
  if (alive) throw problem('BOX_UNHEALTHY', `${alive.service} of ${slug} did not stop`)
}
