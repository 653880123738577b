import { problem } from '../../core/kit/index.ts'
import type { BoxInside, ContainerEngine, LocalBox } from '../ports/index.ts'

/** A server that starts may fall once, when its neighbour was not up yet. */
const bearableRestarts = 3

/** The same inside, whose probe throws PROBE_FAILED at once when a server of the box dies: nobody waits for what will not come. */
export const watchfulInside = (inside: BoxInside, engine: ContainerEngine): BoxInside => ({
  ...inside,
  probe: async (box, signal) => {
    await needAlive(engine, box)
    return inside.probe(box, signal)
  },
})

async function needAlive(engine: ContainerEngine, box: LocalBox): Promise<void> {
  const containers = await engine.containers(box.project)
  const dead = containers.find(({ state, restartCount }) => state === 'exited' || restartCount >= bearableRestarts)
  if (!dead) return
  const said = (await engine.logs(dead.id, 5).catch(() => '')).trim().split('\n').at(-1)
  throw problem('PROBE_FAILED', `${dead.service} of ${box.project.name} dies${said ? `: ${said.slice(0, 200)}` : ''}`)
}
