import type { Service } from '../../core/boxes/index.ts'
import { type Clock, problem } from '../../core/kit/index.ts'
import type { ContainerEngine, LocalBox } from '../ports/index.ts'
import { deathWatch } from './deaths.ts'
import { lastSaid } from './last-said.ts'
import { waitUntil } from './wait-until.ts'

type Deps = Readonly<{ engine: ContainerEngine; clock: Clock }>

const patienceMs = 10 * 60_000

/** Until a service answers. Throws BOX_UNHEALTHY with its last words when it dies again and again, or does not answer in time. */
export async function waitForService(
  { engine, clock }: Deps,
  { signal }: Readonly<{ signal: AbortSignal }>,
  box: LocalBox,
  service: Service,
  isUp: () => Promise<boolean>,
): Promise<void> {
  const keepsDying = deathWatch()
  const up = await waitUntil({ clock, everyMs: 1_000, timeoutMs: patienceMs, signal }, async () => {
    if (await isUp()) return true
    const container = (await engine.containers(box.project)).find((candidate) => candidate.service === service)
    if (container && keepsDying(container)) throw await gaveUp(engine, box, container.id, service)
    return false
  })
  if (!up) throw problem('BOX_UNHEALTHY', `${service} of ${box.slug} did not answer in time`)
}

async function gaveUp(engine: ContainerEngine, box: LocalBox, id: string, service: Service) {
  const said = lastSaid(await engine.logs(id, 20))
  return problem('BOX_UNHEALTHY', `${service} of ${box.slug} dies again and again: ${(said ?? 'it says nothing').slice(0, 300)}`)
}
